"""Can the agents be told apart: differences as a figure and a matrix, pairs in words, and places in resamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loopscope.models.interval_rows import ComparisonRow, Finding, RankingRow
from loopscope.models.standing import (
    C2,
    FIXED,
    RANDOM,
    REVERSIBLE,
    chosen_pairs,
    holds,
    just_these,
    not_below,
    ordered_pairs,
    reversible,
    seen_from,
    spelled_interval,
    spelled_p,
    spelled_possible,
    told_apart,
    too_few,
)
from loopscope.models.tables import OVERALL
from loopscope.report import format as fmt
from loopscope.report.figures import Figure, HeatColumn, heat_map
from loopscope.report.forest import Contrast, forest
from loopscope.report.format import Cell
from loopscope.report.glossary import MEASURES
from loopscope.report.inputs import StudyInputs
from loopscope.report.pages.chart import Chart, chart
from loopscope.report.pages.intervals import share
from loopscope.report.pages.leaderboard import scored_agents
from loopscope.report.pages.order import OrderLine, harness_lines, order_lines
from loopscope.report.text import one_line

_DRAWN = 15
"""Pairs in the figure; of more, only those with the agent that stands first."""


@dataclass(frozen=True)
class PairLine:
    """One comparison, in words."""

    pair: str
    what: str
    difference: Cell
    p: str
    tasks: str
    """Common tasks, and how many each won."""
    words: str
    guard: str


@dataclass(frozen=True)
class MatrixCell:
    """Row minus column."""

    text: str
    span: str
    p: str
    kind: str
    """`apart`, `open` or `self`."""
    words: str


@dataclass(frozen=True)
class Places:
    """How often resamples have an agent in a place."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...], str], ...]
    """Agent, shares, the places that missing scores leave open."""
    bounded: bool
    """Whether some place hangs on missing scores."""
    draws: int
    guard: str
    """What to know before the shares are believed; then they are not shaded."""


@dataclass(frozen=True)
class Apart:
    """The section."""

    lead: str
    fixed: str
    """The same for just these tasks."""
    chart: Chart
    drawn: str
    """Which pairs the figure leaves out."""
    agents: tuple[str, ...]
    matrix: tuple[tuple[str, tuple[MatrixCell, ...]], ...]
    pairs: tuple[PairLine, ...]
    places: Places | None
    no_places: str
    order: tuple[OrderLine, ...]
    harnesses: tuple[OrderLine, ...]
    family: int
    tested: bool
    """Whether a p is shown."""
    figures: tuple[Figure, ...]


def apart(inputs: StudyInputs) -> Apart | None:
    """The section; None where there are no two agents to compare."""
    agents = scored_agents(inputs)
    pairs = ordered_pairs(agents, chosen_pairs(inputs.comparisons))
    if not pairs:
        return None
    drawn = pairs if len(pairs) <= _DRAWN else tuple(row for row in pairs if row.first == agents[0])
    figure = _forest(inputs, drawn)
    places = _places(inputs, agents, too_few=all(row.finding == Finding.TOO_FEW for row in pairs))
    found = (figure,) if places is None else (figure, _places_figure(inputs, places))
    first = _name(agents[0])
    return Apart(
        lead=_lead(inputs, agents, pairs),
        fixed=just_these(
            ordered_pairs(agents, chosen_pairs(inputs.comparisons, reading=FIXED)),
            f"avg@{inputs.k}",
            lambda agent: _name(agent, 40),
        ),
        chart=chart(figure),
        drawn="" if len(drawn) == len(pairs) else f"Only the {len(drawn)} pairs with {first}, of {len(pairs)}.",
        agents=tuple(_name(a, 40) for a in agents),
        matrix=_matrix(agents, pairs),
        pairs=_lines(inputs, agents),
        places=places,
        no_places="" if places else "Resamples give no places: fewer than two agents have a spread to draw from.",
        order=order_lines(inputs),
        harnesses=harness_lines(inputs),
        family=max(row.family for row in pairs),
        tested=any(_p(row) for row in pairs),
        figures=found,
    )


def _name(agent: str, limit: int = 60) -> str:
    return one_line(agent, limit)


def _lead(inputs: StudyInputs, agents: Sequence[str], pairs: Sequence[ComparisonRow]) -> str:
    found, open_ = sum(map(told_apart, pairs)), sum(map(reversible, pairs))
    few = [row for row in pairs if row.finding == Finding.TOO_FEW]
    if len(few) == len(pairs):
        return f"No, and no result could have shown it: {too_few(few[0])}. {_what_follows(inputs, agents, pairs)}"
    if open_:
        shown = f"{found} of {fmt.plural(len(pairs), 'pair')} can be told apart, and {open_} more only {REVERSIBLE}."
        return f"{shown} {_what_follows(inputs, agents, pairs)}"
    if not found:
        return f"There is no evidence of a difference between any two of them. {_what_follows(inputs, agents, pairs)}"
    if found == len(pairs):
        return "Yes, each from each other." if len(pairs) > 1 else "Yes."
    return f"{found} of {fmt.plural(len(pairs), 'pair')}; of the others there is no evidence. " + _what_follows(
        inputs, agents, pairs
    )


def _what_follows(inputs: StudyInputs, agents: Sequence[str], pairs: Sequence[ComparisonRow]) -> str:
    level = [_name(a, 40) for a in not_below(agents[0], agents, pairs)]
    if not inputs.standing.ranked or not level:
        return ""
    who = " and ".join(level) if len(level) < 3 else f"{len(level)} agents"
    verb = "is" if len(level) == 1 else "are"
    return f"{who} {verb} not shown to be below {_name(agents[0], 40)}, which stands first."


def _p(row: ComparisonRow) -> str:
    return "" if row.p_adjusted is None or row.finding == Finding.TOO_FEW else spelled_p(row.p_adjusted)


def _words(row: ComparisonRow) -> str:
    first, second = _name(row.first, 40), _name(row.second, 40)
    return {
        Finding.FIRST_HIGHER: f"{first} is higher{holds(row)}",
        Finding.SECOND_HIGHER: f"{second} is higher{holds(row)}",
        Finding.NO_EVIDENCE: "no evidence of a difference",
        Finding.TOO_FEW: f"no evidence of a difference; {too_few(row)}",
        Finding.NOTHING: "nothing to compare: no task has a number of both",
    }[Finding(row.finding)]


def _span(row: ComparisonRow) -> str:
    return "no interval" if row.low is None else spelled_interval(row.low, row.high, share)


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "\u2212")


def _forest(inputs: StudyInputs, pairs: Sequence[ComparisonRow]) -> Figure:
    rows = [
        Contrast(
            f"{_name(row.first, 40)} \u2212 {_name(row.second, 40)}",
            row.difference,
            row.low,
            row.high,
            ", ".join(filter(None, (f"{_signed(row.difference)} {_span(row)}", _p(row)))),
            told_apart(row),
            f"{_words(row)}; {fmt.plural(row.n_tasks, 'task')}, won {row.wins}, lost {row.losses}, tied {row.ties}",
        )
        for row in pairs
        if row.difference is not None
    ]
    title = f"Differences in avg@{inputs.k} with their 95 % intervals for tasks like these; p corrected (Holm)"
    return forest("differences", title, rows)


def _matrix(agents: Sequence[str], pairs: Sequence[ComparisonRow]) -> tuple[tuple[str, tuple[MatrixCell, ...]], ...]:
    found = {(row.first, row.second): row for row in pairs}
    found |= {(row.second, row.first): seen_from(row, row.second) for row in pairs}
    return tuple((_name(a, 40), tuple(_matrix_cell(found.get((a, b))) for b in agents)) for a in agents)


def _matrix_cell(row: ComparisonRow | None) -> MatrixCell:
    if row is None:
        return MatrixCell("", "", "", "self", "")
    if row.difference is None:
        return MatrixCell(fmt.DASH, "", "", "open", _words(row))
    kind = "apart" if told_apart(row) else "open"
    return MatrixCell(_signed(row.difference), _span(row), _p(row), kind, _words(row))


def _lines(inputs: StudyInputs, agents: Sequence[str]) -> tuple[PairLine, ...]:
    """avg@k in both readings, and the other numbers as if the tasks were drawn."""
    k = inputs.k
    asked = [
        (f"avg@{k}", "avg_at_k", RANDOM),
        (f"avg@{k}, just these tasks", "avg_at_k", FIXED),
        (f"best@{k}", "best_at_k", RANDOM),
        *((MEASURES[m].name, m, RANDOM) for m in ("c1", "c2", "c3")),
    ]
    return tuple(
        _line(row, name)
        for name, measure, reading in asked
        for row in ordered_pairs(agents, chosen_pairs(inputs.comparisons, measure, OVERALL, reading))
    )


def _line(row: ComparisonRow, what: str) -> PairLine:
    cell = Cell(fmt.DASH, "no task has a number of both")
    if row.difference is not None:
        cell = Cell(_signed(row.difference), span=_span(row), span_note=one_line(row.guard or "", 300))
        if possible := spelled_possible(row, share):
            words = "whatever was not seen" if row.measure == C2 else "whatever is missing"
            outer = "" if row.outer_low is None else f", its interval {_outer(row)}"
            cell = Cell(cell.text, span=cell.span, span_note=cell.span_note, fixed=f"{words}: {possible}{outer}")
    return PairLine(
        f"{_name(row.first, 40)} \u2212 {_name(row.second, 40)}",
        what,
        cell,
        _p(row).removeprefix("p ") or fmt.DASH,
        f"{row.n_tasks}: {row.wins} won, {row.losses} lost, {row.ties} tied" if row.n_tasks else "none",
        _words(row),
        one_line(row.guard or "", 300),
    )


def _outer(row: ComparisonRow) -> str:
    return spelled_interval(row.outer_low, row.outer_high, share)


def _places(inputs: StudyInputs, agents: Sequence[str], *, too_few: bool) -> Places | None:
    rows = [
        row
        for row in inputs.rankings
        if (row.category, row.measure, row.reading) == (OVERALL, "avg_at_k", RANDOM) and row.agent in agents
    ]
    if not rows:
        return None
    found: dict[str, dict[int, RankingRow]] = {}
    for row in rows:
        found.setdefault(row.agent, {})[row.place] = row
    numbers = sorted({row.place for row in rows})
    shown = [agent for agent in agents if agent in found]
    lines = tuple((_name(a, 60), tuple(_share(found[a].get(p)) for p in numbers), _possible(found[a])) for a in shown)
    bounded = any(places for _, _, places in lines)
    guard = _places_guard(min(row.n_tasks for row in rows)) if too_few else ""
    return Places(tuple(_ordinal(n) for n in numbers), lines, bounded, max(row.draws for row in rows), guard)


def _places_guard(tasks: int) -> str:
    return (
        f"Only {fmt.plural(tasks, 'task')}: resamples of so few hardly differ. "
        "A share near 100 % says that these tasks agree, not that others would."
    )


def _share(row: RankingRow | None) -> Cell:
    if row is None:
        return Cell(fmt.DASH, "not drawn")
    return Cell(f"{100 * row.probability:.0f} %", None, fmt.heat(row.probability), row.probability)


def _possible(rows: dict[int, RankingRow]) -> str:
    row = next(iter(rows.values()))
    if row.best_place is None or row.worst_place is None or row.best_place == row.worst_place:
        return ""
    return f"{row.best_place}\u2013{row.worst_place}"


def _ordinal(number: int) -> str:
    end = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{end}"


def _places_figure(inputs: StudyInputs, places: Places) -> Figure:
    columns = [
        HeatColumn(
            name,
            tuple(r[1][i].text for r in places.rows),
            tuple(None if places.guard else r[1][i].heat for r in places.rows),
        )
        for i, name in enumerate(places.columns)
    ]
    title = f"Places by avg@{inputs.k}: share of {places.draws:,} resamples of the tasks with the agent in the place"
    return heat_map("places", title, [r[0] for r in places.rows], columns)
