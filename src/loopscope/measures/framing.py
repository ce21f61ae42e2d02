"""C1, Solution Framing: how high and how early the best solution was found (Appendix C.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from loopscope.measures.exact import Number, Score, exacts, known
from loopscope.measures.flags import Flag, range_flags
from loopscope.measures.highwater import high_water

HORIZON = 20
"""H: positions of the canonical trajectory that count."""


@dataclass(frozen=True)
class C1:
    """C1 of one run, with what it was made of."""

    value: Fraction | None
    """In [0, 1]; None (unscored) without any checkpoint."""
    early: Fraction | None
    """Mean high-water mark over positions 1-5."""
    middle: Fraction | None
    """... over 6-10."""
    late: Fraction | None
    """... over 11-20."""
    high_water: tuple[Fraction, ...]
    """One mark per checkpoint, also beyond the horizon."""
    flags: tuple[Flag, ...] = ()


def c1(scores: Iterable[Score]) -> C1:
    """C1 of canonical checkpoint scores x_1..x_T, the initial commit included at its observed position.

    Equal weight on the means of h over positions 1-5, 6-10 and 11-20; a shorter run carries its last mark forward.
    """
    x = exacts(scores)
    if not x:
        return C1(value=None, early=None, middle=None, late=None, high_water=())
    marks = high_water(x)
    h = carried_forward(marks)
    early, middle, late = sum(h[0:5]) / Fraction(5), sum(h[5:10]) / Fraction(5), sum(h[10:20]) / Fraction(10)
    return C1(
        value=(early + middle + late) / 3, early=early, middle=middle, late=late, high_water=marks, flags=_flags(x)
    )


def carried_forward(marks: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Exactly `HORIZON` marks: the first 20, or all of them and then the last again and again."""
    return (marks + marks[-1:] * HORIZON)[:HORIZON]


def _flags(x: tuple[Fraction | None, ...]) -> tuple[Flag, ...]:
    flags = range_flags(x)
    if len(x) > HORIZON:
        flags += (Flag.CUT_AT_HORIZON,)
    if all(score is None for score in x[:HORIZON]):
        flags += (Flag.NO_OBSERVED_SCORE,)
    return flags


def c1_from_stored(stored: Number, raw: Iterable[Score], canonical: Iterable[Score]) -> Fraction | None:
    """A C1 that others stored, rounded, cleaned of removed checkpoints: stored + (C1(canonical) - C1(raw)).

    Only the exact difference is applied, so that their rounding is not taken for an effect of the cleaning
    (Appendix C.2, last paragraph). None when either trajectory has no checkpoint.
    """
    before, after = c1(raw).value, c1(canonical).value
    return None if before is None or after is None else known(stored) + (after - before)
