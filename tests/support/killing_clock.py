"""A wall clock that stands still or jumps, for the modules that write times. Nothing waits by it."""

from __future__ import annotations

import datetime as _datetime
import sys
from typing import Any

_REAL = _datetime.datetime
_WRITERS = ("loopscope.engine", "loopscope.agents", "loopscope.sandbox", "harbor")
NOON = _REAL(2026, 1, 1, 12, tzinfo=_datetime.UTC)

_offset = _datetime.timedelta()
_frozen = False


class _AnyDatetime(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _REAL)


class Clock(_REAL, metaclass=_AnyDatetime):
    """`datetime`, but for the answer to what time it is."""

    @classmethod
    def now(cls, tz: _datetime.tzinfo | None = None) -> Any:
        """Noon for ever, or the time and the jumps so far."""
        moment = (NOON if _frozen else _REAL.now(_datetime.UTC)) + _offset
        return moment.astimezone(tz) if tz else moment.replace(tzinfo=None)

    @classmethod
    def utcnow(cls) -> Any:
        """The same without a zone."""
        return cls.now()


def install(*, frozen: bool) -> None:
    """Let every loaded module that writes times ask this clock."""
    global _frozen
    _frozen = frozen
    if frozen:
        sys.modules["loopscope.engine.clock"].monotonic = lambda: 0.0  # type: ignore[attr-defined]
    for name, module in list(sys.modules.items()):
        if name.startswith(_WRITERS) and getattr(module, "datetime", None) is _REAL:
            module.datetime = Clock  # type: ignore[attr-defined]


def jump(seconds: int) -> None:
    """From now on the clock goes wrong by so much more."""
    global _offset
    _offset += _datetime.timedelta(seconds=seconds)
