"""Rows of `rankings`: how often resamples of the study have an agent in each place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from loopscope.analysis.intervals.places import READINGS, Place
from loopscope.analysis.intervals.samples import BEST_AT_K, OUTCOMES, Ends, Sample, ends_of
from loopscope.measures.uncertainty import AVG, DRAWS, Estimator, Panel, Ranking, place_ranges, ranking, resample
from loopscope.measures.uncertainty.cells import cell_values
from loopscope.measures.uncertainty.panel import Floats, Ints
from loopscope.models.interval_rows import RankingRow

RANKED = (*OUTCOMES, "c2")
"""What places are told by: the outcome, and the measure that is known within a range where not all was seen."""


@dataclass(frozen=True, eq=False)
class Order:
    """An order of agents over the tasks that all of them have a number of."""

    ranking: Ranking
    n_tasks: int
    ranges: Mapping[str, tuple[int, int]]
    """Best and worst place of each, whatever the missing scores are."""


def orders_of(samples: Mapping[str, Sample], categories: Sequence[str], seed: int) -> dict[Place, Order]:
    """The orders by avg@k, by best@k and by C2, wherever two agents or more have a common task."""
    found: dict[Place, Order] = {}
    for measure in RANKED:
        made: dict[bytes, str] = {}
        for category in categories if measure in samples else ():
            sample = samples[measure]
            same = made.setdefault(sample.tasks_in(category), category)
            if same != category:  # one family alone is the whole
                found |= {
                    (measure, category, r): found[measure, same, r] for r in READINGS if (measure, same, r) in found
                }
                continue
            estimator = Estimator(max(1, sample.k(category))) if measure == BEST_AT_K else AVG
            part = on_common_tasks(sample, category, estimator)
            if part is None:
                continue
            ranges = _ranges(sample, ends_of(samples, measure), category, part.models, estimator)
            for reading in READINGS:
                order = ranking(resample(part, estimator, reading, DRAWS, seed))
                found[measure, category, reading] = Order(order, len(part.tasks), ranges)
    return found


def ranking_rows(orders: Mapping[Place, Order]) -> list[RankingRow]:
    """One row per agent and place; none where fewer than two agents have a spread to draw from."""
    return [
        RankingRow(
            agent=agent,
            category=category,
            measure=measure,
            reading=reading,
            rank=at + 1,
            place=place + 1,
            probability=float(order.ranking.rank[at, place]),
            draws=order.ranking.draws,
            n_tasks=order.n_tasks,
            best_place=order.ranges[agent][0] if agent in order.ranges else None,
            worst_place=order.ranges[agent][1] if agent in order.ranges else None,
        )
        for (measure, category, reading), order in sorted(orders.items(), key=lambda item: _sorted_by(item[0]))
        if order.ranking.draws and len(order.ranking.models) > 1
        for at, agent in enumerate(order.ranking.models)
        for place in range(len(order.ranking.models))
    ]


def _sorted_by(place: Place) -> tuple[str, str, int]:
    measure, category, reading = place
    return measure, category, READINGS.index(reading)


def on_common_tasks(sample: Sample, category: str, estimator: Estimator) -> Panel | None:
    """The agents that have a number in the category, on the tasks that all of them have; None for fewer than two."""
    part = sample.part(category, range(len(sample.panel.models)))
    there = ~np.isnan(cell_values(part.packed(), estimator))
    agents = np.flatnonzero(there.any(axis=1))
    tasks = np.flatnonzero(there[agents].all(axis=0))
    if len(agents) < 2 or not tasks.size:
        return None
    return replace(
        part,
        models=tuple(part.models[i] for i in agents),
        tasks=tuple(part.tasks[i] for i in tasks),
        categories=tuple(part.categories[i] for i in tasks),
        scores=part.scores[np.ix_(agents, tasks)],
        k=sample.k(category),
    )


def _ranges(
    sample: Sample, ends: Ends | None, category: str, agents: Sequence[str], estimator: Estimator
) -> dict[str, tuple[int, int]]:
    """Best and worst place of each agent's number: what it lacks at its best and the others' at their worst, and back.

    Over the tasks that all of them have rollouts of.
    """
    if ends is None:
        return {}
    rows = [sample.panel.of(agent) for agent in agents]
    at = sample.tasks_of(rows[0], category)
    for row in rows[1:]:
        at = np.intersect1d(at, sample.tasks_of(row, category))
    low, high = (_means(end, rows, at, estimator) for end in ends)
    if np.isnan(low).any() or np.isnan(high).any():
        return {}
    return dict(zip(agents, place_ranges(low, high), strict=True))


def _means(end: Sample, rows: Sequence[int], at: Ints, estimator: Estimator) -> Floats:
    """Each agent's mean over those tasks that all have a number of."""
    cells = cell_values(np.sort(end.panel.scores[np.ix_(rows, at)], axis=2), estimator)
    complete = cells[:, ~np.isnan(cells).any(axis=0)]
    return complete.mean(axis=1) if complete.size else np.full(len(rows), np.nan)
