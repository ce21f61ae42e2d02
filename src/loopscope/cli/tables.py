"""Tables for the terminal. Every number stands with its interval; what cannot be told apart is said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from loopscope.cli.shown import MISSING, UNOFFICIAL, Shown, by_remark, remarks, shown_of

if TYPE_CHECKING:  # its libraries take longer to load than most verbs to run
    from loopscope.analysis.build import Analysis
    from loopscope.models.interval_rows import ComparisonRow, IntervalRow

COMMON = "common "
_PROCESS = {"c1": "framing C1", "c2": "execution C2", "c3": "feedback C3"}
_LABEL_ROOM = 12
"""Columns that an agent's name keeps on a narrow terminal; a longer one is folded."""
_PAIRS_SHOWN = 6
"""Lines about pairs of agents; what the others say is in the report and in `tables/comparisons.parquet`."""


def counted(number: int, what: str) -> str:
    """`1 rollout`, `2 rollouts`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> Table:
    """A table without frames; with `numbers`, all but the first column are right-aligned."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if numbers and index else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def print_outcome(analysis: Analysis) -> None:
    """What the verbs that analyse print: the scores, what may be said of the agents, and how they worked."""
    from loopscope.cli.console import out

    out.print(leaderboard(analysis))
    if common := common_table(analysis):
        out.print(common)
    for line in (*pair_lines(analysis), *order_lines(analysis)):
        out.print(line)
    out.print(process_table(analysis))


def leaderboard(analysis: Analysis) -> Group:
    """avg@k and best@k by agent, with their intervals; highest first where the agents can be ranked."""
    from loopscope.models.standing import places, spelled_range

    shown = shown_of(analysis)
    scored = [row.agent for row in shown.outcome if row.avg_at_k is not None]
    ranked = places(scored, shown.pairs) if shown.standing.ranked and len(scored) > 1 else {}
    heads = ["agent", f"avg@{shown.k}", f"best@{shown.k}", "k", "tasks", "runs"]
    rows = []
    for row in shown.outcome:
        unofficial = row.n_reconstructed + row.n_reported
        rows.append(
            [
                _label(row.agent),
                shown.number(row.agent, "avg_at_k", row.avg_at_k, unofficial),
                shown.number(row.agent, "best_at_k", row.best_at_k, unofficial),
                spelled_range(row.k_min, row.k),
                str(row.n_tasks),
                f"{row.n_runs} of {row.n_runs + row.n_missing}" if row.n_missing else str(row.n_runs),
                *([spelled_range(*ranked[row.agent]) if row.agent in ranked else MISSING] if ranked else []),
            ]
        )
    return _captioned([*heads, *(["place"] if ranked else [])], rows, list(_captions(rows, shown, ranked=bool(ranked))))


def common_table(analysis: Analysis) -> Group | None:
    """The averages over the tasks that all agents have scores on; None where these are all tasks, or none."""
    from loopscope.models.interval_rows import COMMON_AVG, COMMON_BEST

    shown = shown_of(analysis)
    if not shown.standing.by_common:
        return None
    rows = []
    for row in shown.outcome:
        told = shown.intervals.get((row.agent, COMMON_AVG))
        if row.common_avg is None or told is None:
            continue
        unofficial = told.n_reconstructed + told.n_reported
        numbers = ((COMMON_AVG, row.common_avg), (COMMON_BEST, row.common_best))
        cells = [shown.number(row.agent, measure, value, unofficial) for measure, value in numbers]
        rows.append([_label(row.agent), *cells, str(told.k), str(told.n_tasks), str(told.n_runs)])
    captions = [
        f"{COMMON}over the tasks that all agents have scores on; the lines below say who can be told apart",
        *remarks(((_label(row.agent), row.guard) for row in shown.rows([COMMON_AVG])), len(rows)),
    ]
    heads = ["agent", f"{COMMON}avg@{shown.k}", f"{COMMON}best@{shown.k}", "k", "tasks", "runs"]
    return _captioned(heads, rows, captions)


def process_table(analysis: Analysis) -> Group:
    """C1, C2 and C3 by agent with their intervals, in the order of the leaderboard, and what they stand on."""
    from loopscope.models.tables import OVERALL

    shown = shown_of(analysis)
    found = {
        (row["agent"], row["measure"]): row
        for name in ("process", "diagnostics")
        for row in analysis.frames[name].to_dicts()
        if row["category"] == OVERALL
    }
    support = {(row.n_tasks, row.n_runs) for row in shown.rows(_PROCESS)}
    rows = [
        [_label(row.agent), *(_measure(shown, found, row.agent, name, len(support) > 1) for name in _PROCESS)]
        for row in shown.outcome
    ]
    return _captioned(["agent", *_PROCESS.values()], rows, list(_process_captions(shown, rows, support)))


def _process_captions(shown: Shown, rows: Sequence[Sequence[str]], support: set[tuple[int, int]]) -> Iterator[str]:
    told = shown.rows(_PROCESS)
    if told:
        ks = {row.k for row in told}
        k = f"k {ks.pop()}" if len(ks) == 1 else "k as in the table above"
        yield (
            f"each number: {k}, {_support(*support.pop())}"
            if len(support) == 1
            else f"below each number its support; {k}"
        )
    if any("seen" in cell for row in rows for cell in row[1:]):
        yield "seen: what C2 is at least and at most, whatever was not seen"
    yield from _process_guards(told)


def _process_guards(told: Sequence[IntervalRow]) -> Iterator[str]:
    """Each remark once: by agent where it holds of all that the agent has, else with the measures."""
    have = Counter(row.agent for row in told)
    for remark, numbers in by_remark((f"{row.measure} {row.agent}", row.guard) for row in told).items():
        found: dict[str, list[str]] = {}
        for measure, agent in (number.split(" ", 1) for number in numbers):
            found.setdefault(agent, []).append(_PROCESS[measure].rsplit(" ", 1)[1])
        names = (
            _label(agent) if len(which) == have[agent] else f"{_label(agent)} ({', '.join(which)})"
            for agent, which in found.items()
        )
        yield escape(remark) if len(numbers) == len(told) else f"{', '.join(names)}: {escape(remark)}"


def _support(tasks: int, runs: int) -> str:
    return f"{counted(tasks, 'task')}, {counted(runs, 'run')}"


def pair_lines(analysis: Analysis) -> list[str]:
    """What may be said of the agents against each other: of the one that stands first, then of the rest in sum."""
    from loopscope.models.standing import just_these

    shown = shown_of(analysis)
    lines = _pair_lines(shown)
    if any(", p " in line for line in lines) and len(shown.pairs) > 1:
        lines.append(f"p is corrected for {max(row.family for row in shown.pairs)} comparisons (Holm)")
    these = just_these(shown.just_these, f"avg@{shown.k}", most=_PAIRS_SHOWN)
    return [*lines, _label(these)] if these else lines


def order_lines(analysis: Analysis) -> list[str]:
    """Whether the order by avg@k would stand with half of the tasks, and whether harnesses agree, in a line each."""
    from loopscope.cli.explained_order import against_words
    from loopscope.models.interval_rows import StabilityRow

    rows = [StabilityRow(**row) for row in analysis.frames["stability"].to_dicts() if row["measure"] == "avg_at_k"]
    half = [row for row in rows if row.ordered == "agents" and row.what.endswith("of the tasks")]
    shown = [*half, *(row for row in rows if row.ordered == "models")]
    lines = [f"order: {_label(against_words(row))}" for row in shown[:_PAIRS_SHOWN]]
    return [*lines, "more of the order: `loopscope explain STUDY --order avg_at_k`"] if lines else []


def _pair_lines(shown: Shown) -> list[str]:
    from loopscope.models.standing import pair_words, told_apart

    first, rest = shown.pairs[:_PAIRS_SHOWN], shown.pairs[_PAIRS_SHOWN:]
    lines = [_label(pair_words(row, f"avg@{shown.k}")) for row in first]
    if rest:
        apart = sum(map(told_apart, rest))
        lines.append(
            f"of {len(rest)} more pairs {apart} can be told apart; all: the report, tables/comparisons.parquet"
        )
    return [
        *lines,
        *(f"differences: {line}" for line in remarks(((_pair(row), row.guard) for row in first), len(first))),
    ]


def _pair(row: ComparisonRow) -> str:
    return f"{_label(row.first)} - {_label(row.second)}"


def _label(agent: str) -> str:
    """A label that may be anybody's."""
    from loopscope.cli.console import plain

    return plain(agent)


def _captioned(heads: Sequence[str], rows: Sequence[Sequence[str]], captions: Sequence[str]) -> Group:
    table = plain_table(heads, rows, numbers=True)
    table.collapse_padding = True
    table.columns[0].min_width = min(_LABEL_ROOM, max((len(row[0]) for row in rows), default=0))
    for column in table.columns[1:]:
        column.no_wrap = True
    return Group(table, *captions)


def _measure(shown: Shown, found: Mapping[tuple[str, str], Mapping[str, Any]], agent: str, name: str, own: bool) -> str:
    """A process measure, with its `own` support below it; of C2 also between what it must lie, if not all was seen."""
    row = found.get((agent, name))
    if row is None:
        return MISSING
    text = shown.number(agent, name, row["value"], row["n_reconstructed"] + row["n_reported"], bounds=False)
    told = shown.intervals.get((agent, name))
    low, high = (told.missing_low, told.missing_high) if told else (None, None)
    if own and told and row["value"] is not None:
        text = f"{text}\n{_support(told.n_tasks, told.n_runs)}"
    if row["value"] is None or low is None or high is None or high - low < 5e-4:
        return text
    return f"{text}\nseen {low:.2f} to {high:.2f}"


def _captions(rows: Sequence[Sequence[str]], shown: Shown, *, ranked: bool) -> Iterator[str]:
    cells = [cell for row in rows for cell in row[1:]]
    if any(re.search(r"\[-?\d", cell) for cell in cells):
        yield r"\[low, high]: 95 % interval, as if the tasks were drawn from others like them"
    if any("\n(" in cell for cell in cells):
        yield "(low to high): the number with every missing score at 0, and with every one at 1"
    yield from _guards(shown, "avg_at_k", "best_at_k")
    if ranked:
        yield "place: best and worst that the comparisons below leave open; the order of the lines says no more"
    if any(row.n_missing for row in shown.outcome):
        yield "runs: with a final score, of those planned or done; no number is made of the others"
    if any(cell.startswith(UNOFFICIAL) for cell in cells):
        yield f"{UNOFFICIAL} rests on scores of imported logs (reconstructed, reported), which are not official"
    yield from _paired_lines(shown)
    if shown.standing.note:
        yield shown.standing.note


def _paired_lines(shown: Shown) -> Iterator[str]:
    """avg@k and best@k of the paired rewards by agent, with their intervals, and what speaks against these."""
    from loopscope.models.interval_rows import PAIRED_AVG, PAIRED_BEST
    from loopscope.models.standing import spelled_interval

    names = (PAIRED_AVG, "avg"), (PAIRED_BEST, "best")
    for row in shown.outcome:
        rows = [(name, told) for m, name in names if (told := shown.intervals.get((row.agent, m)))]
        numbers = [
            f"{name}@{told.k} {told.value:.2f} {escape(spelled_interval(told.low, told.high))}"
            + ("" if told.missing_low is None else f" ({told.missing_low:.2f} to {told.missing_high:.2f})")
            for name, told in rows
            if told.value is not None
        ]
        if numbers:
            support = f"k {rows[0][1].k}, {_support(rows[0][1].n_tasks, rows[0][1].n_runs)}"
            yield f"{_label(row.agent)}: paired with anchors measured here: {', '.join(numbers)} ({support})"
    yield from (f"paired: {line}" for line in _guards(shown, PAIRED_AVG, PAIRED_BEST))
    if len(shown.rows([PAIRED_AVG])) > 1:
        yield "paired rewards are not compared: the lines about pairs of agents are of the official ones"


def _guards(shown: Shown, avg_name: str, best_name: str) -> list[str]:
    """What to know before avg@k and best@k and their intervals are believed; of best@k what is not said of avg@k."""
    avg = {row.agent: row.guard for row in shown.rows([avg_name])}
    best = [(row.agent, _without(row.guard, avg.get(row.agent))) for row in shown.rows([best_name])]
    found = remarks(((_label(agent), guard) for agent, guard in avg.items()), len(avg))
    more = remarks(((_label(agent), guard) for agent, guard in best), len(avg))
    return [*found, *(f"best@{shown.k}: {line}" for line in more)]


def _without(guard: str | None, said: str | None) -> str | None:
    """The parts of a guard that were not said yet."""
    parts = [part for part in (guard or "").split("; ") if part not in (said or "").split("; ")]
    return "; ".join(parts) or None
