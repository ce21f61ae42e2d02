"""What a reader of a format is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from loopscope.transcripts.canonical import Transcript
from loopscope.transcripts.glimpse import Glimpse

SURE = 1.0
LIKELY = 0.6
PERHAPS = 0.3


class Reader(Protocol):
    """Reads one format. Each reader is a module with these three names."""

    NAME: str
    """How the user names the format."""

    def sniff(self, glimpse: Glimpse) -> float | None:
        """How sure it is, from 0 to 1, that a path holds its format; None when it does not. Never raises."""
        ...

    def read(self, path: Path) -> Iterator[Transcript]:
        """The transcripts that a path holds.

        Raises:
            TranscriptError: there is nothing that can be read.
        """
        ...
