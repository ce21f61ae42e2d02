"""Numeric literals: read, change, and write back in the style they were written in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

NUMBER = re.compile(
    r"(?<![\w.])(0[xX][0-9a-fA-F_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][-+]?\d+)?)([uUlLfFjJ]*)(?![\w.])"
)
_LARGEST = 1 << 40


@dataclass(frozen=True)
class Literal:
    """A number in a source file."""

    value: int | float
    suffix: str
    """Type suffix of C, as written."""
    base: int = 10

    def write(self, value: int | float) -> str:
        """Another value in the same style: type, base and suffix kept."""
        if isinstance(self.value, int):
            number = round(value)
            return (hex(number) if self.base == 16 else str(number)) + self.suffix
        text = f"{float(value):.6g}"
        return (text if any(c in text for c in ".en") else f"{text}.0") + self.suffix


def read_literal(text: str) -> Literal | None:
    """The literal that this text is; None for complex, binary and unreadable ones."""
    match = NUMBER.fullmatch(text.strip())
    if not match or "j" in match[2].lower():
        return None
    digits = match[1].replace("_", "")
    if digits[:2].lower() == "0b":
        return None
    if digits[:2].lower() == "0x":
        # f is a digit here, never a suffix: the expression is greedy.
        return Literal(int(digits, 16), match[2], 16)
    if digits.isdigit() and "f" not in match[2].lower():
        octal = len(digits) > 1 and digits[0] == "0"
        return None if octal else Literal(int(digits), match[2])
    return Literal(float(digits), match[2])


@dataclass(frozen=True)
class Step:
    """One way to change a value."""

    operator: str
    value: int | float
    scale: float
    """Relative to the chance of the boldest step."""
    onward: str | None = None
    """Operator that goes further the same way."""
    opposite: str | None = None
    """Operator that goes the other way."""


def steps(literal: Literal) -> Iterator[Step]:
    """Ways to change a number, the larger first. Integers stay integers; signs and types are kept."""
    value = literal.value
    if isinstance(value, int):
        yield from _integer_steps(value)
    else:
        yield from _float_steps(value)


def _integer_steps(value: int) -> Iterator[Step]:
    if value == 0:
        # A zero may switch something off, and says nothing of its scale: the steps are far apart.
        yield from (Step(f"0 to {big}", big, scale, "x4", "/4") for big, scale in ((1, 0.7), (8, 0.7), (1000, 1.0)))
        return
    if value == 1:
        yield Step("1 to 0", 0, 0.3)
    for factor, further, scale in ((4, 16, 1.0), (16, 16, 0.7), (2, 4, 0.6)):
        if value * factor <= _LARGEST:
            yield Step(f"x{factor}", value * factor, scale, f"x{further}", f"/{factor}")
        if value >= factor:
            # What is too small for the data breaks; what is too large only costs.
            yield Step(f"/{factor}", max(1, value // factor), 0.6 * scale, f"/{further}", f"x{factor}")
    if 1 < value <= 32:
        yield Step("+1", value + 1, 0.3, "+1", "-1")
        yield Step("-1", value - 1, 0.3, "-1", "+1")
    elif value > 32 and value & (value - 1):
        yield Step("power of two", 1 << (value.bit_length() - 1), 0.3)


def _float_steps(value: float) -> Iterator[Step]:
    if value == 0:
        yield from (
            Step(f"0 to {far}", far, scale, "x4", "/4") for far, scale in ((1.0, 1.0), (0.1, 0.7), (0.001, 0.3))
        )
        return
    for factor, further, scale in (("4", "10", 1.0), ("10", "10", 0.8), ("1.5", "4", 0.5)):
        yield Step(f"x{factor}", value * float(factor), scale, f"x{further}", f"/{factor}")
        yield Step(f"/{factor}", value / float(factor), scale, f"/{further}", f"x{factor}")
    if 0 < value < 1:
        yield Step("halfway to 1", 1 - (1 - value) / 2, 0.6 if value >= 0.5 else 0.3, "halfway to 1", "/1.5")
    yield Step("to 0", 0.0, 0.2)
