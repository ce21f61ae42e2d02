"""What the agents used: money, tokens, time, tool calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loopscope.models.tables import OVERALL, ResourceRow
from loopscope.models.usage import COST_DOUBT
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.inputs import StudyInputs
from loopscope.report.pages.intervals import interval, with_span
from loopscope.report.text import one_line

COLUMNS: tuple[tuple[str, Callable[[float | None], str]], ...] = (
    ("cost_usd", fmt.usd),
    ("priced_usd", fmt.usd),
    ("tokens", fmt.tokens),
    ("agent_sec", fmt.seconds),
    ("tool_calls", fmt.count),
)
"""Resources in the order of the table's columns, with the words for their amounts."""


@dataclass(frozen=True)
class UseLine:
    """One agent's use: for each resource the mean per task, and its total with the runs that it leaves out."""

    agent: str
    uses: tuple[tuple[Cell, str], ...]
    warning: str = ""
    """That what its runs are said to have cost lies far from what their tokens cost at list prices."""


def use_lines(inputs: StudyInputs) -> tuple[UseLine, ...]:
    """The agents that have a run, in the order of every figure."""
    found = {(r.agent, r.resource): r for r in inputs.resources if r.category == OVERALL}
    return tuple(
        UseLine(
            one_line(agent, 90),
            tuple(_use(inputs, found.get((agent, key)), show) for key, show in COLUMNS),
            _warning(inputs, agent),
        )
        for agent in inputs.agents
        if any((agent, key) in found for key, _ in COLUMNS)
    )


def _warning(inputs: StudyInputs, agent: str) -> str:
    doubted = sum(any(flag.startswith(COST_DOUBT) for flag in run.flags) for run in inputs.runs if run.agent == agent)
    if not doubted:
        return ""
    return f"cost and list price lie far apart in {fmt.plural(doubted, 'run')}; the pages of those runs give both"


def _use(inputs: StudyInputs, row: ResourceRow | None, show: Callable[[float | None], str]) -> tuple[Cell, str]:
    if row is None or row.per_task is None:
        return Cell(fmt.DASH, "unknown for every run of this agent"), ""
    unknown = f"; {fmt.plural(row.unknown, 'run')} unknown" if row.unknown else ""
    cell = Cell(show(row.per_task), None, None, row.per_task)
    found = interval(inputs, row.agent, OVERALL, row.resource)
    return with_span(cell, found, show), f"total {show(row.total)}, n = {row.runs}{unknown}"
