"""Rows of `stability`: whether an order would stand with fewer seeds, other tasks, by the best, in another harness."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from loopscope.analysis.intervals.ranks import on_common_tasks
from loopscope.analysis.intervals.samples import AVG_AT_K, BEST_AT_K, OUTCOMES, Sample
from loopscope.analysis.tabled import TabledRun
from loopscope.measures.uncertainty import (
    AVG,
    Estimator,
    Panel,
    Stability,
    over_best,
    over_harnesses,
    over_seeds,
    over_tasks,
    without_category,
)
from loopscope.measures.uncertainty.cells import cell_values
from loopscope.models.interval_rows import StabilityRow
from loopscope.models.tables import OVERALL

type Driven = tuple[str, str]
"""A harness and its model."""

_DRAWS = 1000
_MOST = 20_000_000
"""Scores that one drawing may hold; a large study takes fewer draws."""


def stability_rows(samples: Mapping[str, Sample], driven: Mapping[str, Driven], seed: int) -> list[StabilityRow]:
    """By avg@k, then by best@k, over all families.

    Args:
        samples: by measure.
        driven: agent -> its harness and model; agents without a model have none.
        seed: of the draws.
    """
    rows = []
    for measure in OUTCOMES:
        sample = samples.get(measure)
        if sample is None:
            continue
        estimator = Estimator(max(1, sample.k(OVERALL))) if measure == BEST_AT_K else AVG
        part = on_common_tasks(sample, OVERALL, estimator)
        if part is not None:
            found = _parts(part, measure, estimator, seed)
            rows += [_row(measure, "agents", one, len(part.tasks)) for one in found]
        whole = sample.part(OVERALL, range(len(sample.panel.models)))
        rows += _between_harnesses(whole, driven, measure, estimator, seed)
    return rows


def _row(measure: str, ordered: str, found: Stability, tasks: int) -> StabilityRow:
    return StabilityRow(
        measure=measure,
        ordered=ordered,
        what=found.what,
        tau=found.tau,
        tau_low=found.tau_low,
        tau_high=found.tau_high,
        same_first=found.same_first,
        same_order=found.same_order,
        draws=found.draws,
        n_ordered=found.size,
        n_tasks=tasks,
    )


def harnesses_of(runs: Iterable[TabledRun]) -> dict[str, Driven]:
    """Agent -> the harness and the model that its last run names; none where that names no model."""
    named = {run.run.agent: (run.run.harness, run.run.model) for run in runs}
    return {agent: (harness, model) for agent, (harness, model) in named.items() if model is not None}


def _between_harnesses(
    panel: Panel, driven: Mapping[str, Driven], measure: str, estimator: Estimator, seed: int
) -> Iterator[StabilityRow]:
    """Every two harnesses on the models that both drive.

    Where several agents are the same harness with the same model, nothing says which of them to hold against the
    other's: they are left out, and `what` says so.
    """
    sides: dict[str, dict[str, str]] = {}
    twice: dict[str, set[str]] = {}
    known = ~np.isnan(cell_values(panel.packed(), estimator))
    for agent, has in zip(panel.models, known.any(axis=1), strict=True):
        harness, model = driven.get(agent, ("", ""))
        if not model or not has:
            continue
        if model in sides.setdefault(harness, {}):
            twice.setdefault(harness, set()).add(model)
        sides[harness][model] = agent
    for one, other in combinations(sorted(sides), 2):
        unclear = (twice.get(one, set()) | twice.get(other, set())) & set(sides[one]) & set(sides[other])
        first, second = (
            (name, {model: agent for model, agent in sides[name].items() if model not in unclear})
            for name in (one, other)
        )
        both = first[1].keys() & second[1].keys()
        tasks = int(known[[panel.of(side[model]) for _, side in (first, second) for model in both]].all(axis=0).sum())
        left = f" (without {', '.join(sorted(unclear))}: several agents are one harness with it)" if unclear else ""
        found = over_harnesses(panel, first, second, estimator, _DRAWS, seed)
        for ordered, row in zip(("models", "tasks"), found, strict=True):
            if row is not None:
                yield _row(measure, ordered, replace(row, what=row.what + left), tasks)


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
