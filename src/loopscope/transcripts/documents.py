"""Logs that are one JSON object with one long array: a small one is read whole, a large one element by element."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import NoteKind
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import opened
from loopscope.transcripts.parsing import cut_off, document, parse
from loopscope.transcripts.pieces import DamagedError, pieces

LARGE = 32 << 20
"""Bytes of a file from which on it is read element by element."""


@dataclass(frozen=True, slots=True)
class Document:
    """An object whose array may be too long to be held at once."""

    members: Mapping[str, Any]
    """What it holds besides the array, as far as it was asked for."""
    elements: Iterable[object]
    """Of the array, to be gone through once."""


def read_document(path: Path, array: str, wanted: Collection[str], notes: Builder, advice: str) -> Document:
    """The object in a file. Of one that is cut off, what stands before the cut.

    A large file is gone through twice, since what it says of itself may stand behind its array.

    Args:
        path: the file.
        array: name of the array.
        wanted: the members that are needed besides.
        notes: takes what was broken.
        advice: what to do about a file that has no such array.

    Raises:
        TranscriptError: it cannot be read, is no object, or has no such array.
    """
    if _size(path) >= LARGE:
        members, has_array = _members(path, array, wanted, notes)
        found = Document(members, _elements(path, array, notes)) if has_array else None
    else:
        data = document(path, array, notes)
        found = Document(data, data[array]) if isinstance(data.get(array), list) else None
    if found is None:
        raise TranscriptError(path, f"has no list `{array}`", advice)
    return found


def _size(path: Path) -> int:
    with opened(path) as stream:
        return os.fstat(stream.fileno()).st_size


def _members(path: Path, array: str, wanted: Collection[str], notes: Builder) -> tuple[dict[str, Any], bool]:
    """(the members besides the array, whether the array has an element)."""
    members: dict[str, Any] = {}
    has_array = False
    try:
        with opened(path) as stream:
            for piece in pieces(stream, array):
                has_array |= piece.element
                parsed = parse(piece.data) if not piece.element and piece.key in wanted else None
                members |= {piece.key: parsed.value} if parsed else {}
    except DamagedError:
        cut_off(notes)
    return members, has_array


def _elements(path: Path, array: str, notes: Builder) -> Iterator[object]:
    """Each element; None for one that is no JSON."""
    index = -1
    try:
        with opened(path) as stream:
            for piece in pieces(stream, array):
                if not piece.element:
                    continue
                index += 1
                parsed = parse(piece.data)
                if parsed is not None and parsed.repaired:
                    text = f"{array} with bytes or numbers that are no JSON, repaired"
                    notes.note(NoteKind.REPAIRED, text, index)
                yield parsed.value if parsed else None
    except DamagedError:
        return
