"""The frozen workspace: a tar made after the agent was stopped, and what it says about files.

Names, links, sizes and contents are the agent's: nothing here follows a link or writes a name to disk.
"""

from __future__ import annotations

import hashlib
import stat
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

import zstandard

from loopscope.models import FileHash

MAX_MEMBERS = 200_000
"""Files of a workspace that are looked at; the rest is kept in the archive but not listed."""

_HEAD_BYTES = 18
"""A zstd frame's head is no longer."""

GIT_DIR = b".git"
JOURNAL = b"output/journal.md"
SNAPSHOTS = b"output_snapshot"
BOOKKEEPING = frozenset({b".gitignore", JOURNAL})
"""Record-keeping paths at the root of the work directory: never part of a scored state."""


@dataclass(frozen=True)
class FileEntry:
    """A file as git would store it: mode (100644, 100755, 120000) and blob id."""

    mode: int
    blob: bytes


@dataclass
class Listing:
    """Files of a workspace by path relative to the work directory, as bytes; bookkeeping and `.git` left out."""

    files: dict[bytes, FileEntry] = field(default_factory=dict)
    snapshots: dict[bytes, dict[bytes, FileEntry]] = field(default_factory=dict)
    """Files below each directory of `output_snapshot/`, by that directory's name."""
    complete: bool = True
    """False when the workspace holds more files than are looked at."""


def blob_id(data: bytes) -> bytes:
    """Hex id git gives to a file of these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest().encode()


@contextmanager
def open_tar(path: Path) -> Iterator[tarfile.TarFile]:
    """Open a tar or a zstd-compressed tar as a stream: members come once, in order."""
    with path.open("rb") as raw:
        plain: IO[bytes] = raw
        if path.suffix == ".zst":
            plain = zstandard.ZstdDecompressor().stream_reader(raw)
        with tarfile.open(fileobj=plain, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
            yield archive


def member_path(member: tarfile.TarInfo) -> bytes | None:
    """Path relative to the archived directory; None for the root itself and for names that point elsewhere."""
    path = PurePosixPath(member.name)
    parts = [p for p in path.parts if p not in (".", "/")]
    if not parts or ".." in parts:
        return None
    return "/".join(parts).encode("utf-8", "surrogateescape")


def is_git_path(path: bytes) -> bool:
    """Whether the path is the repository's own directory or lies in it."""
    return path == GIT_DIR or path.startswith(GIT_DIR + b"/")


def is_bookkeeping(path: bytes) -> bool:
    """Whether a path is record keeping, as the protocol asks for it, rather than part of the artifact."""
    return path in BOOKKEEPING or path == SNAPSHOTS or path.startswith(SNAPSHOTS + b"/")


def is_scored(path: bytes) -> bool:
    """Whether a path belongs to the state that a verifier sees."""
    return not is_git_path(path) and not is_bookkeeping(path)


def list_workspace(tar: Path) -> Listing:
    """Every scored file of a workspace archive, with the ids git would give."""
    listing = Listing()
    with open_tar(tar) as archive:
        for count, member in enumerate(archive):
            if count >= MAX_MEMBERS:
                listing.complete = False
                break
            path = member_path(member)
            if path is None or is_git_path(path) or path in BOOKKEEPING:
                continue
            entry = _entry(archive, member, listing)
            if entry is None:
                continue
            parts = path.split(b"/", 2)
            if parts[0] != SNAPSHOTS:
                listing.files[path] = entry
            elif len(parts) == 3:
                listing.snapshots.setdefault(parts[1], {})[parts[2]] = entry
    return listing


def _entry(archive: tarfile.TarFile, member: tarfile.TarInfo, listing: Listing) -> FileEntry | None:
    if member.issym():
        return FileEntry(0o120000, blob_id(member.linkname.encode("utf-8", "surrogateescape")))
    if member.islnk():
        return listing.files.get(member.linkname.removeprefix("./").encode("utf-8", "surrogateescape"))
    if member.isreg():
        return FileEntry(_git_mode(member.mode), _member_blob(archive, member))
    return None


def _git_mode(mode: int) -> int:
    return 0o100755 if mode & stat.S_IXUSR else 0o100644


def _member_blob(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    digest = hashlib.sha1(b"blob %d\0" % member.size, usedforsecurity=False)
    stream = archive.extractfile(member)
    if stream is not None:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest().encode()


def unpacked_bytes(archive: Path) -> int | None:
    """Size of the tar that `compress` made an archive of; None where its head does not say (older ones, torn ones)."""
    with archive.open("rb") as file:
        try:
            size = zstandard.frame_content_size(file.read(_HEAD_BYTES))
        except zstandard.ZstdError:
            return None
    return size if size >= 0 else None


def compress(tar: Path, target: Path) -> FileHash:
    """Compress a finished tar into `target` (zstd, level 3); publishing it durably is the caller's step.

    Returns hash and size of what was written, taken on the way.
    """
    digest, size = hashlib.sha256(), 0
    with tar.open("rb") as source, target.open("xb") as sink:
        packer = zstandard.ZstdCompressor(level=3, write_checksum=True)
        for chunk in packer.read_to_iter(source, size=tar.stat().st_size):  # the size stands in the frame's head
            digest.update(chunk)
            size += sink.write(chunk)
    return FileHash(sha256=digest.hexdigest(), size=size)
