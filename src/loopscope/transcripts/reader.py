"""What a reader of a format is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from loopscope.transcripts.canonical import Transcript
from loopscope.transcripts.errors import TranscriptError
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
            TranscriptError: there is nothing that can be read; or, after all that can be, that something could not.
        """
        ...


def read_each[Item](items: Iterable[Item], read: Callable[[Item], Transcript]) -> Iterator[Transcript]:
    """The transcripts of several logs, one broken log costing only itself.

    Raises:
        TranscriptError: at the end, the first that was met.
    """
    errors: list[TranscriptError] = []
    for item in items:
        try:
            transcript = read(item)
        except TranscriptError as error:
            errors.append(error)
        else:
            yield transcript
    if errors:
        raise errors[0].with_others(len(errors) - 1)
