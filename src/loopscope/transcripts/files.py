"""Open what somebody hands over: regular files only, never through a link, never a pipe, bounded in number and size."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from loopscope.transcripts.errors import TranscriptError

MAX_DOCUMENT = 1 << 30
"""Bytes of a file that must be read as a whole."""
MAX_FILES = 20_000
MAX_DEPTH = 12
HEAD = 256 << 10
"""Bytes by which a format is told; a first prompt can be long."""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A regular file, open for reading.

    Raises:
        TranscriptError: it is a link, a pipe, a device or a directory, or cannot be opened.
    """
    try:
        # Not to block: opening a pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise TranscriptError(
            path, f"cannot be opened ({_why(error)})", "give a readable file that is no link"
        ) from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise TranscriptError(path, "is no regular file", "give a log file or a directory of logs")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            yield stream
    except OSError as error:
        raise TranscriptError(path, f"cannot be read ({_why(error)})", "check the disk") from None
    finally:
        os.close(descriptor)


def head(path: Path, size: int = HEAD) -> bytes:
    """The first bytes of a file; none of one that cannot be read."""
    try:
        with opened(path) as stream:
            return stream.read(size)
    except TranscriptError:
        return b""


def whole(path: Path, limit: int = MAX_DOCUMENT) -> bytes:
    """All bytes of a file.

    Raises:
        TranscriptError: it cannot be read or is larger than the limit.
    """
    with opened(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > limit:
            raise TranscriptError(path, f"holds {size:,} bytes, more than {limit:,}", "split it or cut it down")
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise TranscriptError(path, f"grew beyond {limit:,} bytes while it was read", "copy it first")
    return data


def is_file(path: Path) -> bool:
    """Whether it is a regular file and no link."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Whether it is a directory and no link."""
    return stat.S_ISDIR(_mode(path))


def _mode(path: Path) -> int:
    try:
        return os.lstat(path).st_mode
    except (OSError, ValueError):
        return 0


def listed(folder: Path) -> list[Path]:
    """What a directory holds, sorted by name; nothing of one that cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry, _ in zip(entries, range(MAX_FILES), strict=False))
    except (OSError, ValueError):
        return []
    return [folder / name for name in names]


def walked(folder: Path, depth: int = MAX_DEPTH) -> Iterator[Path]:
    """Regular files below a directory, in the order of their names; links and pipes are passed over."""
    seen = 0
    stack = [(folder, 0)]
    while stack:
        here, level = stack.pop()
        inner = []
        for path in listed(here):
            seen += 1
            if seen > MAX_FILES:
                return
            if is_file(path):
                yield path
            elif level < depth and is_folder(path):
                inner.append((path, level + 1))
        stack.extend(reversed(inner))


def _why(error: Exception) -> str:
    return (error.strerror or "I/O error") if isinstance(error, OSError) else "bad name"
