"""How far measurements of one thing lie apart, and whether a dip is more than that. Every run needs it: no numpy."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from statistics import median_high
from typing import Literal

from loopscope.measures.exact import EPS, Score, exact, observed


@dataclass(frozen=True)
class Confidence:
    """How sure it is that a score fell, from the measurements on both sides."""

    share: Fraction
    """Of the pairs (one measurement before, one after), those that fall by more than eps."""
    pairs: int
    """How many there are; of a single one the share says nothing that the dip itself does not say."""


@dataclass(frozen=True)
class DipConfidence:
    """The chance that one more measurement of each side would show the dip again."""

    value: float
    method: Literal["pairs", "pooled noise"]
    """`pairs`: the share of pairs of measurements that show it (`dip_confidence`). `pooled noise`: a side was
    measured once, and the noise of other states stands in."""
    pairs: int


def noise_band(groups: Iterable[Iterable[Score]]) -> Fraction | None:
    """Median of the spreads (maximum - minimum) within groups; None where no group has two measurements.

    A group is the measurements of one state. Of an even number of spreads the larger middle one counts. One state whose
    measurements were disturbed does not widen the band of all others, as it would if the largest spread counted.
    """
    spreads = [max(values) - min(values) for group in groups if len(values := observed(group)) > 1]
    return median_high(spreads) if spreads else None


def dip_confidence(before: Iterable[Score], after: Iterable[Score]) -> Confidence | None:
    """Share of the pairs of measurements that show the dip: |{(u, v): v < u - eps}| / (|before| |after|).

    `before` holds all measurements of the checkpoint before the dip, `after` those of its first fallen one. None
    where a side has none.
    """
    u, v = observed(before), observed(after)
    pairs = len(u) * len(v)
    if not pairs:
        return None
    return Confidence(Fraction(sum(low < high - EPS for high in u for low in v), pairs), pairs)


def pooled_sd(groups: Iterable[Iterable[Score]]) -> float | None:
    """Standard deviation of one measurement, a group being those of one state; None where none has two.

    sqrt(sum of squares within groups / degrees of freedom), exact up to the root.
    """
    squares, df = Fraction(0), 0
    for group in groups:
        values = observed(group)
        if len(values) > 1:
            centre = sum(values, Fraction(0)) / len(values)
            squares += sum(((value - centre) ** 2 for value in values), Fraction(0))
            df += len(values) - 1
    return math.sqrt(squares / df) if df else None


def confidence_of_dip(before: Iterable[Score], after: Iterable[Score], sd: float | None = None) -> DipConfidence | None:
    """How sure a dip is, from the measurements of its two checkpoints and the noise `sd` of one measurement.

    With two or more on each side the share of pairs (u, v) with v < u - eps. Else, the difference of two measurements
    being normal with sd * sqrt(2): Phi((mean u - mean v - eps) / (sd sqrt 2)). None where a side has none, or where a
    side has one and no noise is known: a single pair shows the dip, and nothing about it. ValueError for sd < 0.
    """
    u, v = observed(before), observed(after)
    if sd is not None and not 0 <= sd < math.inf:
        raise ValueError(f"a standard deviation is a finite number from 0 on, not {sd}")
    found = dip_confidence(u, v)
    if found is None:
        return None
    if min(len(u), len(v)) > 1:
        return DipConfidence(float(found.share), "pairs", found.pairs)
    if sd is None:
        return None
    margin = sum(u) / len(u) - sum(v) / len(v) - EPS
    chance = 0.5 * math.erfc(-float(margin) / (sd * 2**0.5) / math.sqrt(2)) if sd else float(margin > 0)
    return DipConfidence(chance, "pooled noise", found.pairs)


def depth_in_bands(depth: Score, band: Score) -> Fraction | None:
    """How many noise bands deep a dip is; None where no band is known, or nothing ever differed."""
    d, b = exact(depth), exact(band)
    return d / b if d is not None and b else None
