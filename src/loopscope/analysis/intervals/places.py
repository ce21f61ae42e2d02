"""Where in a study a number stands."""

from __future__ import annotations

from loopscope.measures.uncertainty import Reading

READINGS: tuple[Reading, ...] = ("random tasks", "fixed tasks")
LEVEL = 0.95

type Place = tuple[str, str, Reading]
"""(measure, category, reading)."""
type Ends = tuple[float | None, float | None]
"""Lower and upper end of something."""
