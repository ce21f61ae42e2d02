"""Numbers as a reader sees them. A missing number is an em dash, never a zero."""

from __future__ import annotations

from dataclasses import dataclass

DASH = "—"
EPS = 0.01
"""The tolerance of the measures: a change of at most this much is no change (metrics, all sections)."""


@dataclass(frozen=True)
class Cell:
    """One value in a table: what is shown, and the reason when nothing can be."""

    text: str
    missing: str | None = None
    """Why there is no value; None when there is one."""
    heat: int | None = None
    """Shade 0..8; None for none."""
    sort: float | None = None
    span: str = ""
    """Its interval, or that there is none; empty for numbers that have none by their nature."""
    span_note: str = ""
    """What the interval stands on, and what speaks against it."""
    fixed: str = ""
    """The interval for just these tasks, where it is shown too."""
    fixed_note: str = ""


def score(value: float | None, digits: int = 3) -> str:
    """A score in [0, 1]."""
    return DASH if value is None else f"{value:.{digits}f}"


def metric(value: float) -> str:
    """A number of any kind and size, to about four significant digits; whole numbers whole."""
    if value.is_integer() or abs(value) >= 10_000:
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.3e}"
    return f"{value:.4g}"


def words(name: str) -> str:
    """An identifier such as `system_optimization` as words."""
    text = name.replace("_", " ").strip()
    return text[:1].upper() + text[1:]


def signed(value: float | None) -> str:
    """A difference of scores, with a true minus sign."""
    if value is None:
        return DASH
    return f"{value:+.3f}".replace("-", "\u2212")


def percent(value: float | None) -> str:
    """A share as a percentage."""
    return DASH if value is None else f"{100 * value:.1f} %"


def rate(value: float | None) -> str:
    """An average count with two decimals."""
    return DASH if value is None else f"{value:,.2f}"


def count(value: float | None) -> str:
    """An average of counts, or a count."""
    if value is None:
        return DASH
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def seconds(value: float | None) -> str:
    """A duration."""
    if value is None:
        return DASH
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def usd(value: float | None) -> str:
    """Money in US dollars."""
    return DASH if value is None else f"${value:,.2f}"


def tokens(value: float | None) -> str:
    """A token count."""
    if value is None:
        return DASH
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.0f}"


def plural(n: int, one: str, many: str | None = None) -> str:
    """`n` with its noun."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def heat(value: float | None, top: float = 1.0) -> int | None:
    """Shade 0..8 of a value between 0 and `top`."""
    if value is None or top <= 0:
        return None if value is None else 0
    return max(0, min(8, round(8 * value / top)))
