"""Read what `opencode export SESSION` prints: `info` and `messages`, without its subagents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import MAIN, NoteKind, Source, Transcript
from loopscope.transcripts.documents import read_document
from loopscope.transcripts.glimpse import Glimpse
from loopscope.transcripts.opencode_parts import Session
from loopscope.transcripts.reader import SURE
from loopscope.transcripts.shapes import rows, short, table

NAME = "opencode-export"


def sniff(glimpse: Glimpse) -> float | None:
    """An object that begins with a session's `info`."""
    start = glimpse.document
    if b'"info"' not in start[:200]:
        return None
    return SURE if b'"projectID"' in start or b'"messages"' in start else None


def read(path: Path) -> Iterator[Transcript]:
    """The one transcript of a file.

    Raises:
        TranscriptError: it cannot be read, or is no export.
    """
    builder = Builder()
    advice = "check that `opencode export` wrote it to its end"
    document = read_document(path, "messages", ("info",), builder, advice)
    session = Session(builder)
    for index, message in enumerate(document.elements):
        if isinstance(message, dict):
            session.take(index, table(message.get("info")), rows(message.get("parts")))
        else:
            builder.note(NoteKind.BROKEN, "messages that are no object", index, loses="messages")
    info = table(document.members.get("info"))
    builder.absent((), "subagents, which an export leaves out")
    source = Source(
        format=NAME,
        format_version=short(info.get("version")),
        agent="opencode",
        agent_version=short(info.get("version")),
        model=session.about.get("model"),
        session_ids=tuple(filter(None, [short(info.get("id"))])),
        cwd=short(info.get("directory"), 4096) or session.about.get("cwd"),
        files={MAIN: path.name},
    )
    yield builder.finish(source, session.usage())
