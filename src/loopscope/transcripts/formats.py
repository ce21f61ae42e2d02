"""Which formats there are, which one a path holds, and its transcripts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from loopscope.transcripts import (
    atif,
    claude_session,
    claude_stream,
    codex,
    harbor,
    inspect_eval,
    kimi,
    opencode_db,
    opencode_export,
    page_export,
)
from loopscope.transcripts.canonical import Transcript
from loopscope.transcripts.errors import EmptyLogError, TranscriptError
from loopscope.transcripts.glimpse import Glimpse
from loopscope.transcripts.reader import Reader

READERS: Mapping[str, Reader] = {
    reader.NAME: reader
    for reader in (
        harbor,
        claude_session,
        claude_stream,
        codex,
        opencode_db,
        opencode_export,
        kimi,
        atif,
        inspect_eval,
        page_export,
    )
}
"""All readers by the name that a user gives; of equally sure ones the first is taken."""


def detect(path: Path) -> str | None:
    """The format that a path most likely holds; None when no reader knows it."""
    best, sure = None, 0.0
    glimpse = Glimpse(path)
    for name, reader in READERS.items():
        confidence = reader.sniff(glimpse) or 0.0
        if confidence > sure:
            best, sure = name, confidence
    return best


def read(path: Path, format: str | None = None) -> Iterator[Transcript]:
    """The transcripts that a path holds, one by one.

    Args:
        path: a log file, or a directory of logs.
        format: a name among `READERS`; found by itself when not given.

    Raises:
        TranscriptError: the format is not known, or nothing can be read.
    """
    if path.is_symlink():
        raise TranscriptError(path, "is a link", "give the file or directory itself")
    name = format or detect(path)
    if name is None:
        raise TranscriptError(path, "is in no format that is known", f"name one with --format: {', '.join(READERS)}")
    reader = READERS.get(name)
    if reader is None:
        raise TranscriptError(
            path, f"cannot be read as {name!a}, which is no format", f"take one of {', '.join(READERS)}"
        )
    said = False
    for transcript in reader.read(path):
        said = said or bool(transcript.messages or transcript.calls or transcript.usage.entries)
        yield transcript
    if not said:
        advice = f"check that {name} is its format, or that the run began"
        raise EmptyLogError(path, f"holds no message, call or count as {name}", advice)
