"""The one error that leaves this room."""

from __future__ import annotations

from pathlib import Path


class TranscriptError(Exception):
    """A log that cannot be read at all. The message says what is wrong, where, and what to do."""

    def __init__(self, path: Path | str, wrong: str, advice: str = "") -> None:
        self.path = Path(path)
        shown = ascii(str(path))[1:-1]
        super().__init__(f"{shown}: {wrong}" + (f"; {advice}" if advice else ""))
