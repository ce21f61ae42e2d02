"""Intervals of counts and amounts, which nothing bounds: BCa, all of a study from the same resamples of its tasks."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from loopscope.measures.uncertainty import DRAWS, Interval
from loopscope.measures.uncertainty.clustered import strata, task_moments
from loopscope.measures.uncertainty.levels import ENOUGH_FOR_BCA, TaskNumbers
from loopscope.measures.uncertainty.panel import Floats
from loopscope.measures.uncertainty.resampling import bca_interval, jackknife, task_counts


def amount_interval(found: Interval, numbers: TaskNumbers, seed: int) -> Interval:
    """The interval by t as `levels.mean_of` makes it by default: by BCa for enough random tasks; not below 0.

    The resamples are drawn once for all numbers of as many tasks in as many families, not for each anew.
    """
    if found.low is None or found.high is None:
        return found
    if found.reading == "random tasks" and found.n_tasks >= ENOUGH_FOR_BCA:
        there = ~np.isnan(numbers.values)
        values, labels = numbers.values[there], strata([c for c, t in zip(numbers.categories, there, strict=True) if t])
        moments = task_moments(values, labels)
        if moments is not None and moments.se:
            draws = _counts(tuple(labels.tolist()), seed) @ values / len(values)
            low, high = bca_interval(draws, moments, found.level, jackknife(values, labels))
            found = replace(found, low=low, high=high, method="bca")
    return replace(found, low=max(0.0, found.low or 0.0))


@lru_cache(maxsize=16)
def _counts(labels: tuple[int, ...], seed: int) -> Floats:
    return task_counts(np.array(labels), DRAWS, np.random.default_rng(seed))
