"""Where a study's file came from, when it lies elsewhere than in the study: beside its directory, as a rule."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from loopscope.records.durable import RecordError, read_plain, write_bytes
from loopscope.records.studyfile import STUDY_FILE
from loopscope.records.tree import Kind, kind_of

ORIGIN = ".study-file"
"""One line like one of sha256sum: the hash of the copy in the study, and the file's path from the study's directory.

It is no part of the study: no archive takes it, for elsewhere the path says nothing.
"""


@dataclass(frozen=True)
class Origin:
    """What a study remembers of the file that it was last run from."""

    copied: str
    """sha256 of the copy as it was made."""
    hint: str
    """Path from the study's directory: `../chains.yaml`."""


def read_origin(directory: Path) -> Origin | None:
    """None where the study is its own origin, or the note cannot be read: it is a convenience."""
    try:
        text = os.fsdecode(read_plain(directory / ORIGIN))
    except (RecordError, OSError):
        return None
    copied, _, hint = text.rstrip("\n").partition("  ")
    return Origin(copied, hint) if hint and "\0" not in hint else None


def origin_file(directory: Path) -> tuple[str, Path] | None:
    """(hint, path) of the file that the study was last run from, if it lies elsewhere and is there."""
    origin = read_origin(directory)
    file = directory / origin.hint if origin else None
    return (origin.hint, file) if origin and file and kind_of(file) is Kind.FILE else None


def keep_copy(file: Path, directory: Path) -> str | None:
    """Copy the file that a study is run from into its directory; a copy edited by hand meanwhile is kept beside it.

    Returns:
        The name under which an edited copy is kept, if there was one.
    """
    copy = directory / STUDY_FILE
    if file.resolve() == copy.resolve():
        return None
    data = file.read_bytes()
    kept = None
    if kind_of(copy) is Kind.FILE:
        old, origin = copy.read_bytes(), read_origin(directory)
        if origin and old != data and _hash(old) != origin.copied:
            kept = _free(copy)
            write_bytes(kept, old)
    write_bytes(copy, data)
    line = f"{_hash(data)}  {os.path.relpath(file.resolve(), directory.resolve())}\n"
    if not kind_of(directory / ORIGIN) or read_origin(directory) != Origin(*line.rstrip("\n").split("  ", 1)):
        write_bytes(directory / ORIGIN, os.fsencode(line))
    return kept.name if kept else None


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _free(copy: Path) -> Path:
    number = 1
    while os.path.lexists(path := copy.with_name(f"{copy.name}.edited-{number}")):
        number += 1
    return path
