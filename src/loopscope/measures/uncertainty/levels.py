"""A model's level with its interval: seeds within tasks, then tasks equally, overall or in one category."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from loopscope.measures.uncertainty.cells import AVG, Estimator, cell_values, seed_variance
from loopscope.measures.uncertainty.clustered import seed_moments, strata, task_moments
from loopscope.measures.uncertainty.interval import (
    FEW_TASKS,
    SATURATED,
    UNIT,
    Bounds,
    Interval,
    Method,
    Moments,
    Reading,
    check_level,
    saturated,
    score_interval,
    t_interval,
)
from loopscope.measures.uncertainty.panel import Floats, Ints, Panel, observed
from loopscope.measures.uncertainty.resampling import (
    DRAWS,
    bca_interval,
    jackknife,
    percentile_interval,
    task_mean_draws,
)

ENOUGH_FOR_BCA = 10
"""Tasks from which a bootstrap covers better than t where nothing bounds the values; see docs/statistics.md."""

_FAR_BELOW = 0.1
"""Of the seeds' error: three tasks or more are so near to each other by chance in less than 1 of 100 studies."""


@dataclass(frozen=True)
class Settings:
    """How an interval is made."""

    reading: Reading = "random tasks"
    level: float = 0.95
    bounds: Bounds = UNIT
    """What the values can be at all; None for costs and the like."""
    method: Method | None = None
    """None: `score` within bounds; else `bca` over random tasks from 10 on; else `t`."""
    draws: int = DRAWS
    seed: int = 0

    def __post_init__(self) -> None:
        check_level(self.level)
        if self.method in ("bca", "percentile") and self.reading == "fixed tasks":
            raise ValueError(f"method {self.method!r} resamples tasks; with fixed tasks use 'score' or 't'")
        if self.method == "score" and self.bounds is None:
            raise ValueError("method 'score' needs bounds, such as (0, 1); without any use 't' or 'bca'")


DEFAULT = Settings()


@dataclass(frozen=True, eq=False)
class TaskNumbers:
    """One number per task, and what is known of each: the common form of a level and of a difference."""

    values: Floats
    """NaN where a task has none."""
    variances: Floats
    """Over seeds, of each value."""
    df: Ints
    """Degrees of freedom of each variance."""
    rollouts: Ints
    """Behind each value; of a difference those of the model with fewer."""
    categories: tuple[str, ...]
    k: int
    missing: int


def level_of(
    panel: Panel, model: str, estimator: Estimator = AVG, category: str | None = None, settings: Settings = DEFAULT
) -> Interval:
    """avg@k or best@k of a model. ValueError for a model or category that is not there.

    best@k with fewer than k scores in every task has no estimate (`guard` says so); tasks that have fewer are left out.
    """
    row, at = panel.of(model), panel.within(category)
    scores = panel.packed()[row, at]
    numbers = TaskNumbers(
        cell_values(scores, estimator),
        seed_variance(scores, estimator),
        observed(scores) - 1,
        observed(scores),
        tuple(panel.categories[i] for i in at),
        panel.k,
        panel.missing(row, at),
    )
    found = mean_of(numbers, settings)
    short = int((numbers.rollouts < (estimator.best or 1)).sum())
    if estimator.best is None or not short:
        return found
    return noted(found, f"{short} of {len(at)} tasks have fewer than {estimator.best} scores and no {estimator}")


def mean_of(numbers: TaskNumbers, settings: Settings) -> Interval:
    """The mean over the tasks that have a number, with its interval and guards."""
    there = ~np.isnan(numbers.values)
    values, labels = numbers.values[there], strata([c for c, t in zip(numbers.categories, there, strict=True) if t])
    seeds = seed_moments(values, numbers.variances[there], numbers.df[there], int(numbers.rollouts[there].sum()))
    moments, borrowed = seeds, False
    if settings.reading == "random tasks":
        moments, borrowed = _not_below_seeds(task_moments(values, labels), seeds)
    estimate = float(values.mean()) if values.size else None
    method, ends = None, None
    if moments is not None:
        method, ends = _ends(values, labels, moments, settings)
    low, high = ends or (None, None)
    guards = _guards(numbers, settings, moments, method)
    if borrowed:
        guards.append("tasks differ far less than seeds of one do: the error is that of the seeds")
    guard = "; ".join(guards) or None
    counts = numbers.k, values.size, int(numbers.rollouts[there].sum()), numbers.missing
    unseen = method is not None and moments is not None and moments.se == 0
    return Interval(estimate, low, high, settings.level, method, settings.reading, *counts, guard, unseen)


def _not_below_seeds(tasks: Moments | None, seeds: Moments | None) -> tuple[Moments | None, bool]:
    """The error between tasks; where it is far below that of their seeds, which it holds, that one, and True.

    Tasks that all have the same number, with seeds that differ, did so by chance: their spread is not 0.
    """
    if tasks is None or seeds is None or tasks.se >= _FAR_BELOW * seeds.se:
        return tasks, False
    return replace(tasks, se=seeds.se, df=min(tasks.df, seeds.df)), True


def noted(interval: Interval, reason: str) -> Interval:
    """The interval with one more guard."""
    guard = reason if interval.guard is None else f"{interval.guard}; {reason}"
    return replace(interval, guard=guard)


def _ends(
    values: Floats, labels: Ints, moments: Moments, settings: Settings
) -> tuple[Method | None, tuple[float, float] | None]:
    """The method that fits, and its two ends; neither where nothing differs and nothing bounds the values."""
    bounds, method = settings.bounds, settings.method
    if bounds is not None and not bounds[0] <= values.min() <= values.max() <= bounds[1]:
        bounds = None
    if method is None or (method == "score" and bounds is None):
        resampled = settings.reading == "random tasks" and len(values) >= ENOUGH_FOR_BCA
        method = "score" if bounds else "bca" if resampled else "t"
    if moments.se == 0:
        return (None, None) if bounds is None else ("score", score_interval(moments, settings.level, bounds))
    if method == "score" and bounds is not None:
        if settings.reading == "random tasks" and _at_bound(values, bounds):
            moments = saturated(moments, bounds)
        return method, score_interval(moments, settings.level, bounds)
    if method == "t":
        low, high = t_interval(moments, settings.level)
        return method, (low, high) if bounds is None else (max(low, bounds[0]), min(high, bounds[1]))
    draws = task_mean_draws(values, labels, settings.draws, settings.seed)
    if method == "percentile":
        return method, percentile_interval(draws, moments, settings.level)
    return method, bca_interval(draws, moments, settings.level, jackknife(values, labels))


def _at_bound(values: Floats, bounds: tuple[float, float]) -> int:
    """How many tasks stand at the fuller bound, where that is enough of them to matter; else 0."""
    most = max(int((values <= bounds[0]).sum()), int((values >= bounds[1]).sum()))
    return most if most >= SATURATED * len(values) else 0


def _guards(numbers: TaskNumbers, settings: Settings, moments: Moments | None, method: Method | None) -> list[str]:
    """What to know before the interval is believed."""
    there = ~np.isnan(numbers.values)
    n, found = int(there.sum()), []
    if n == 0:
        return ["no score"]
    if settings.reading == "random tasks":
        if n == 1:
            found.append("one task: nothing says how tasks differ")
        elif n < FEW_TASKS:
            found.append(f"only {n} tasks: what is rare among such tasks was probably not seen")
    elif moments is None:
        found.append("one seed per task: nothing says how seeds differ")
    elif short := int(np.isnan(numbers.variances[there]).sum()):
        found.append(f"{short} tasks with one seed borrow the others' seed variance")
    if moments is not None and moments.se == 0:
        what = (
            "task differs within its family" if settings.reading == "random tasks" else "seed differs within its task"
        )
        reach = "the interval is what so few can leave unseen" if method else "without bounds there is no interval"
        found.append(f"no {what}: {reach}")
    if (
        method == "score"
        and settings.reading == "random tasks"
        and moments is not None
        and settings.bounds is not None
        and saturated(moments, settings.bounds).se > moments.se
        and (most := _at_bound(numbers.values[there], settings.bounds))
    ):
        found.append(f"{most} of {n} tasks stand at a bound: rare exceptions may be unseen, the interval is widened")
    if settings.bounds is not None and not (
        settings.bounds[0] <= np.nanmin(numbers.values) <= np.nanmax(numbers.values) <= settings.bounds[1]
    ):
        found.append(f"values outside {settings.bounds[0]:g} to {settings.bounds[1]:g}: made without bounds")
    if numbers.missing:
        found.append(f"{numbers.missing} missing and left out: see their bounds")
    left = len(numbers.values) - n
    return [*found, f"{left} of {len(numbers.values)} tasks have no number"] if left else found
