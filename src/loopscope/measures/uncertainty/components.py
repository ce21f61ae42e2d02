"""Where the spread of scores comes from: tasks, seeds, and repeated verification of one state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loopscope.measures.uncertainty.clustered import strata
from loopscope.measures.uncertainty.panel import Bools, Floats, Ints


@dataclass(frozen=True)
class Component:
    """One source of variance."""

    variance: float
    """At least 0."""
    low: float | None
    high: float | None
    """95 % of resamples of the tasks; None under `FEW` tasks. They hold no more than a rough idea."""
    df: int
    """What it is estimated from; 0 never occurs: the component is then None."""
    at_zero: bool
    """The estimate was not above 0 and is given as 0: too little to tell it from none."""

    @property
    def sd(self) -> float:
        """On the scale of the score."""
        return math.sqrt(self.variance)


@dataclass(frozen=True)
class Components:
    """score = family + task + seed + verification, each with its own constant variance."""

    task: Component | None
    """Between tasks of a family; None for a single task."""
    seed: Component | None
    """Between seeds of a task; holds the verification's where that is None. None where no task has two seeds."""
    verification: Component | None
    """Between verifications of one state; None where no state was verified twice."""


FEW = 8


@dataclass(frozen=True, eq=False)
class _Sums:
    """Per task: what the expected mean squares are made of."""

    apart: Floats
    """Task mean minus the mean of its family."""
    families: int
    seed_squares: Floats
    seed_df: Ints
    repeat_squares: Floats
    repeat_df: Ints
    repeats_in_seeds: Floats
    """Factor of the verification variance in the seeds' squares."""
    seeds_in_task: Floats
    repeats_in_task: Floats
    """Factors of the two in the squares of `apart`: of a task mean's variance its family's mean leaves 1 - 1/n_c."""


def components(scores: Floats, categories: Sequence[str], draws: int = 2000, seed: int = 0) -> Components:
    """Analysis of variance of nested, unbalanced data by the method of moments on unweighted means (Searle 1992).

    `scores`: (task, seed) or (task, seed, verification) of one model, NaN where missing. Each mean square is set equal
    to its expectation, innermost first; what comes out below 0 is 0 and marked. Limits: one variance for all tasks,
    which bounded scores do not have (near 0 and 1 seeds differ less); a run's score is the mean of its verifications.
    """
    cube = scores if scores.ndim == 3 else scores[:, :, None]
    there = ~np.isnan(cube).all(axis=(1, 2))
    cube, names = cube[there], [c for c, t in zip(categories, there, strict=True) if t]
    if not len(cube):
        return Components(None, None, None)
    sums = _sums(cube, strata(names))
    point = _solve(sums, np.ones((1, len(cube))))
    spread = None
    if len(cube) >= FEW:
        rng = np.random.default_rng(seed)
        spread = _solve(sums, rng.multinomial(len(cube), np.full(len(cube), 1 / len(cube)), size=draws).astype(float))
    dfs = len(cube) - sums.families, int(sums.seed_df.sum()), int(sums.repeat_df.sum())
    return Components(*(_component(point[:, i], None if spread is None else spread[:, i], dfs[i]) for i in range(3)))


def _sums(cube: Floats, labels: Ints) -> _Sums:
    repeats = (~np.isnan(cube)).sum(axis=2)
    runs: Bools = repeats > 0
    run_means = _mean(cube, 2)
    seeds = runs.sum(axis=1)
    task_means = _mean(run_means, 1)
    per_repeat = np.where(runs, 1 / np.maximum(repeats, 1), 0.0).sum(axis=1)
    sizes = np.bincount(labels)
    family, left = np.bincount(labels, task_means) / sizes, 1 - 1 / sizes[labels]
    return _Sums(
        apart=task_means - family[labels],
        families=len(family),
        seed_squares=np.nansum((run_means - task_means[:, None]) ** 2, axis=1),
        seed_df=seeds - 1,
        repeat_squares=np.nansum((cube - run_means[:, :, None]) ** 2, axis=(1, 2)),
        repeat_df=np.where(runs, repeats - 1, 0).sum(axis=1),
        repeats_in_seeds=per_repeat * (1 - 1 / seeds),
        seeds_in_task=left / seeds,
        repeats_in_task=left * per_repeat / seeds**2,
    )


def _solve(sums: _Sums, counts: Floats) -> Floats:
    """(draw, 3) raw components of task, seed, verification; NaN where nothing tells."""
    n = counts.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        repeat = counts @ sums.repeat_squares / (counts @ sums.repeat_df)
        known = np.nan_to_num(repeat)
        seed_df = counts @ sums.seed_df
        seed = (counts @ sums.seed_squares - known * (counts @ sums.repeats_in_seeds)) / seed_df
        squares = counts @ sums.apart**2 - np.maximum(np.nan_to_num(seed), 0) * (counts @ sums.seeds_in_task)
        task = (squares - known * (counts @ sums.repeats_in_task)) / (n - sums.families)
    return np.stack([task, seed, repeat], axis=1)


def _component(raw: Floats, spread: Floats | None, df: int) -> Component | None:
    if df < 1:
        return None
    value, low, high = float(raw[0]), None, None
    if spread is not None and (told := spread[~np.isnan(spread)]).size:
        low, high = (float(max(0.0, q)) for q in np.quantile(told, [0.025, 0.975]))
    return Component(max(0.0, value), low, high, df, value <= 0)


def _mean(values: Floats, axis: int) -> Floats:
    there = ~np.isnan(values)
    count = there.sum(axis=axis)
    total = np.where(there, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
