"""Cleaning a C2 that others stored, rounded and without its build records (Appendix C.3, last paragraph).

Each checkpoint's score is one of six values, so a rounded mean admits only some pairs (number of checkpoints, their
sum). Listing the pairs gives the cleaned value, and the range over all pairs says how sure it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache
from math import ceil, floor

from loopscope.measures.exact import Number, known
from loopscope.measures.execution import DISCOUNT

ROUND_SCORES = (Fraction(0), *sorted(DISCOUNT))
"""Q: all values that g * d(n) can take."""
REPLAY_TOLERANCE = Fraction(1, 10_000)


class Path(StrEnum):
    """How a stored C2 was cleaned."""

    REPLAY = "replay"
    ENUMERATION = "enumeration"
    NONE = "none"
    """No replay reproduces it and no pair rounds to it: there is no cleaned value."""


@dataclass(frozen=True)
class CleanedC2:
    """A stored C2 after the administrative checkpoints were taken out; the original stays beside it."""

    original: Fraction
    value: Fraction | None
    low: Fraction | None
    high: Fraction | None
    """Sensitivity interval: the range over all compatible pairs; the value itself where a replay was accepted."""
    denominators: tuple[int, ...]
    """Compatible numbers of observable checkpoints, ascending; empty for a replay."""
    path: Path


@cache
def possible_sums(n: int) -> frozenset[int]:
    """All sums of n round scores, in twentieths (every value of Q is a whole number of them)."""
    if n == 0:
        return frozenset({0})
    return frozenset(total + points for total in possible_sums(n - 1) for points in _POINTS)


_POINTS = tuple(int(20 * score) for score in ROUND_SCORES)


def compatible_pairs(stored: Number, observable: int, places: int) -> list[tuple[int, Fraction]]:
    """Pairs (n, sum), n ascending up to `observable`, whose mean rounds to `stored` at `places` decimals.

    Both neighbours of a half are admitted, since the direction in which the stored value was rounded is not known.
    """
    target, half_unit = known(stored), Fraction(1, 2 * 10**places)
    pairs = []
    for n in range(1, observable + 1):
        lowest, highest = ceil(20 * n * (target - half_unit)), floor(20 * n * (target + half_unit))
        sums = possible_sums(n)
        pairs += [(n, Fraction(points, 20)) for points in range(lowest, highest + 1) if points in sums]
    return pairs


def clean_by_enumeration(stored: Number, observable: int, removed: Sequence[Number], places: int) -> CleanedC2:
    """Take `removed` (the round scores of the administrative checkpoints) out of each compatible pair.

    `observable` is the largest number of checkpoints the stored mean can have been taken over. The largest compatible
    number gives the value, since there one checkpoint weighs least; where several sums remain for it, their middle.
    With nothing removed the interval is that of the stored value itself, which is the one for an incomplete run.
    """
    gone = [known(score) for score in removed]
    cleaned: dict[int, list[Fraction]] = {}
    for n, total in compatible_pairs(stored, observable, places):
        left, rest = n - len(gone), total - sum(gone)
        if left >= 1 and 20 * rest in possible_sums(left):
            cleaned.setdefault(n, []).append(rest / left)
    if not cleaned:
        return CleanedC2(known(stored), None, None, None, (), Path.NONE)
    values = [value for of_n in cleaned.values() for value in of_n]
    largest = sorted(cleaned[max(cleaned)])
    return CleanedC2(
        original=known(stored),
        value=(largest[0] + largest[-1]) / 2,
        low=min(values),
        high=max(values),
        denominators=tuple(sorted(cleaned)),
        path=Path.ENUMERATION,
    )


def clean_by_replay(stored: Number, raw: Number, canonical: Number) -> CleanedC2 | None:
    """Accept a transcript replay whose raw C2 reproduces the stored one within 1e-4; None if it does not."""
    if abs(known(raw) - known(stored)) > REPLAY_TOLERANCE:
        return None
    value = known(canonical)
    return CleanedC2(known(stored), value, value, value, (), Path.REPLAY)
