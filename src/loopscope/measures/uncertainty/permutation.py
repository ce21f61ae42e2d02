"""Tests of no difference that assume no distribution: flipped signs over tasks, shuffled labels within them, counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from loopscope.measures.uncertainty.cells import AVG, Estimator, cell_values
from loopscope.measures.uncertainty.distributions import binomial_two_sided
from loopscope.measures.uncertainty.panel import Floats, Ints, observed

EXACT_UP_TO = 14
"""Tasks up to which all 2^n signs are listed (16,384); beyond, drawn."""
_LISTED = 1000
_KEPT = 4
"""Drawings that are kept: all pairs of agents with runs on the same tasks take the same."""
_ROUNDING = 1e-9
"""Two statistics within this of each other are equal: sums of the same floats in another order."""


@dataclass(frozen=True)
class TestResult:
    """A two-sided p, and the least that these data could have given."""

    __test__ = False  # no test case, whatever its name says to pytest

    p: float
    least: float
    """However large the difference, p cannot be less: with four tasks 1/8."""
    exact: bool
    """All rearrangements were listed, or it is a closed formula; else they were drawn."""


@dataclass(frozen=True)
class Signs:
    """How many tasks are won, tied and lost, and the sign test of it."""

    positive: int
    tie: int
    negative: int
    test: TestResult | None
    """Ties leave the test, as they say nothing of a direction (Dixon and Mood 1946); None where all are ties."""


def sign_flips(differences: Floats, draws: int, seed: int) -> TestResult | None:
    """Fisher's randomisation test (1935) of the mean of one difference per task; None without a task.

    Under no difference each task's sign is a coin's. p is the share of sign patterns with a mean at least as far from
    0; where they are drawn, (hits + 1)/(draws + 1) (Phipson and Smyth 2010). Holds for random tasks.
    """
    values = differences[~np.isnan(differences)]
    n = len(values)
    if n == 0:
        return None
    least = 2.0 ** (1 - n)
    if n <= EXACT_UP_TO:
        return TestResult(_share_as_far(_all_signs(n) @ values, float(values.sum())), least, True)
    sums = _drawn_signs(n, draws, seed) @ values
    return TestResult(_drawn(sums, float(values.sum())), max(least, 1 / (draws + 1)), False)


@lru_cache(maxsize=_KEPT)
def _all_signs(n: int) -> Floats:
    return np.asarray(1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1))


@lru_cache(maxsize=_KEPT)
def _drawn_signs(n: int, draws: int, seed: int) -> Floats:
    return np.asarray(1.0 - 2.0 * np.random.default_rng(seed).integers(0, 2, (draws, n), dtype=np.int8))


def label_shuffles(
    first: Floats, second: Floats, draws: int, seed: int, estimator: Estimator = AVG
) -> TestResult | None:
    """Permutes which model a run was of, within each task: for fixed tasks. None where no task has runs of both.

    `first`, `second`: (task, seed), NaN where missing. The statistic is the mean over tasks of the difference of their
    numbers. Drawn, (hits + 1)/(draws + 1).
    """
    least = estimator.best or 1
    both = (observed(first) >= least) & (observed(second) >= least)
    if not both.any():
        return None
    first, second = first[both], second[both]
    shapes = tuple(zip(observed(first).tolist(), observed(second).tolist(), strict=True))
    pools = [runs[~np.isnan(runs)] for runs in np.concatenate([first, second], axis=1)]
    listed = _listed_apart(pools, shapes, estimator)
    total, statistic = np.zeros(draws), 0.0
    for at, (pool, shape, shared) in enumerate(zip(pools, shapes, _shared(shapes, draws, seed), strict=True)):
        if at in listed:  # the first of the listed orders is that of the study
            total += listed[at][shared]
            statistic += float(listed[at][0])
        else:
            total += _apart(pool[shared], shape[0], estimator)
            statistic += float(_apart(pool, shape[0], estimator))
    ways = math.prod(float(min(_ways(*shape), 10**9)) for shape in shapes)
    return TestResult(_drawn(total, statistic), max(2 / ways, 1 / (draws + 1)), False)


def pair_flips(first: Floats, second: Floats, draws: int, seed: int, estimator: Estimator = AVG) -> TestResult | None:
    """Swaps the two runs of a pair, for fixed tasks whose runs are paired by seed. None where no task has a pair.

    `first`, `second`: (task, seed); a pair with a missing side is left out. Drawn, (hits + 1)/(draws + 1).
    """
    paired = ~np.isnan(first) & ~np.isnan(second)
    enough = paired.sum(axis=1) >= (estimator.best or 1)
    if not enough.any():
        return None
    rng = np.random.default_rng(seed)
    total, statistic, pairs = np.zeros(draws), 0.0, 0
    for one, other, there in zip(first[enough], second[enough], paired[enough], strict=True):
        both = np.stack([one[there], other[there]], axis=1)
        swapped = rng.integers(0, 2, (draws, len(both)), dtype=np.int8)[:, :, None] ^ np.array([0, 1], dtype=np.int8)
        drawn = np.take_along_axis(np.broadcast_to(both, (draws, *both.shape)), swapped.astype(np.intp), axis=2)
        total += _apart(np.concatenate([drawn[:, :, 0], drawn[:, :, 1]], axis=1), len(both), estimator)
        statistic += float(_apart(np.concatenate([both[:, 0], both[:, 1]])[None], len(both), estimator)[0])
        pairs += len(both)
    return TestResult(_drawn(total, statistic), max(2.0 ** (1 - pairs), 1 / (draws + 1)), False)


def sign_test(differences: Floats, tie: float = 0.0) -> Signs:
    """Tasks with a difference above `tie`, within it, and below; exact binomial test of the first against the last."""
    values = differences[~np.isnan(differences)]
    positive = int((values > tie + _ROUNDING).sum())
    negative = int((values < -tie - _ROUNDING).sum())
    told = positive + negative
    test = TestResult(binomial_two_sided(positive, told), binomial_two_sided(0, told), True) if told else None
    return Signs(positive, len(values) - told, negative, test)


def _as_far(sums: Floats, statistic: float) -> int:
    return int((np.abs(sums) >= abs(statistic) - _ROUNDING).sum())


def _share_as_far(sums: Floats, statistic: float) -> float:
    return _as_far(sums, statistic) / len(sums)


def _drawn(sums: Floats, statistic: float) -> float:
    return (_as_far(sums, statistic) + 1) / (len(sums) + 1)


type _Shape = tuple[int, int]
"""Runs of the first and of the second model on a task."""


def _ways(n: int, m: int) -> int:
    return math.comb(n + m, n)


def _shared(shapes: tuple[_Shape, ...], draws: int, seed: int) -> Iterable[Ints]:
    """What each draw makes of each task: which of the listed orders, (draw,); where they are many, (draw, run)."""
    if all(_ways(*shape) <= _LISTED for shape in shapes):
        return _kept(shapes, draws, seed)
    return _draw(shapes, draws, seed)


@lru_cache(maxsize=_KEPT)
def _kept(shapes: tuple[_Shape, ...], draws: int, seed: int) -> tuple[Ints, ...]:
    return tuple(_draw(shapes, draws, seed))


def _draw(shapes: Iterable[_Shape], draws: int, seed: int) -> Iterator[Ints]:
    rng = np.random.default_rng(seed)
    for n, m in shapes:
        if _ways(n, m) <= _LISTED:
            yield rng.integers(0, _ways(n, m), draws)
        else:
            yield np.argsort(rng.random((draws, n + m)), axis=1)


@lru_cache(maxsize=64)
def _orders(n: int, m: int) -> Ints:
    """All orders of n + m runs whose first n are the first model's (20 for 3 and 3)."""
    some = combinations(range(n + m), n)
    return np.array([[*firsts, *(i for i in range(n + m) if i not in firsts)] for firsts in some])


def _listed_apart(pools: Sequence[Floats], shapes: Sequence[_Shape], estimator: Estimator) -> dict[int, Floats]:
    """Task -> the difference in each listed order; the tasks of one shape at once."""
    found: dict[int, Floats] = {}
    for shape in set(shapes):
        if _ways(*shape) <= _LISTED:
            at = [task for task, own in enumerate(shapes) if own == shape]
            shared = np.stack([pools[task] for task in at])[:, _orders(*shape)]
            found |= zip(at, _apart(shared, shape[0], estimator), strict=True)
    return found


def _apart(shared: Floats, n: int, estimator: Estimator) -> Floats:
    """Number of the first n of the last axis less that of the others."""
    return cell_values(np.sort(shared[..., :n]), estimator) - cell_values(np.sort(shared[..., n:]), estimator)
