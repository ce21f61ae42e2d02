"""The numbers of the other tables that get an interval, each with what is counted beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loopscope.analysis.intervals.samples import AVG_AT_K, BEST_AT_K
from loopscope.models.interval_rows import COMMON_AVG, COMMON_BEST, EVERYONE, PAIRED_AVG, PAIRED_BEST
from loopscope.models.tables import CategoryRow, MeasureRow, OutcomeRow, ResourceRow


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
    outcome: Iterable[OutcomeRow],
    measures: Iterable[MeasureRow],
    resources: Iterable[ResourceRow],
    by_category: Iterable[CategoryRow] = (),
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
    found += _of_common_tasks(outcomes)
    found += _of_paired(outcomes)
    for mean in by_category:
        own = [rollouts[at] for at in rollouts if at[1] == mean.category]
        k, lacking = max((k for k, _ in own), default=0), max(0, sum(n for _, n in own) - mean.n_runs)
        counts = mean.n_reconstructed, mean.n_reported
        found.append(Figure(EVERYONE, mean.category, mean.measure, mean.value, k, lacking, *counts))
    return found


def _of_common_tasks(outcomes: Iterable[OutcomeRow]) -> Iterator[Figure]:
    """Where they are other numbers than avg@k and best@k: some agent of the category has a score on further tasks."""
    scored = [row for row in outcomes if row.avg_at_k is not None]
    differing = {row.category for row in scored if row.n_tasks != row.n_common and row.n_common}
    for row in scored:
        if row.category in differing:
            for measure, value in ((COMMON_AVG, row.common_avg), (COMMON_BEST, row.common_best)):
                yield Figure(row.agent, row.category, measure, value, row.k, 0, 0, 0)


def _of_paired(outcomes: Iterable[OutcomeRow]) -> Iterator[Figure]:
    for row in outcomes:
        if row.n_paired:
            for measure, value in ((PAIRED_AVG, row.paired_avg), (PAIRED_BEST, row.paired_best)):
                yield Figure(row.agent, row.category, measure, value, row.k, 0, 0, 0)


def _of_outcome(row: OutcomeRow) -> Iterator[Figure]:
    for measure, value in ((AVG_AT_K, row.avg_at_k), (BEST_AT_K, row.best_at_k)):
        counts = row.k, row.n_missing, row.n_reconstructed, row.n_reported
        yield Figure(row.agent, row.category, measure, value, *counts)
