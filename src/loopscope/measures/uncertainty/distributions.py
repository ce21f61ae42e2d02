"""Student's t, the normal and the binomial: the few lines of them that are needed, without scipy's second of start."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_TINY = 1e-300
_STEPS = 300
_NEWTON = 12
NORMAL_FROM = 1e6
"""Degrees of freedom from which t is the normal: the quantiles then differ by less than 1e-5."""


def normal_cdf(z: float) -> float:
    """P(Z <= z) of a standard normal."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_quantile(p: float) -> float:
    """The z with P(Z <= z) = p; ValueError unless 0 < p < 1."""
    if not 0 < p < 1:
        raise ValueError(f"a quantile needs a probability between 0 and 1, not {p}")
    return _NORMAL.inv_cdf(p)


def t_cdf(t: float, df: float) -> float:
    """P(T <= t) of Student's t with `df` > 0 degrees of freedom, fractions allowed (Abramowitz and Stegun 26.7.1)."""
    _check_df(df)
    if df >= NORMAL_FROM:
        return normal_cdf(t)
    tail = 0.5 * _incomplete_beta(df / (df + t * t), df / 2, 0.5)
    return 1 - tail if t > 0 else tail


def _check_df(df: float) -> None:
    if not df > 0:
        raise ValueError(f"Student's t needs degrees of freedom above 0, not {df}")


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p, by bisection to 1e-12; ValueError unless 0 < p < 1 and df > 0."""
    if not 0 < p < 1:
        raise ValueError(f"a quantile needs a probability between 0 and 1, not {p}")
    _check_df(df)
    if p < 0.5:
        return -t_quantile(1 - p, df)
    sure_low, sure_high = _close(p, df)

    def below(t: float) -> bool:
        return t < sure_low or (t <= sure_high and t_cdf(t, df) < p)

    high = 1.0
    while below(high):
        high *= 2
    low = 0.0
    while high - low > 1e-12 * max(1.0, high):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2


def _close(p: float, df: float) -> tuple[float, float]:
    """Two t near each other with the quantile between them, so that bisection need not look elsewhere; p >= 1/2.

    Newton's steps from the first terms of Cornish and Fisher's series. Where they do not get there: 0 and infinity.
    """
    z = normal_quantile(p)
    t = z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df * df)
    for _ in range(_NEWTON):
        step = (p - t_cdf(t, df)) / _t_density(t, df)
        t += step
        if abs(step) < 1e-7 * max(1.0, t):  # the next error is of this one's square
            break
    low, high = t - 4e-12 * max(1.0, t), t + 4e-12 * max(1.0, t)
    return (low, high) if t_cdf(low, df) < p <= t_cdf(high, df) else (0.0, math.inf)


def _t_density(t: float, df: float) -> float:
    if df >= NORMAL_FROM:
        return math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    return math.exp(scale - (df + 1) / 2 * math.log1p(t * t / df))


def binomial_two_sided(successes: int, trials: int) -> float:
    """Exact two-sided p of a fair coin: twice the smaller tail, at most 1."""
    fewer = min(successes, trials - successes)
    tail = sum(math.comb(trials, i) for i in range(fewer + 1))
    return min(1.0, float(2 * tail / 2**trials))


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularised I_x(a, b): the continued fraction of DLMF 8.17.22, on the side where it converges fast."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    return front * _lentz(x, a, b) / a


def _lentz(x: float, a: float, b: float) -> float:
    """The fraction itself, by Lentz's method; it has converged long before the steps run out."""
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if not -_TINY <= d <= _TINY else _TINY)
    value = d
    for m in range(1, _STEPS):
        e = a + 2 * m
        for step in (m * (b - m) * x / ((e - 1) * e), -(a + m) * (a + b + m) * x / (e * (e + 1))):
            d, c = 1 + step * d, 1 + step / c
            d = 1 / (d if not -_TINY <= d <= _TINY else _TINY)
            c = c if not -_TINY <= c <= _TINY else _TINY
            value *= d * c
        if -1e-15 < d * c - 1 < 1e-15:
            break
    return value


def chi_squared_quantile(p: float, df: float) -> float:
    """Of the chi-squared distribution, by Wilson and Hilferty (1931): from 3 degrees of freedom on within a fifth."""
    part = 2 / (9 * df)
    return df * max(0.0, 1 - part + normal_quantile(p) * math.sqrt(part)) ** 3
