"""The one error that leaves this room."""

from __future__ import annotations

from pathlib import Path


class TranscriptError(Exception):
    """A log that cannot be read, or not all of it. The message says what is wrong, where, and what to do."""

    def __init__(self, path: Path | str, wrong: str, advice: str = "") -> None:
        self.path = Path(path)
        self.wrong = wrong
        self.advice = advice
        shown = ascii(str(path))[1:-1]
        super().__init__(f"{shown}: {wrong}" + (f"; {advice}" if advice else ""))

    def with_others(self, count: int) -> TranscriptError:
        """The same, saying how many more of what lies beside it cannot be read."""
        return TranscriptError(self.path, f"{self.wrong} (and {count} more)", self.advice) if count else self


class EmptyLogError(TranscriptError):
    """A log of which a reader makes nothing that was said or done."""
