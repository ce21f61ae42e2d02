"""Walk what may hold anything: names of any bytes, links, pipes. Nothing is followed, only plain files are opened."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from loopscope.models import FileHash
from loopscope.records.durable import open_plain

_SPELLED = re.compile(r"\\x([0-9a-f]{2})")
_NEEDS_SPELLING = re.compile("[\\\\\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\udc80-\udcff]")
"""The backslash; what would move a terminal's cursor, end a line or turn its direction; bytes that are no UTF-8."""


class Kind(StrEnum):
    """What a name stands for, in the words of a finding."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "symbolic link"
    SPECIAL = "pipe, socket or device"


@dataclass(frozen=True)
class Entry:
    """One name below a directory."""

    path: Path
    name: str
    """Below the directory that was walked, spelled as in manifests."""
    kind: Kind
    size: int
    executable: bool


def spell(name: str) -> str:
    """A name (as `os.fsdecode` gives it) as text that any JSON, line or terminal holds; `name_of` is the way back."""
    return _NEEDS_SPELLING.sub(lambda found: "".join(f"\\x{byte:02x}" for byte in _bytes(found[0])), name)


def name_of(spelled: str) -> str:
    """The name that a spelling stands for."""
    parts = _SPELLED.split(spelled)
    data = b"".join(bytes.fromhex(part) if odd % 2 else _bytes(part) for odd, part in enumerate(parts))
    return data.decode("utf-8", "surrogateescape")


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def kind_of(path: Path) -> Kind | None:
    """What lies at a path; None when nothing does."""
    try:
        return _kind(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None


def walk(root: Path, keep: Callable[[str], bool] = lambda name: True) -> Iterator[Entry]:
    """Everything below a directory, each directory before what it holds, sorted.

    Args:
        root: a directory.
        keep: says for the spelled name of an entry whether it, and what it holds, is wanted.
    """
    pending = [(root, "")]
    while pending:
        folder, prefix = pending.pop()
        with os.scandir(folder) as found:
            listed = sorted(found, key=lambda entry: os.fsencode(entry.name))
        below = []
        for entry in listed:
            name = prefix + spell(entry.name)
            if not keep(name):
                continue
            status = entry.stat(follow_symlinks=False)
            kind, path = _kind(status.st_mode), folder / entry.name
            yield Entry(path, name, kind, status.st_size, bool(status.st_mode & stat.S_IXUSR))
            if kind is Kind.DIRECTORY:
                below.append((path, f"{name}/"))
        pending.extend(reversed(below))


def tree_size(path: Path) -> int:
    """Bytes of all plain files at or below a path."""
    if kind_of(path) is Kind.DIRECTORY:
        return sum(entry.size for entry in walk(path) if entry.kind is Kind.FILE)
    return path.lstat().st_size if kind_of(path) is Kind.FILE else 0


def hash_file(path: Path) -> FileHash:
    """Hash and size of a plain file; OSError for anything else."""
    with open_plain(path) as file:
        return FileHash(sha256=hashlib.file_digest(file, "sha256").hexdigest(), size=file.tell())


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.DIRECTORY
    return Kind.LINK if stat.S_ISLNK(mode) else Kind.SPECIAL
