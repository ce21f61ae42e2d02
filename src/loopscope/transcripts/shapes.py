"""Take values of the right shape out of JSON that anybody may have written; another shape is as good as absent."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

EMPTY: Mapping[str, Any] = {}
MAX_COUNT = 1 << 53
"""Larger counts of tokens are nonsense."""
YEAR_3000 = 32503680000.0
_CODE = re.compile(r"-?\d{1,9}", re.ASCII)


def table(value: object) -> Mapping[str, Any]:
    """An object's members; none of another value."""
    return value if isinstance(value, dict) else EMPTY


def rows(value: object) -> Sequence[Any]:
    """An array's elements; none of another value."""
    return value if isinstance(value, list) else ()


def text(value: object) -> str | None:
    """A string that is not empty."""
    return value if isinstance(value, str) and value else None


def short(value: object, limit: int = 200) -> str | None:
    """A string fit for a name: not empty, cut to a limit."""
    return value[:limit] if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """A number of tokens."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value <= MAX_COUNT else None
    if isinstance(value, float) and 0 <= value <= MAX_COUNT and value.is_integer():
        return int(value)
    return None


def code(value: object) -> int | None:
    """An exit code: an integer that fits 32 bits, or its digits."""
    if isinstance(value, str) and _CODE.fullmatch(value):
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and -(1 << 31) <= value < 1 << 32:
        return value
    return None


def flag(value: object) -> bool | None:
    """A truth value."""
    return value if isinstance(value, bool) else None


def money(value: object) -> Decimal | None:
    """An amount of dollars, not negative."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    try:
        amount = Decimal(repr(value))
    except InvalidOperation:
        return None
    return amount if 0 <= amount < 1_000_000_000 else None


def moment(value: object) -> float | None:
    """Seconds since 1970, from an ISO time or from a number of seconds or milliseconds."""
    if isinstance(value, str):
        return _iso(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    seconds = float(value) if abs(value) < 1 << 62 else math.inf
    if seconds > YEAR_3000:
        seconds /= 1000
    return seconds if 0 < seconds < YEAR_3000 else None


def _iso(value: str) -> float | None:
    if not 10 <= len(value) <= 40:
        return None
    try:
        when = datetime.fromisoformat(value)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def words(names: str) -> frozenset[str]:
    """A set of names, written with spaces between."""
    return frozenset(names.split())


def joined(value: object) -> str:
    """The text of a content that is a string or a list of blocks."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(part for part in map(_block, value) if part)
    return ""


def _block(value: object) -> str:
    if isinstance(value, str):
        return value
    block = table(value)
    for key in ("text", "output_text", "content"):
        if isinstance(found := block.get(key), str):
            return found
    kind = block.get("type")
    return f"[{kind[:40]}]" if isinstance(kind, str) and kind in MEDIA else ""


MEDIA = frozenset({"image", "audio", "video", "document", "input_image", "image_url", "audio_url", "video_url"})
