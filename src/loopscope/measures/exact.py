"""Numbers as they were printed: everything in this room is a `Fraction`, and a missing score is None, never zero.

In binary floats `0.09 < 0.10 - 0.01` is true, and a dip appears that nobody scored. So a float is read by the shortest
decimal that prints it (0.09 is 9/100), and every comparison with `EPS` is made on exact numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational

EPS = Fraction(1, 100)
"""Tolerance for a meaningful change of score (Appendix C.1, C.4, D)."""

type Number = int | float | str | Decimal | Fraction
"""What may be handed in: numbers, decimal strings ("0.09") and fraction strings ("9/100")."""
type Score = Number | None
"""A number, or a missing one (None or NaN)."""

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FRACTION = re.compile(r"([+-]?\d+)\s*/\s*(\d+)", re.ASCII)
_MOST_DIGITS = 400
"""Longer numbers are refused: "1e999999999" is twelve bytes, and its exact value fills the memory."""


def exact(value: Score) -> Fraction | None:
    """The exact value of a number, or None for a missing one (None, NaN).

    Raises ValueError for what is no finite number and TypeError for another type; both say what to write instead.
    """
    if value is None or type(value) is Fraction:
        return value
    if isinstance(value, bool):
        raise TypeError(f"{value} is a truth value, not a number; write 1 or 0")
    if isinstance(value, float):
        # float.__repr__ and not repr(): numpy's float64 is a float that prints as "np.float64(0.09)".
        return None if math.isnan(value) else _from_text(float.__repr__(value))
    if isinstance(value, Decimal):
        if value.is_finite() and abs(value.adjusted()) <= _MOST_DIGITS and len(value.as_tuple().digits) <= _MOST_DIGITS:
            return Fraction(value)
        return None if value.is_nan() else _from_text(str(value))
    if isinstance(value, Rational):
        return Fraction(value)
    if isinstance(value, str):
        return None if value.strip().lower() == "nan" else _from_text(value.strip())
    raise TypeError(f"{value!r} ({type(value).__name__}) is no number; give int, float, Decimal, Fraction or a string")


def _from_text(text: str) -> Fraction:
    if len(text) <= _MOST_DIGITS:
        if _DECIMAL.fullmatch(text):
            number = _decimal(text)
            if number is not None and abs(number.adjusted()) <= _MOST_DIGITS:
                return Fraction(number)
        elif (match := _FRACTION.fullmatch(text)) and int(match[2]):
            return Fraction(int(match[1]), int(match[2]))
    raise ValueError(f"{text[:40]!r} is no finite number of ordinary size; write it as 0.5 or 1/2 (missing: null)")


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond what Decimal itself can hold
        return None


def known(value: Number) -> Fraction:
    """The exact value of a number that must be there; ValueError when it is missing."""
    number = exact(value)
    if number is None:
        raise ValueError("a number is needed here, not a missing one (None, NaN)")
    return number


def exacts(values: Iterable[Score]) -> tuple[Fraction | None, ...]:
    """`exact` of each; positions are kept, so that a missing score keeps its place."""
    return tuple(exact(value) for value in values)


def observed(values: Iterable[Score]) -> list[Fraction]:
    """The exact values that are there, in order."""
    return [number for number in exacts(values) if number is not None]


def mean(values: Iterable[Fraction]) -> Fraction | None:
    """Arithmetic mean; None of nothing."""
    numbers = list(values)
    return sum(numbers, Fraction(0)) / len(numbers) if numbers else None


def clip(value: Fraction) -> Fraction:
    """The value, moved into [0, 1]."""
    return max(Fraction(0), min(Fraction(1), value))
