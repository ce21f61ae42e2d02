"""How far measurements of one thing lie apart, and whether a dip is more than that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from statistics import median_high

from loopscope.measures.exact import EPS, Score, exact, observed


@dataclass(frozen=True)
class Confidence:
    """How sure it is that a score fell, from the measurements on both sides."""

    share: Fraction
    """Of the pairs (one measurement before, one after), those that fall by more than eps."""
    pairs: int
    """How many there are; of a single one the share says nothing that the dip itself does not say."""


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


def depth_in_bands(depth: Score, band: Score) -> Fraction | None:
    """How many noise bands deep a dip is; None where no band is known, or nothing ever differed."""
    d, b = exact(depth), exact(band)
    return d / b if d is not None and b else None
