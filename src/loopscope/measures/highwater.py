"""The high-water mark: the best score so far, which later failures do not erase (Appendix C.2)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from loopscope.measures.exact import Score, exacts


def high_water(scores: Iterable[Score]) -> tuple[Fraction, ...]:
    """h_1..h_T with h_0 = 0 and h_i = max(h_{i-1}, x_i); a missing score keeps its position and the mark before it."""
    marks: list[Fraction] = []
    mark = Fraction(0)
    for score in exacts(scores):
        if score is not None:
            mark = max(mark, score)
        marks.append(mark)
    return tuple(marks)
