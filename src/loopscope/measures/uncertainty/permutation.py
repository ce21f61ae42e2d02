"""Tests of no difference that assume no distribution: flipped signs over tasks, shuffled labels within them, counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from loopscope.measures.uncertainty.cells import AVG, Estimator, cell_values
from loopscope.measures.uncertainty.distributions import binomial_two_sided
from loopscope.measures.uncertainty.panel import Floats, Ints, observed

EXACT_UP_TO = 14
"""Tasks up to which all 2^n signs are listed (16,384); beyond, drawn."""
_LISTED = 1000
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
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return TestResult(_share_as_far(signs @ values, float(values.sum())), least, True)
    rng = np.random.default_rng(seed)
    sums = (1.0 - 2.0 * rng.integers(0, 2, (draws, n), dtype=np.int8)) @ values
    return TestResult(_drawn(sums, float(values.sum())), max(least, 1 / (draws + 1)), False)


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
    rng = np.random.default_rng(seed)
    total, statistic, ways = np.zeros(draws), 0.0, 1.0
    for one, other in zip(first[both], second[both], strict=True):
        one, other = one[~np.isnan(one)], other[~np.isnan(other)]
        pool, n = np.concatenate([one, other]), len(one)
        ways *= min(math.comb(len(pool), n), 10**9)
        shares, picked = _ways_to_share(len(pool), n, draws, rng)
        total += _apart(pool[shares], n, estimator)[picked]
        statistic += float(_apart(pool[None], n, estimator)[0])
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


def _ways_to_share(size: int, n: int, draws: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Orders of the pool whose first n are the first model's, and which of them each draw takes.

    Where there are few (20 for 3 of 6) they are listed once and drawn from.
    """
    if math.comb(size, n) > _LISTED:
        return np.argsort(rng.random((draws, size)), axis=1), np.arange(draws)
    orders = np.array([[*some, *(i for i in range(size) if i not in some)] for some in combinations(range(size), n)])
    return orders, rng.integers(0, len(orders), draws)


def _apart(shared: Floats, n: int, estimator: Estimator) -> Floats:
    """Number of the first n less that of the others, row by row."""
    return cell_values(np.sort(shared[:, :n]), estimator) - cell_values(np.sort(shared[:, n:]), estimator)
