"""How well a variance is known, and how far an error made of it may be off."""

from __future__ import annotations

import numpy as np

from loopscope.measures.uncertainty.distributions import chi_squared_quantile
from loopscope.measures.uncertainty.panel import Floats, Ints

FEW_KNOWN = 3
"""Degrees of freedom below which no interval is made of a variance."""
NOTHING = 1e-24
"""A variance that floats of equal scores leave."""


def known_by_tasks(values: Floats, labels: Ints) -> float | None:
    """Degrees of freedom of the variance of the tasks' numbers within families, fewer where their tails are long.

    Var(s^2) = sigma^4 (2/df + kurtosis/n) (Cramer 1946, 27.4), the excess kurtosis that of these tasks, at least 0.
    """
    n, df = len(values), len(values) - int(labels.max()) - 1
    centred = values - (np.bincount(labels, values) / np.bincount(labels))[labels]
    square = float((centred**2).mean())
    if df < 1 or square < NOTHING:
        return None
    kurtosis = max(0.0, float((centred**4).mean()) / square**2 - 3)
    return 2 / (2 / df + kurtosis / n)


def known_by_seeds(variances: Floats, df: Ints) -> float | None:
    """Degrees of freedom of the mean of the tasks' seed variances (Satterthwaite 1946)."""
    told = df > 0
    parts = variances[told]
    if not parts.size or parts.sum() < NOTHING:
        return None
    return float(parts.sum() ** 2 / (parts**2 / df[told]).sum())


def factors(known: float, level: float) -> tuple[float, float] | None:
    """By which factors an error may be smaller and larger than told, made of a variance of so many degrees of freedom.

    df s^2 / sigma^2 is taken for chi-squared with them. None for fewer than `FEW_KNOWN`: next to nothing is known then.
    """
    if known < FEW_KNOWN:
        return None
    ends = ((1 + level) / 2, (1 - level) / 2)
    low, high = ((known / chi_squared_quantile(q, known)) ** 0.5 for q in ends)
    return low, high
