"""The numbers of the other tables that get an interval, each with what is counted beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loopscope.analysis.intervals.samples import AVG_AT_K, BEST_AT_K
from loopscope.models.tables import MeasureRow, OutcomeRow, ResourceRow


@dataclass(frozen=True)
class Figure:
    """A number as its own table has it."""

    agent: str
    category: str
    measure: str
    value: float | None
    k: int
    n_missing: int
    n_reconstructed: int
    n_reported: int


def figures_of(
    outcome: Iterable[OutcomeRow], measures: Iterable[MeasureRow], resources: Iterable[ResourceRow]
) -> list[Figure]:
    """All of them, in the order of their tables."""
    outcomes = list(outcome)
    rollouts = {(row.agent, row.category): (row.k, row.n_runs + row.n_missing) for row in outcomes}
    found = [figure for row in outcomes for figure in _of_outcome(row)]
    for row in measures:
        k, planned = rollouts.get((row.agent, row.category), (0, 0))
        lacking = max(0, planned - row.n_runs)
        figure = Figure(
            row.agent, row.category, row.measure, row.value, k, lacking, row.n_reconstructed, row.n_reported
        )
        found.append(figure)
    for use in resources:
        k, planned = rollouts.get((use.agent, use.category), (0, 0))
        lacking = max(0, planned - use.runs)
        found.append(Figure(use.agent, use.category, use.resource, use.per_task, k, lacking, 0, 0))
    return found


def _of_outcome(row: OutcomeRow) -> Iterator[Figure]:
    for measure, value in ((AVG_AT_K, row.avg_at_k), (BEST_AT_K, row.best_at_k)):
        counts = row.k, row.n_missing, row.n_reconstructed, row.n_reported
        yield Figure(row.agent, row.category, measure, value, *counts)
