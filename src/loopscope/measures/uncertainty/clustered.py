"""The error of a mean over tasks: between tasks, family by family (random), or between seeds within them (fixed)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from loopscope.measures.uncertainty.interval import Moments
from loopscope.measures.uncertainty.panel import Floats, Ints


def strata(categories: Sequence[str]) -> Ints:
    """The family of each task as a number; families of one task, which have no spread, are put together.

    A single one that is left over joins the largest family (collapsed strata, Cochran 1977, 5A.12: errs on the wide
    side). How many tasks a family has is taken as designed, so the spread between families is no error.
    """
    return _strata(tuple(categories))


@lru_cache(maxsize=64)
def _strata(categories: tuple[str, ...]) -> Ints:
    names, labels, sizes = np.unique(np.array(categories, dtype=str), return_inverse=True, return_counts=True)
    single = np.flatnonzero(sizes == 1)
    if single.size == 1 and len(names) > 1:
        labels[labels == single[0]] = np.argmax(sizes)
    elif single.size > 1:
        labels[np.isin(labels, single)] = single[0]
    found = np.unique(labels, return_inverse=True)[1]
    found.flags.writeable = False
    return found


def task_moments(values: Floats, labels: Ints) -> Moments | None:
    """Tasks as clusters: se^2 = sum over families of (n_c/n)^2 s_c^2/n_c; None where there is one task.

    `values` has one number per task, none missing. A task's own number holds the noise of its seeds, so that s_c^2
    counts it once; to resample seeds as well would count it twice (Davison and Hinkley 1997, 3.8). Degrees of freedom:
    Satterthwaite 1946, v^2 / sum of v_c^2/(n_c - 1).
    """
    n = len(values)
    if n < 2:
        return None
    sizes = np.bincount(labels)
    centres = np.bincount(labels, values) / sizes
    squares = np.bincount(labels, (values - centres[labels]) ** 2)
    parts = sizes * squares / (sizes - 1) / n**2
    return _moments(float(values.mean()), parts, sizes - 1, n)


def seed_moments(values: Floats, variances: Floats, df: Ints, runs: int) -> Moments | None:
    """Tasks as a fixed set: se^2 = mean over tasks of the seed variance of the task's number, over the tasks.

    None where no task has two rollouts. A task with one borrows the mean variance of the others.
    """
    known = ~np.isnan(variances)
    if not known.any():
        return None
    n = len(values)
    parts = filled(variances) / n**2
    return _moments(float(values.mean()), parts[known], df[known], runs, float(parts.sum()))


def filled(variances: Floats) -> Floats:
    """Unknown variances as the mean of the known ones; all NaN where none is known."""
    known = ~np.isnan(variances)
    return np.where(known, variances, variances[known].mean() if known.any() else np.nan)


def _moments(estimate: float, parts: Floats, df: Ints, units: int, total: float | None = None) -> Moments:
    variance = float(parts.sum())
    rounding = (1e-12 * max(1.0, abs(estimate))) ** 2
    if variance <= rounding:  # what equal floats leave when their mean is taken is no spread
        return Moments(estimate, 0.0, float(df.sum()), units)
    whole = variance if total is None else total
    return Moments(estimate, whole**0.5, variance**2 / float((parts**2 / df).sum()), units)
