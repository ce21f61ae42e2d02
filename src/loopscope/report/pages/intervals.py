"""The interval of a number as it stands below it: its ends, what it stands on, and what speaks against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from loopscope.models.interval_rows import IntervalRow
from loopscope.models.standing import FIXED, RANDOM, spelled_interval
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.inputs import StudyInputs
from loopscope.report.text import one_line

type Show = Callable[[float], str]

READINGS = {RANDOM: "as if the tasks were drawn from others like them", FIXED: "for just these tasks, other seeds"}
_METHODS = {"score": "Wilson\u2019s score interval", "t": "Student\u2019s t", "bca": "BCa bootstrap"}


def interval(inputs: StudyInputs, agent: str, category: str, measure: str, reading: str = RANDOM) -> IntervalRow | None:
    """How sure a number is; None of numbers that the table does not tell of."""
    return inputs.intervals.get((agent, category, measure, reading))


def share(value: float) -> str:
    """An end of the interval of a score."""
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\u2212")


def whole_percent(value: float) -> str:
    """An end of the interval of a share."""
    return f"{100 * value:.0f} %"


def with_span(cell: Cell, row: IntervalRow | None, show: Show = share) -> Cell:
    """The cell with the interval of its number; a missing number has none."""
    if cell.missing is not None or row is None or row.value is None:
        return cell
    return replace(cell, span=span(row, show), span_note=note(row))


def span(row: IntervalRow, show: Show = share) -> str:
    """`[0.21, 0.38]`, or that there is none."""
    return "no interval" if row.low is None else spelled_interval(row.low, row.high, show)


def bracketed(row: IntervalRow) -> str:
    """The same within a sentence: `[no interval]` where there is none."""
    return spelled_interval(row.low, row.high, share)


def note(row: IntervalRow) -> str:
    """In words: which interval, from how much, and the guard."""
    support = f"k = {row.k}, {fmt.plural(row.n_tasks, 'task')}, n = {fmt.plural(row.n_runs, 'run')}"
    if row.low is None:
        return f"{support}; no interval: {_guard(row) or 'nothing tells how far it spreads'}"
    method = _METHODS.get(row.method or "", one_line(row.method or "", 20))
    about = f"{round(100 * row.level)} % interval {READINGS.get(row.reading, '')} ({method}); {support}"
    return f"{about}; {_guard(row)}" if row.guard else about


def _guard(row: IntervalRow) -> str:
    return one_line(row.guard or "", 300)


def guards(rows: Iterable[tuple[str, IntervalRow | None]], everyone: int) -> tuple[str, ...]:
    """What to know before intervals are believed, each remark once, with the agents that it is about unless all.

    Args:
        rows: (name for people, interval) of agents.
        everyone: how many agents there are to speak of.
    """
    remarks: dict[str, list[str]] = {}
    for name, row in rows:
        if row is not None and row.guard and row.value is not None:
            remarks.setdefault(_guard(row), []).append(name)
    return tuple(remark(guard, names, everyone) for guard, names in remarks.items())


def remark(guard: str, names: Sequence[str], everyone: int) -> str:
    """A guard as a sentence; it names the agents that it is about, unless it is about all."""
    return f"{guard[:1].upper()}{guard[1:]}." if len(names) >= everyone else f"{', '.join(names)}: {guard}."


def ends(row: IntervalRow | None) -> tuple[float, float] | None:
    """Of a whisker; None where there is no interval."""
    return None if row is None or row.low is None or row.high is None else (row.low, row.high)


def possible(row: IntervalRow | None) -> tuple[float, float] | None:
    """From where to where the number goes as missing scores do; None where none is missing."""
    if row is None or row.missing_low is None or row.missing_high is None:
        return None
    return row.missing_low, row.missing_high
