"""Times that a record holds, safe from a wall clock that is set while a rollout runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import monotonic


class Stopwatch:
    """Tells the wall clock's time once, at the start; every later moment is that and the time that really passed."""

    def __init__(self) -> None:
        self.started = datetime.now(UTC)
        self._steady = monotonic()

    def now(self) -> datetime:
        """Never before an earlier answer."""
        return self.started + timedelta(seconds=monotonic() - self._steady)

    def length(self, seconds: float | None) -> float | None:
        """A length that others measured within this watch's time by the wall clock, without a jump of the clock in it.

        None when it can be no length of anything that happened.
        """
        total = monotonic() - self._steady
        jumped = (datetime.now(UTC) - self.now()).total_seconds()
        plausible = (s for s in (seconds, None if seconds is None else round(seconds - jumped, 3)) if s is not None)
        return next((s for s in plausible if -0.0005 <= s <= total + 0.5), None)
