"""What missing scores could change: everything filled in at its worst and at its best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from loopscope.measures.uncertainty.cells import AVG, Estimator
from loopscope.measures.uncertainty.differences import Pairing, difference
from loopscope.measures.uncertainty.interval import Interval
from loopscope.measures.uncertainty.levels import DEFAULT, Settings, level_of
from loopscope.measures.uncertainty.panel import Floats, Panel

_ROUNDING = 1e-12


@dataclass(frozen=True)
class MissingBounds:
    """A number with nothing assumed about what is missing (Manski's bounds)."""

    observed: Interval
    """Of what is there: right if what is missing is missing by chance."""
    low: float | None
    high: float | None
    """The estimate with every missing score at its worst and at its best; None where it cannot be estimated at all."""
    interval_low: float | None
    interval_high: float | None
    """The outer ends of the two intervals (Horowitz and Manski 2000): for seeds or tasks and for what is missing."""
    n_missing: int
    n_planned: int


def missing_bounds(
    panel: Panel, model: str, estimator: Estimator = AVG, category: str | None = None, settings: Settings = DEFAULT
) -> MissingBounds:
    """Bounds of a level: missing and absent runs at the lowest score, then at the highest, up to k per task.

    ValueError where the settings have no bounds: nothing limits what is missing.
    """
    bounds = _bounds(settings)
    ends = [level_of(filled_panel(panel, {model: value}), model, estimator, category, settings) for value in bounds]
    observed = level_of(panel, model, estimator, category, settings)
    return _between(observed, ends[0], ends[1], panel.k * len(panel.within(category)))


def missing_bounds_of_difference(
    panel: Panel,
    first: str,
    second: str,
    estimator: Estimator = AVG,
    category: str | None = None,
    settings: Settings = DEFAULT,
    *,
    pairing: Pairing = "task",
) -> MissingBounds:
    """Bounds of first minus second: the first at its worst with the second at its best, and the other way round."""
    low, high = _bounds(settings)
    ends = [
        difference(
            filled_panel(panel, {first: one, second: other}),
            first,
            second,
            estimator,
            category,
            settings,
            pairing=pairing,
        ).interval
        for one, other in ((low, high), (high, low))
    ]
    observed = difference(panel, first, second, estimator, category, settings, pairing=pairing).interval
    return _between(observed, ends[0], ends[1], 2 * panel.k * len(panel.within(category)))


def range_bounds(
    low: Panel, high: Panel, model: str, category: str | None = None, settings: Settings = DEFAULT
) -> MissingBounds:
    """Bounds of a measure that each run knows only within a range, such as C2 with unobservable checkpoints.

    The two panels hold the ends of each run's range. The middle of the ranges stands for what is observed.
    ValueError where they are not of the same runs.
    """
    same = (low.models, low.tasks, low.seeds) == (high.models, high.tasks, high.seeds)
    if not same or not (np.isnan(low.scores) == np.isnan(high.scores)).all():
        raise ValueError("the two ends are not of the same runs; give both ends of every run")
    middle = replace(low, scores=(low.scores + high.scores) / 2)
    ends = [level_of(panel, model, AVG, category, settings) for panel in (low, high)]
    observed = level_of(middle, model, AVG, category, settings)
    return _between(observed, ends[0], ends[1], low.k * len(low.within(category)))


def place_ranges(low: Floats, high: Floats) -> list[tuple[int, int]]:
    """Best and worst place of each model whose number lies between these two, whatever the others' are between theirs.

    NaN, both, of a model that has none: it takes no place from others, and its own says nothing.
    """
    above = low[None, :] > high[:, None] + _ROUNDING
    level = high[None, :] >= low[:, None] - _ROUNDING
    np.fill_diagonal(level, val=False)
    return [(1 + int(a), 1 + int(b)) for a, b in zip(above.sum(axis=1), level.sum(axis=1), strict=True)]


def filled_panel(panel: Panel, values: Mapping[str, float]) -> Panel:
    """The panel with the missing rollouts of the named models, up to k per task, at the value given for each."""
    width = max(len(panel.seeds), panel.k)
    scores: Floats = np.full((*panel.scores.shape[:2], width), np.nan)
    scores[:, :, : len(panel.seeds)] = panel.scores
    for model, value in values.items():
        row = scores[panel.of(model)]
        empty = np.isnan(row)
        lacking = np.maximum(0, panel.k - (~empty).sum(axis=1))
        row[empty & (np.cumsum(empty, axis=1) <= lacking[:, None])] = value
    seeds = (*panel.seeds, *(f"absent-{i}" for i in range(width - len(panel.seeds))))
    return replace(panel, scores=scores, seeds=seeds)


def _bounds(settings: Settings) -> tuple[float, float]:
    if settings.bounds is None:
        raise ValueError("what is missing has no bounds without `bounds` of the values, such as (0, 1)")
    return settings.bounds


def _between(observed: Interval, low: Interval, high: Interval, planned: int) -> MissingBounds:
    return MissingBounds(observed, low.estimate, high.estimate, low.low, high.high, observed.n_missing, planned)
