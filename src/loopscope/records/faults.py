"""A fault of our own code, met on something that others wrote: told in one line, so that it costs that thing alone."""

from __future__ import annotations

import traceback
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def told_fault(error: Exception) -> str:
    """Type and place of an error that nobody expected, the place in our own code, and the request to report it."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)] or list(frames)
    file = Path(ours[-1].filename)
    place = f"{file.relative_to(_PACKAGE) if file.is_relative_to(_PACKAGE) else file.name}:{ours[-1].lineno}"
    return f"{type(error).__name__} at {place}; this is a fault of loopscope: please report it with this line"
