"""Read page exports: one JSON object with `messages` in the roles user, assistant and tool.

Known from 35 public runs. There are no times and no tokens; a failing command's result starts with `Exit code N`, and
success has no mark. Call ids can be used again within a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from loopscope.transcripts import usage
from loopscope.transcripts.branches import find_branch
from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import MarkKind, MessageKind, NoteKind, Role, Source, Transcript
from loopscope.transcripts.claude_blocks import kind_of_user_text
from loopscope.transcripts.documents import read_document
from loopscope.transcripts.glimpse import Glimpse
from loopscope.transcripts.reader import PERHAPS, SURE
from loopscope.transcripts.shapes import joined, rows, short, table, text

NAME = "page"
_ABOUT = ("synthetic", "model", "id", "task", "category", "seed")
"""What is taken of it besides its messages."""


def sniff(glimpse: Glimpse) -> float | None:
    """A JSON object with messages and, if it is one of the public runs, a `synthetic` model."""
    start = glimpse.document
    if b'"messages"' not in start or b'"info"' in start[:2000]:
        return None
    return SURE if b'"synthetic"' in start else PERHAPS


def read(path: Path) -> Iterator[Transcript]:
    """The one transcript of a file.

    Raises:
        TranscriptError: it cannot be read or holds no messages.
    """
    builder = Builder()
    document = read_document(path, "messages", _ABOUT, builder, "check that it is a page export")
    for index, message in enumerate(document.elements):
        _take(builder, index, message)
    data = document.members
    find_branch(builder)
    source = Source(
        format=NAME,
        agent=None,
        model=short(data.get("synthetic")) or short(data.get("model")),
        session_ids=tuple(filter(None, [short(data.get("id"))])),
        task=short(data.get("task")),
        category=short(data.get("category")),
        seed=short(data.get("seed")) or (str(data["seed"])[:200] if isinstance(data.get("seed"), int) else None),
    )
    yield builder.finish(source, usage.nothing(missing=("the format holds no tokens",)))


def _take(builder: Builder, index: int, message: Any) -> None:
    if not isinstance(message, dict):
        builder.note(NoteKind.BROKEN, "messages that are no object", index)
        return
    role, content = message.get("role"), joined(message.get("content"))
    if role == "tool":
        builder.result(index, text(message.get("tool_call_id")) or "", content)
    elif role == "assistant":
        if content:
            builder.say(index, Role.ASSISTANT, content)
        for call in rows(message.get("tool_calls")):
            member = table(call)
            name = text(member.get("name"))
            if name is None:
                builder.note(NoteKind.BROKEN, "calls without a name", index)
                continue
            builder.call(index, text(member.get("id")) or "", name, member.get("arguments"))
    elif role == "user":
        kind = kind_of_user_text(content)
        builder.say(index, Role.USER, content, kind=kind)
        if kind is MessageKind.COMPACTION:
            builder.mark(index, MarkKind.COMPACTION)
        elif kind is MessageKind.PLAIN and content:
            builder.mark(index, MarkKind.TURN)
    elif role == "system":
        builder.say(index, Role.SYSTEM, content)
    else:
        builder.note(NoteKind.UNKNOWN, f"messages of role {str(role)[:40]!a}", index)
