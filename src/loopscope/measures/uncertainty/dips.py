"""Dips that noise alone would make; how sure one dip is says `loopscope.measures.noise`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from loopscope.measures.exact import EPS, Score, observed
from loopscope.measures.uncertainty.panel import Bools, Floats

_EPS = float(EPS)
_ROUNDING = 1e-9
"""A drop of exactly eps, made of floats, is none."""


@dataclass(frozen=True)
class NoiseDips:
    """The dips of a run beside those of a run that never truly falls, measured as noisily."""

    dips: int
    expected: float
    """Mean number of dips of the run that never falls."""
    share: float | None
    """expected / dips, at most 1: that share of the dips noise alone would make. None without a dip."""
    chance: float
    """Probability that noise alone makes as many dips or more; a p value for "it truly fell at least once"."""


def noise_dips(scores: Iterable[Score], sd: float, draws: int = 2000, seed: int = 0) -> NoiseDips:
    """Compare a run's dips with those of the nearest course that never falls, measured with noise `sd`.

    The course is the isotonic regression of the scores (Barlow et al. 1972): flat where the run fell, so that noise has
    every chance; the expectation errs on the high side. Noise is normal and independent; each draw's dips are counted
    as the run's are: a drop of more than eps, directly following drops being one dip. Missing scores are left out.
    ValueError for sd < 0.
    """
    if not 0 <= sd < np.inf:
        raise ValueError(f"a standard deviation is a finite number from 0 on, not {sd}")
    values = np.array([float(value) for value in observed(scores)])
    if len(values) < 2:
        return NoiseDips(0, 0.0, None, 1.0)
    dips = int(dip_starts(values[None]).sum())
    noise = np.random.default_rng(seed).standard_normal((draws, len(values))) * sd
    made = dip_starts(never_falling(values) + noise).sum(axis=1)
    expected = float(made.mean())
    chance = (int((made >= dips).sum()) + 1) / (draws + 1)
    return NoiseDips(dips, expected, min(1.0, expected / dips) if dips else None, chance)


def dip_starts(scores: Floats) -> Bools:
    """(run, transition): where a dip starts."""
    drops = np.diff(scores, axis=1) < -_EPS - _ROUNDING
    drops[:, 1:] &= ~drops[:, :-1].copy()
    return drops


def never_falling(values: Floats) -> Floats:
    """Isotonic regression: the least-squares course that never falls, by pooling adjacent violators."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        total, count = float(value), 1
        while blocks and blocks[-1][0] * count >= total * blocks[-1][1]:
            before = blocks.pop()
            total, count = total + before[0], count + before[1]
        blocks.append((total, count))
    return np.concatenate([np.full(count, total / count) for total, count in blocks])
