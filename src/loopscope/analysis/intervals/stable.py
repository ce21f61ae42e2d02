"""Rows of `stability`: whether the order of the agents would stand with fewer seeds, other tasks, or by the best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loopscope.analysis.intervals.ranks import on_common_tasks
from loopscope.analysis.intervals.samples import AVG_AT_K, BEST_AT_K, OUTCOMES, Sample
from loopscope.measures.uncertainty import (
    AVG,
    Estimator,
    Panel,
    Stability,
    over_best,
    over_seeds,
    over_tasks,
    without_category,
)
from loopscope.models.interval_rows import StabilityRow
from loopscope.models.tables import OVERALL

_DRAWS = 1000
_MOST = 20_000_000
"""Scores that one drawing may hold; a large study takes fewer draws."""


def stability_rows(samples: Mapping[str, Sample], seed: int) -> list[StabilityRow]:
    """By avg@k, then by best@k, over all families."""
    rows = []
    for measure in OUTCOMES:
        sample = samples.get(measure)
        estimator = Estimator(max(1, sample.k(OVERALL))) if sample and measure == BEST_AT_K else AVG
        part = None if sample is None else on_common_tasks(sample, OVERALL, estimator)
        for found in () if part is None else _parts(part, measure, estimator, seed):
            rows.append(
                StabilityRow(
                    measure=measure,
                    what=found.what,
                    tau=found.tau,
                    tau_low=found.tau_low,
                    same_first=found.same_first,
                    same_order=found.same_order,
                    draws=found.draws,
                    n_agents=len(part.models) if part else 0,
                    n_tasks=len(part.tasks) if part else 0,
                )
            )
    return rows


def _parts(part: Panel, measure: str, estimator: Estimator, seed: int) -> Iterator[Stability]:
    """Every way to look at less; by seeds and by the best of fewer only against the order by avg@k."""
    draws = max(20, min(_DRAWS, _MOST // part.scores.size))
    if measure == AVG_AT_K:
        for seeds in range(1, part.k):
            yield over_seeds(part, seeds, draws, seed)
        yield from over_best(part)[1:]
    if len(part.tasks) > 1:
        yield over_tasks(part, 0.5, estimator, draws, seed)
    yield from without_category(part, estimator)
