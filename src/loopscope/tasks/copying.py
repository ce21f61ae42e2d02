"""Copy and fingerprint a task directory without ever leaving it."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from loopscope.tasks.errors import TaskError

_LEFT_OUT = frozenset({"__pycache__", ".DS_Store"})
"""Litter that running or browsing a task leaves in it; never part of a task."""


def entries(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every entry below `root` but litter and a repository at its top: relative POSIX name and lstat, sorted by name.

    Symbolic links are listed, never followed.
    """

    def walk(directory: Path, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
        with os.scandir(directory) as found:
            listed = sorted(found, key=lambda e: os.fsencode(e.name))
        for entry in listed:
            if entry.name in _LEFT_OUT or (not prefix and entry.name == ".git"):
                continue
            status = entry.stat(follow_symlinks=False)
            yield prefix + entry.name, status
            if stat.S_ISDIR(status.st_mode):
                yield from walk(directory / entry.name, f"{prefix}{entry.name}/")

    yield from walk(root, "")


def tree_hash(root: Path, *tops: str) -> str:
    """sha256 over names, kinds, executable bits and bytes below `root`, or below these of its top-level names.

    Of the mode only the executable bit counts, as in git: the rest depends on the umask under which it was checked out.
    """
    digest = hashlib.sha256()

    def add(*parts: bytes) -> None:
        for part in parts:
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)

    for name, status in entries(root):
        if tops and name.split("/", 1)[0] not in tops:
            continue
        encoded = os.fsencode(name)
        if stat.S_ISDIR(status.st_mode):
            add(b"directory", encoded)
        elif stat.S_ISLNK(status.st_mode):
            add(b"link", encoded, os.fsencode((root / name).readlink()))
        else:
            kind = b"program" if status.st_mode & stat.S_IXUSR else b"file"
            add(kind, encoded, _file_digest(root / name))
    return digest.hexdigest()


def _file_digest(path: Path) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def copy_tree(source: Path, target: Path) -> None:
    """Copy `source` to the new directory `target`: bytes, permissions and times kept (cargo and make look at times).

    Links that stay inside the task are copied as links. Raises `TaskError` for one that leads out of it, and for
    sockets, devices and pipes.
    """
    source = source.resolve()
    target.mkdir(mode=0o755)
    directories: list[tuple[Path, os.stat_result]] = [(target, source.lstat())]
    for name, status in entries(source):
        old, new = source / name, target / name
        if stat.S_ISDIR(status.st_mode):
            new.mkdir(mode=0o700)
            directories.append((new, status))
        elif stat.S_ISLNK(status.st_mode):
            _check_link(source, old)
            new.symlink_to(old.readlink())
            os.utime(new, ns=(status.st_mtime_ns, status.st_mtime_ns), follow_symlinks=False)
        elif stat.S_ISREG(status.st_mode):
            _copy_file(old, new, status)
        else:
            raise TaskError(old, "is neither a file, a directory nor a link", remedy="remove it from the task")
    for directory, status in reversed(directories):  # children first: writing into a directory changes its time
        directory.chmod(stat.S_IMODE(status.st_mode) | 0o700)
        os.utime(directory, ns=(status.st_mtime_ns, status.st_mtime_ns))


def _check_link(root: Path, link: Path) -> None:
    written = link.readlink()
    if written.is_absolute() or not Path(os.path.realpath(link)).is_relative_to(root):
        raise TaskError(
            link, f"is a link out of the task (to {written})", remedy="put a copy of the file there instead"
        )


def _copy_file(old: Path, new: Path, status: os.stat_result) -> None:
    with (
        os.fdopen(os.open(old, os.O_RDONLY | os.O_NOFOLLOW), "rb") as reader,
        os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as writer,
    ):
        shutil.copyfileobj(reader, writer, 1 << 20)
    new.chmod(stat.S_IMODE(status.st_mode) & 0o777)
    os.utime(new, ns=(status.st_mtime_ns, status.st_mtime_ns))
