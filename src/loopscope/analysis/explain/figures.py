"""Numbers as an explanation prints them: exact, and in terms that can be worked out again by hand.

Terms are arithmetic: numbers (`0.85`, `56/75`), `+ - * /`, brackets, and the functions in `FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import groupby

from loopscope.analysis.explain.told import Step
from loopscope.analysis.quantities import number

type Figure = Fraction | Decimal | int
"""A number that is known exactly."""

FUNCTIONS = {
    "max": "the largest",
    "min": "the smallest",
    "median": "the middle one, of an even number the lower of the two in the middle",
    "median_high": "the same, but of an even number the higher one",
    "ln": "the natural logarithm",
    "round": "rounded to so many decimals, halves to the even digit",
}
"""What terms may call, besides arithmetic, with its meaning."""


def exactly(value: Figure) -> str:
    """A decimal where one ends (`0.85`), else a fraction (`56/75`)."""
    number = Fraction(value)
    rest, twos, fives = number.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{number.numerator}/{number.denominator}"
    places = max(twos, fives)
    digits = number.numerator * (10**places // number.denominator)
    return str(Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -places)))


def term(value: Figure) -> str:
    """The same as a part of a longer term: in brackets where it would bind otherwise."""
    text = exactly(value)
    return f"({text})" if "/" in text or text.startswith("-") else text


def total(values: Iterable[Figure]) -> str:
    """A sum; equal neighbours are written once, with how many they are: `0 + 4 * 0.8`."""
    parts = []
    for value, group in groupby(Fraction(value) for value in values):
        count = len(list(group))
        parts.append(term(value) if count == 1 else f"{count} * {term(value)}")
    return " + ".join(parts)


def mean_of(values: Sequence[Figure]) -> str | None:
    """A mean: `(0 + 4 * 0.8) / 5`; None of nothing."""
    summed = total(values)
    return (f"({summed})" if "+" in summed else summed) + f" / {len(values)}" if values else None


def call(name: str, values: Iterable[Figure]) -> str:
    """A function of numbers: `median(0.4, 0.5, 0.5)`."""
    return f"{name}({', '.join(map(exactly, values))})"


def clipped(terms: str, low: Figure = 0, high: Figure = 1) -> str:
    """Terms, moved into [low, high]."""
    return f"max({exactly(low)}, min({exactly(high)}, {terms}))"


def step(
    name: str,
    value: Figure | float | None,
    formula: str = "",
    terms: str | None = None,
    *,
    note: str = "",
    table: str | None = None,
) -> Step:
    """One number. Terms without a value are dropped, for there is nothing that they give."""
    return Step(
        name=name,
        table=table,
        value=value if isinstance(value, bool) else number(value),
        exact=None if value is None or isinstance(value, bool | float) else exactly(value),
        formula=formula,
        terms=None if value is None else terms,
        note=note,
    )
