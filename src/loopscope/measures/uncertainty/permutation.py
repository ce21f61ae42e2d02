"""Tests of no difference that assume no distribution: flipped signs over tasks, shuffled labels within them, counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from loopscope.measures.uncertainty.cells import AVG, Estimator, cell_values
from loopscope.measures.uncertainty.distributions import binomial_two_sided
from loopscope.measures.uncertainty.panel import Floats, Ints, observed
from loopscope.measures.uncertainty.resampling import DRAWS

EXACT_UP_TO = 26
"""Tasks up to which all 2^n signs are counted: each pattern is one of 2^13 of the first half with one of the other."""
_HALF = 2 ** (EXACT_UP_TO // 2)
"""Rearrangements of some tasks that are listed together; where two such lists hold all tasks, all are counted."""
_STEP = 10_000
"""Draws that are made at once."""
_PLAIN = 100
"""Of the first `_STEP` draws; where so many are as far from 0, p is above 0.01 and more draws tell nothing."""
_KEPT = 32
"""Drawings that are kept: all pairs of agents with runs on the same tasks take the same."""
_ROUNDING = 1e-9
"""Two statistics within this of each other are equal: sums of the same floats in another order."""


def draws_for(family: int) -> int:
    """How often the tests of so many comparisons are drawn, so that the least corrected p is at most 1/40."""
    return max(DRAWS, 40 * family)


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
    return sign_flips_of(differences[None], draws, seed)[0]


def sign_flips_of(differences: Floats, draws: int, seed: int) -> list[TestResult | None]:
    """`sign_flips` of each row (comparison, task), NaN where a task has none; drawn ones share each draw's signs."""
    there = ~np.isnan(differences)
    zeroed, counts = np.where(there, differences, 0.0), there.sum(axis=1)
    least = [2.0 ** (1 - int(n)) for n in counts]
    found: list[TestResult | None] = [
        None if n == 0 else TestResult(_counted(_sign_halves(row[own])), least[at], True) if n <= EXACT_UP_TO else None
        for at, (row, own, n) in enumerate(zip(zeroed, there, counts, strict=True))
    ]
    many = np.flatnonzero(counts > EXACT_UP_TO)
    for at, p in zip(many, _flipped(zeroed[many], draws, seed), strict=True):
        found[at] = TestResult(p, max(least[at], 1 / (draws + 1)), False)
    return found


def _flipped(values: Floats, draws: int, seed: int) -> list[float]:
    """p of each row by drawn signs; only those that the first draws leave in doubt take all of them."""
    rng, statistics = np.random.default_rng(seed), np.abs(values.sum(axis=1))
    hits, made, doubtful = np.zeros(len(values), dtype=int), np.zeros(len(values), dtype=int), np.arange(len(values))
    for start in range(0, draws if len(values) else 0, _STEP):
        size = min(_STEP, draws - start)
        signs = 1.0 - 2.0 * rng.integers(0, 2, (size, values.shape[1]), dtype=np.int8)
        for part in np.array_split(doubtful, len(doubtful) // _KEPT + 1):
            far = np.abs(signs @ values[part].T) >= statistics[part] - _ROUNDING
            hits[part] += far.sum(axis=0)
        made[doubtful] += size
        doubtful = doubtful[hits[doubtful] < _PLAIN]
        if not doubtful.size:
            break
    return [(int(hit) + 1) / (int(count) + 1) for hit, count in zip(hits, made, strict=True)]


def _sign_halves(values: Floats) -> tuple[Floats, Floats]:
    """Sums of half of the numbers with every sign, and of the other half; the values' own sums first."""
    halves = []
    for part in (values[: len(values) // 2], values[len(values) // 2 :]):
        sums = np.zeros(1)
        for value in part:
            sums = np.concatenate([sums + value, sums - value])
        halves.append(sums)
    return halves[0], halves[1]


def _counted(halves: tuple[Floats, Floats]) -> float:
    """Share of the sums of one of each list that are at least as far from 0 as that of the two first."""
    far = abs(float(halves[0][0] + halves[1][0])) - _ROUNDING
    if far <= 0:
        return 1.0
    one, other = np.sort(halves[0]), np.sort(halves[1])
    hits = len(one) * len(other) - int(np.searchsorted(other, far - one).sum())
    hits += int(np.searchsorted(other, -far - one, side="right").sum())
    return hits / (len(one) * len(other))


def label_shuffles(
    first: Floats, second: Floats, draws: int, seed: int, estimator: Estimator = AVG
) -> TestResult | None:
    """Permutes which model a run was of, within each task: for fixed tasks. None where no task has runs of both.

    `first`, `second`: (task, seed), NaN where missing. The statistic is the mean over tasks of the difference of their
    numbers. All rearrangements are counted where two lists of a few thousand hold them; else they are drawn,
    (hits + 1)/(draws + 1).
    """
    least = estimator.best or 1
    both = (observed(first) >= least) & (observed(second) >= least)
    if not both.any():
        return None
    first, second = first[both], second[both]
    shapes = tuple(zip(observed(first).tolist(), observed(second).tolist(), strict=True))
    fewest = _least(shapes)
    if fewest == 1:
        return TestResult(1.0, 1.0, True)
    pools = [runs[~np.isnan(runs)] for runs in np.concatenate([first, second], axis=1)]
    listed = _listed_apart(pools, shapes, estimator)
    blocks = [_joined([listed[at] for at in block]) for block in _blocks(shapes)]
    long = [at for at in range(len(shapes)) if at not in listed]
    if not long and len(blocks) <= 2:
        return TestResult(_counted((blocks[0], blocks[1] if blocks[1:] else np.zeros(1))), fewest, True)
    statistic = sum(float(block[0]) for block in blocks)
    statistic += sum(float(_apart(pools[at], shapes[at][0], estimator)) for at in long)
    hits = made = 0
    for start in range(0, draws, _STEP):
        size = min(_STEP, draws - start)
        orders = _orders_drawn(shapes, size, seed, start)
        total = np.zeros(size)
        for block, chosen in zip(blocks, orders, strict=False):
            total += block[chosen]
        for at, chosen in zip(long, orders[len(blocks) :], strict=True):
            total += _apart(pools[at][chosen], shapes[at][0], estimator)
        hits, made = hits + _as_far(total, statistic), made + size
        if hits >= _PLAIN:
            break
    return TestResult((hits + 1) / (made + 1), max(fewest, 1 / (draws + 1)), False)


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


def _drawn(sums: Floats, statistic: float) -> float:
    return (_as_far(sums, statistic) + 1) / (len(sums) + 1)


type _Shape = tuple[int, int]
"""Runs of the first and of the second model on a task."""


def _ways(n: int, m: int) -> int:
    return math.comb(n + m, n)


def _least(shapes: Sequence[_Shape]) -> float:
    """One rearrangement alone is as far as the study; so is its mirror image, where both have as many runs of each."""
    ways = math.prod(float(min(_ways(*shape), 10**9)) for shape in shapes)
    return min(1.0, (2 if all(n == m for n, m in shapes) else 1) / ways)


@lru_cache(maxsize=_KEPT)
def _blocks(shapes: tuple[_Shape, ...]) -> tuple[tuple[int, ...], ...]:
    """The tasks whose orders are listed, those together whose orders are at most `_HALF`; large ones first."""
    sizes = {at: _ways(*shape) for at, shape in enumerate(shapes) if _ways(*shape) <= _HALF}
    blocks: list[list[int]] = []
    totals: list[int] = []
    for at in sorted(sizes, key=lambda task: (-sizes[task], task)):
        place = next((i for i, total in enumerate(totals) if total * sizes[at] <= _HALF), None)
        if place is None:
            place = len(blocks)
            blocks.append([])
            totals.append(1)
        blocks[place].append(at)
        totals[place] *= sizes[at]
    return tuple(map(tuple, blocks))


def _joined(parts: Sequence[Floats]) -> Floats:
    """Every sum of one of each part; the first is that of the firsts."""
    sums = np.zeros(1)
    for part in parts:
        sums = (sums[:, None] + part).ravel()
    return sums


def _orders_drawn(shapes: tuple[_Shape, ...], size: int, seed: int, start: int) -> tuple[Ints, ...]:
    """Draws from `start` on: of each block's sums, which, (draw,); of each task with more orders, (draw, run)."""
    if all(_ways(*shape) <= _HALF for shape in shapes):
        return _kept(shapes, size, seed, start)
    return tuple(_draw(shapes, size, seed, start))


@lru_cache(maxsize=_KEPT)
def _kept(shapes: tuple[_Shape, ...], size: int, seed: int, start: int) -> tuple[Ints, ...]:
    return tuple(_draw(shapes, size, seed, start))


def _draw(shapes: tuple[_Shape, ...], size: int, seed: int, start: int) -> Iterator[Ints]:
    rng = np.random.default_rng([seed, start])
    for block in _blocks(shapes):
        yield rng.integers(0, math.prod(_ways(*shapes[at]) for at in block), size)
    for n, m in shapes:
        if _ways(n, m) > _HALF:
            yield np.argsort(rng.random((size, n + m)), axis=1)


@lru_cache(maxsize=64)
def _orders(n: int, m: int) -> Ints:
    """All orders of n + m runs whose first n are the first model's (20 for 3 and 3)."""
    some = combinations(range(n + m), n)
    return np.array([[*firsts, *(i for i in range(n + m) if i not in firsts)] for firsts in some])


def _listed_apart(pools: Sequence[Floats], shapes: Sequence[_Shape], estimator: Estimator) -> dict[int, Floats]:
    """Task -> the difference in each listed order; the tasks of one shape at once."""
    found: dict[int, Floats] = {}
    for shape in set(shapes):
        if _ways(*shape) <= _HALF:
            at = [task for task, own in enumerate(shapes) if own == shape]
            shared = np.stack([pools[task] for task in at])[:, _orders(*shape)]
            found |= zip(at, _apart(shared, shape[0], estimator), strict=True)
    return found


def _apart(shared: Floats, n: int, estimator: Estimator) -> Floats:
    """Number of the first n of the last axis less that of the others."""
    return cell_values(np.sort(shared[..., :n]), estimator) - cell_values(np.sort(shared[..., n:]), estimator)
