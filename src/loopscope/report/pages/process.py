"""C1, C2 and C3 of the first page: a chart of the agents, and a table of the same by category."""

from __future__ import annotations

from dataclasses import dataclass

from loopscope.models.interval_rows import EVERYONE
from loopscope.models.standing import spelled_range
from loopscope.models.tables import OVERALL, CategoryRow, MeasureRow
from loopscope.report import format as fmt
from loopscope.report.bars import Bar, bars
from loopscope.report.figures import Figure
from loopscope.report.format import Cell
from loopscope.report.glossary import Term
from loopscope.report.inputs import StudyInputs
from loopscope.report.pages.chart import Chart, chart
from loopscope.report.pages.intervals import Show, ends, guards, interval, share, whole_percent, with_span
from loopscope.report.pages.reconstruction import unofficial
from loopscope.report.text import one_line


@dataclass(frozen=True)
class Panel:
    """One small chart with its heading and a table of the same by category."""

    title: str
    term: Term | None
    chart: Chart | None
    note: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, tuple[Cell, ...]], ...] = ()
    mean: tuple[Cell, ...] = ()
    """All agents, equally."""
    guards: tuple[str, ...] = ()
    """What to know before the intervals are believed."""


def category_name(category: str) -> str:
    """A category as a heading."""
    return fmt.words(one_line(category, 60))


def process_figure(inputs: StudyInputs, t: Term) -> Figure:
    """One measure by agent, over all tasks."""
    found = {r.agent: r for r in inputs.process if r.category == OVERALL and r.measure == t.key}
    known = {(r.agent, r.measure): r.value for r in inputs.diagnostics if r.category == OVERALL}
    rows = [
        Bar(
            one_line(agent, 90),
            found[agent].value if agent in found else None,
            note=_note(found.get(agent)),
            low=known.get((agent, f"{t.key}_low")),
            high=known.get((agent, f"{t.key}_high")),
            interval=ends(interval(inputs, agent, OVERALL, t.key)),
        )
        for agent in inputs.agents
    ]
    title = f"{t.name}, mean over tasks"
    if any(row.interval for row in rows):
        title += "; the line across a bar: its 95 % interval for tasks like these"
    if any(row.has_range for row in rows):
        title += "; dashed, below a bar: from what it is at least to what it is at most, whatever was not seen"
    return bars(f"process-{t.key}", title, rows, solid=t.name)


def _note(row: MeasureRow | None) -> str:
    if row is None or row.value is None:
        return "no value"
    rebuilt = unofficial([row], row.n_runs)
    return f"n = {row.n_runs}" + (f", {rebuilt}" if rebuilt else "")


def process_panel(inputs: StudyInputs, t: Term, figure: Figure) -> Panel:
    """The measure with its figure and its values by category."""
    found = {(r.agent, r.category): r for r in inputs.process if r.measure == t.key}
    together = {r.category: r for r in inputs.process_by_category if r.measure == t.key}
    rows = tuple(
        (one_line(a, 60), tuple(spanned_cell(inputs, a, c, found.get((a, c)), t, 1.0) for c in inputs.categories))
        for a in inputs.agents
    )
    valued = [a for a in inputs.agents if (a, OVERALL) in found and found[a, OVERALL].value is not None]
    runs = [found[a, OVERALL].n_runs for a in inputs.agents if (a, OVERALL) in found]
    span = (
        f"n = {min(runs)}" if runs and min(runs) == max(runs) else f"n = {min(runs)}–{max(runs)}" if runs else "n = 0"
    )
    ranged = "; dashed and in round brackets: whatever was not seen" if "; dashed" in figure.title else ""
    return Panel(
        title=t.name,
        term=t,
        chart=chart(figure, 420) if inputs.agents else None,
        note=f"k = {inputs.k}, {_task_counts(inputs, t, valued)}{span} runs per agent{ranged}"
        + _rebuilt([found[a, OVERALL] for a in inputs.agents if (a, OVERALL) in found]),
        columns=tuple(category_name(c) for c in inputs.categories),
        rows=rows,
        mean=tuple(
            with_span(measure_cell(together.get(c), t, 1.0), interval(inputs, EVERYONE, c, t.key))
            for c in inputs.categories
        ),
        guards=guards(((one_line(a, 60), interval(inputs, a, OVERALL, t.key)) for a in valued), len(valued)),
    )


def _task_counts(inputs: StudyInputs, t: Term, agents: list[str]) -> str:
    """`2 tasks, `: fewest and most that an agent has a value on."""
    counts = [row.n_tasks for a in agents if (row := interval(inputs, a, OVERALL, t.key))]
    if not counts:
        return ""
    return f"{spelled_range(min(counts), max(counts))} {'task' if max(counts) == 1 else 'tasks'}, "


def _rebuilt(rows: list[MeasureRow]) -> str:
    words = unofficial(rows, sum(row.n_runs for row in rows))
    return f", scores {words}" if words else ""


def spanned_cell(inputs: StudyInputs, agent: str, category: str, row: MeasureRow | None, t: Term, top: float) -> Cell:
    """A measure with its shade and its interval."""
    show: Show = {"score": share, "percent": whole_percent}.get(t.format, t.show)
    return with_span(measure_cell(row, t, top), interval(inputs, agent, category, t.key), show)


def measure_cell(row: MeasureRow | CategoryRow | None, t: Term, top: float) -> Cell:
    """A measure with its shade, or a dash with the reason."""
    if row is None or row.value is None:
        return Cell(fmt.DASH, t.missing)
    return Cell(t.show(row.value), None, fmt.heat(row.value, top), row.value)
