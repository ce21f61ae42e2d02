"""One number per (model, task) from its rollouts, and how far it would move with other seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Protocol

import numpy as np

from loopscope.measures.uncertainty.panel import Floats, Ints, observed

_EXACT_UP_TO = 7
"""Rollouts up to which all bootstrap samples of a cell are listed (1,716 for 7); beyond, `_SAMPLED` seeded ones."""
_SAMPLED = 2000


@dataclass(frozen=True)
class Estimator:
    """What a cell is reduced to: avg@k (`best` is None), or best@`best`."""

    best: int | None = None

    def __post_init__(self) -> None:
        if self.best is not None and self.best < 1:
            raise ValueError(f"best@k needs k >= 1, not {self.best}")

    def __str__(self) -> str:
        return "avg" if self.best is None else f"best@{self.best}"


AVG = Estimator()


@lru_cache(maxsize=256)
def weights(n: int, k: int | None) -> tuple[float, ...]:
    """Weights of n scores in ascending order: 1/n each for the mean, C(i-1, k-1) / C(n, k) for best@k.

    The i-th smallest is the largest of a random subset of k in C(i-1, k-1) of the C(n, k) subsets; their average is the
    unbiased estimate of E max of k, and unique as such (a U-statistic; pass@k of Chen et al. 2021 is its 0/1 case).
    ValueError when k > n: nothing unbiased exists.
    """
    if k is None:
        return (1 / n,) * n
    if k > n:
        raise ValueError(f"best@{k} cannot be estimated from {n} rollouts")
    return tuple(math.comb(i, k - 1) / math.comb(n, k) for i in range(n))


def cell_values(scores: Floats, estimator: Estimator) -> Floats:
    """The cells' values over the last axis of rollouts in ascending order with NaN behind.

    NaN for a cell without a score, and for best@k of a cell with fewer than k.
    """
    return _over_counts(scores, estimator, lambda part, w: part @ w)


def seed_variance(scores: Floats, estimator: Estimator) -> Floats:
    """Estimated variance of each cell's value over seeds; NaN where fewer than two rollouts say nothing of it.

    The mean: s^2 / n. best@k: its variance over all bootstrap samples of the cell (Efron 1979, method 1: exact), times
    n/(n-1). That makes it unbiased for k = 1, and nearly so for others unless most runs stand at the upper bound, where
    it errs on the wide side (docs/statistics.md).
    """
    if estimator.best is None:
        n = observed(scores)
        mean = np.nansum(scores, axis=-1) / np.maximum(n, 1)
        squares = np.nansum((scores - mean[..., None]) ** 2, axis=-1)
        return np.where(n > 1, squares / np.maximum(n * (n - 1), 1), np.nan)

    def spread(part: Floats, w: Floats) -> Floats:
        if part.shape[-1] < 2:
            return np.full(part.shape[:-1], np.nan)
        indices, chance = bootstrap_samples(part.shape[-1])
        values = np.einsum("...bi,i->...b", part[..., indices], w)
        centre = values @ chance
        n = part.shape[-1]
        return np.asarray(((values - centre[..., None]) ** 2) @ chance * (n / (n - 1)))

    return _over_counts(scores, estimator, spread)


def _over_counts(scores: Floats, estimator: Estimator, f: _CellFunction) -> Floats:
    """Apply f to the cells of each number of rollouts at once."""
    n = observed(scores)
    result = np.full(n.shape, np.nan)
    for count in np.unique(n):
        if count >= (estimator.best or 1):
            at = n == count
            result[at] = f(scores[at][:, :count], np.array(weights(int(count), estimator.best)))
    return result


class _CellFunction(Protocol):
    """(cells, rollouts ascending), weights -> one number per cell."""

    def __call__(self, part: Floats, w: Floats, /) -> Floats: ...


@lru_cache(maxsize=16)
def bootstrap_samples(n: int) -> tuple[Ints, Floats]:
    """Samples of n from n in ascending order as indices, with their probabilities."""
    if n > _EXACT_UP_TO:
        drawn = np.sort(np.random.default_rng(n).integers(0, n, (_SAMPLED, n)), axis=1)
        return drawn, np.full(_SAMPLED, 1 / _SAMPLED)
    rows = np.array(list(combinations_with_replacement(range(n), n)))
    ways = [math.factorial(n) / math.prod(math.factorial(int(c)) for c in np.bincount(row)) for row in rows]
    return rows, np.array(ways) / n**n
