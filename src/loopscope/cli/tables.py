"""Tables for the terminal. Every number stands with its interval; what cannot be told apart is said."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:  # its libraries take longer to load than most verbs to run
    from loopscope.analysis.build import Analysis
    from loopscope.models.interval_rows import ComparisonRow, IntervalRow
    from loopscope.models.standing import Standing
    from loopscope.models.tables import OutcomeRow

MISSING = "—"
COMMON = "common "
UNOFFICIAL = "~"
"""Stands before a number that some score of an imported log is in."""
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


@dataclass(frozen=True)
class _Shown:
    """What the tables of one study are made of, over all categories."""

    outcome: tuple[OutcomeRow, ...]
    """The agents in the order in which they are shown."""
    standing: Standing
    intervals: Mapping[tuple[str, str], IntervalRow]
    """(agent, measure) -> its interval for random tasks."""
    pairs: tuple[ComparisonRow, ...]
    """Of avg@k, each seen from the agent that stands above."""
    just_these: str
    """What is said of the pairs for just these tasks."""
    k: str

    def number(self, agent: str, measure: str, value: float | None, unofficial: int) -> str:
        """`0.29 [0.21, 0.38]`."""
        from loopscope.models.standing import spelled_interval

        if value is None:
            return MISSING
        row = self.intervals.get((agent, measure))
        spread = spelled_interval(row.low, row.high) if row else spelled_interval(None, None)
        return f"{UNOFFICIAL if unofficial else ''}{value:.2f} {escape(spread)}"


def _shown(analysis: Analysis) -> _Shown:
    from loopscope.models.interval_rows import ComparisonRow, IntervalRow
    from loopscope.models.standing import RANDOM, chosen_pairs, just_these, ordered_pairs, standing
    from loopscope.models.tables import OVERALL, OutcomeRow

    outcome = [OutcomeRow(**row) for row in analysis.frames["outcome"].to_dicts() if row["category"] == OVERALL]
    compared = standing(outcome)
    outcome.sort(key=lambda row: _place(row, same_tasks=compared.same_tasks))
    read = (IntervalRow(**row) for row in analysis.frames["intervals"].to_dicts() if row["category"] == OVERALL)
    intervals = {(row.agent, row.measure): row for row in read if row.reading == RANDOM}
    compared_pairs = [ComparisonRow(**row) for row in analysis.frames["comparisons"].to_dicts()]
    pairs = chosen_pairs(compared_pairs)
    scored = [row.agent for row in outcome if row.avg_at_k is not None]
    counts = [row["k"] for row in analysis.frames["task_scores"].to_dicts()] or [analysis.summary.k]
    k = str(counts[0]) if min(counts) == max(counts) else "k"
    return _Shown(tuple(outcome), compared, intervals, ordered_pairs(scored, pairs), just_these(compared_pairs), k)


def print_outcome(analysis: Analysis) -> None:
    """What the verbs that analyse print: the scores, what may be said of the agents, and how they worked."""
    from loopscope.cli.console import out

    out.print(leaderboard(analysis))
    for line in pair_lines(analysis):
        out.print(line)
    out.print(process_table(analysis))


def leaderboard(analysis: Analysis) -> Group:
    """avg@k and best@k by agent, with their intervals; highest first where the agents can be ranked."""
    from loopscope.models.standing import places, spelled_range

    shown = _shown(analysis)
    scored = [row.agent for row in shown.outcome if row.avg_at_k is not None]
    ranked = places(scored, shown.pairs) if shown.standing.ranked and len(scored) > 1 else {}
    common = [f"{COMMON}avg@{shown.k}"] if shown.standing.by_common else []
    heads = ["agent", f"avg@{shown.k}", f"best@{shown.k}", *common, "k", "tasks", "runs"]
    rows = []
    for row in shown.outcome:
        unofficial = row.n_reconstructed + row.n_reported
        rows.append(
            [
                _label(row.agent),
                shown.number(row.agent, "avg_at_k", row.avg_at_k, unofficial),
                shown.number(row.agent, "best_at_k", row.best_at_k, unofficial),
                *([_number(row.common_avg, unofficial)] if common else []),
                spelled_range(row.k_min, row.k),
                str(row.n_tasks),
                f"{row.n_runs} of {row.n_runs + row.n_missing}" if row.n_missing else str(row.n_runs),
                *([spelled_range(*ranked[row.agent]) if row.agent in ranked else MISSING] if ranked else []),
            ]
        )
    return _captioned([*heads, *(["place"] if ranked else [])], rows, list(_captions(rows, shown, ranked=bool(ranked))))


def process_table(analysis: Analysis) -> Group:
    """C1, C2 and C3 by agent with their intervals, in the order of the leaderboard."""
    from loopscope.models.tables import OVERALL

    shown = _shown(analysis)
    found = {
        (row["agent"], row["measure"]): row
        for name in ("process", "diagnostics")
        for row in analysis.frames[name].to_dicts()
        if row["category"] == OVERALL
    }
    rows = [
        [_label(row.agent), *(_measure(shown, found, row.agent, name) for name in _PROCESS)] for row in shown.outcome
    ]
    ranged = any("seen" in cell for row in rows for cell in row[1:])
    captions = ["seen: what C2 is at least and at most, whatever was not seen"] if ranged else []
    return _captioned(["agent", *_PROCESS.values()], rows, captions)


def pair_lines(analysis: Analysis) -> list[str]:
    """What may be said of the agents against each other: of the one that stands first, then of the rest in sum."""
    from loopscope.cli.console import plain
    from loopscope.models.interval_rows import Finding
    from loopscope.models.standing import pair_words

    shown = _shown(analysis)
    lines = [plain(pair_words(row, f"avg@{shown.k}")) for row in shown.pairs[:_PAIRS_SHOWN]]
    if rest := shown.pairs[_PAIRS_SHOWN:]:
        apart = sum(row.finding in (Finding.FIRST_HIGHER, Finding.SECOND_HIGHER) for row in rest)
        lines.append(
            f"of {len(rest)} more pairs {apart} can be told apart; all: the report, tables/comparisons.parquet"
        )
    if any(", p " in line for line in lines) and len(shown.pairs) > 1:
        lines.append(f"p is corrected for {max(row.family for row in shown.pairs)} comparisons (Holm)")
    return [*lines, shown.just_these] if shown.pairs and shown.just_these else lines


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


def _place(row: OutcomeRow, *, same_tasks: bool) -> tuple[bool, float, str]:
    value = row.avg_at_k if same_tasks else row.common_avg
    return row.avg_at_k is None, -(value or 0.0), row.agent


def _measure(shown: _Shown, found: Mapping[tuple[str, str], Mapping[str, Any]], agent: str, name: str) -> str:
    """A process measure; of C2 also between what it must lie, where some of it was not seen."""
    row = found.get((agent, name))
    if row is None:
        return MISSING
    text = shown.number(agent, name, row["value"], row["n_reconstructed"] + row["n_reported"])
    low, high = (found.get((agent, f"{name}_{end}"), {}).get("value") for end in ("low", "high"))
    if row["value"] is None or low is None or high is None or high - low < 5e-4:
        return text
    return f"{text}\nseen {low:.2f} to {high:.2f}"


def _captions(rows: Sequence[Sequence[str]], shown: _Shown, *, ranked: bool) -> Iterator[str]:
    cells = [cell for row in rows for cell in row[1:]]
    if any(re.search(r"\[-?\d", cell) for cell in cells):
        yield r"\[low, high]: 95 % interval, as if the tasks were drawn from others like them"
    if guards := _guards(shown):
        yield from guards
    if ranked:
        yield "place: best and worst that the comparisons below leave open; the order of the lines says no more"
    if any(row.n_missing for row in shown.outcome):
        yield "runs: with a final score, of those planned or done; no number is made of the others"
    if any(cell.startswith(UNOFFICIAL) for cell in cells):
        yield f"{UNOFFICIAL} rests on scores of imported logs (reconstructed, reported), which are not official"
    if shown.standing.by_common:
        yield f"{COMMON} over the tasks that all agents have scores on"
    if shown.standing.note:
        yield shown.standing.note


def _guards(shown: _Shown) -> list[str]:
    """What to know before the intervals of avg@k are believed: each remark once, in the order of the agents."""
    remarks: dict[str, list[str]] = {}
    for row in shown.outcome:
        found = shown.intervals.get((row.agent, "avg_at_k"))
        if found and found.guard and found.value is not None:
            remarks.setdefault(found.guard, []).append(_label(row.agent))
    everyone = sum(row.avg_at_k is not None for row in shown.outcome)
    return [
        escape(guard) if len(agents) == everyone else f"{', '.join(agents)}: {escape(guard)}"
        for guard, agents in remarks.items()
    ]


def _number(value: float | None, unofficial: int) -> str:
    return MISSING if value is None else f"{UNOFFICIAL if unofficial else ''}{value:.2f}"
