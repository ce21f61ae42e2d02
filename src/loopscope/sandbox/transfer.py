"""Files in and out of a sandbox as tar streams. A stream from inside is hostile, whatever wrote it."""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

from loopscope.sandbox.errors import TransferError, TransferTooLarge
from loopscope.sandbox.holes import HoleyFile

MAX_HEADER_BYTES = 1 << 20
MAX_DEPTH, MAX_NAME_BYTES = 100, 2000
"""Of a member that is unpacked: what is longer could not be named by a path on the host, and so not even be removed."""
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Entry:
    """One file, directory or link of the host, and its name in the archive (no leading slash)."""

    source: Path
    name: str
    uid: int = 0
    gid: int = 0
    mode: int | None = None
    """Permission bits in place of the file's own."""


def walk(source: Path, prefix: str = "") -> Iterator[Entry]:
    """Everything below the directory `source`, parents first, in the order of names; links are not followed."""
    with os.scandir(source) as found:
        entries = sorted(found, key=lambda e: e.name)
    for entry in entries:
        name = f"{prefix}{entry.name}"
        yield Entry(Path(entry.path), name)
        if entry.is_dir(follow_symlinks=False):
            yield from walk(Path(entry.path), f"{name}/")


def pack(entries: Iterable[Entry], out: IO[bytes]) -> None:
    """Write a tar of `entries`, modes and times kept, owned as they say. FIFOs, sockets and devices are left out."""
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.encoding, tar.errors = "utf-8", "surrogateescape"
        for entry in entries:
            info = tar.gettarinfo(entry.source, arcname=entry.name)
            if info is None or not (info.isreg() or info.isdir() or info.issym() or info.islnk()):
                continue
            info.uid, info.gid, info.uname, info.gname = entry.uid, entry.gid, "", ""
            if entry.mode is not None:
                info.mode = entry.mode
            if info.isreg():
                with entry.source.open("rb") as f:
                    tar.addfile(info, f)
            else:
                tar.addfile(info)


class _CautiousTarInfo(tarfile.TarInfo):
    """Refuses extension headers of absurd size, which tarfile would read into memory."""

    def _check(self) -> None:
        if self.size > MAX_HEADER_BYTES:
            raise TransferError(f"a tar header from the sandbox claims {self.size} bytes")

    def _proc_pax(self, tar: tarfile.TarFile) -> Self:
        self._check()
        return super()._proc_pax(tar)  # type: ignore[misc, no-any-return]

    def _proc_gnulong(self, tar: tarfile.TarFile) -> Self:
        self._check()
        return super()._proc_gnulong(tar)  # type: ignore[misc, no-any-return]


@dataclass
class Unpacked:
    """What came of an extraction."""

    files: int = 0
    size: int = 0
    skipped: list[str] = field(default_factory=list)
    """Members left out: special files, links that lead elsewhere, names too long or that would leave the target."""


@dataclass
class _Extraction:
    target: int
    """Descriptor of the target directory."""
    max_bytes: int
    max_files: int
    label: str
    result: Unpacked = field(default_factory=Unpacked)
    links: list[tuple[list[str], str]] = field(default_factory=list)
    directories: list[tuple[list[str], tarfile.TarInfo]] = field(default_factory=list)

    def parent(self, parts: list[str]) -> int:
        """Descriptor of the directory that is to hold the last of `parts`; never through a link."""
        at = os.dup(self.target)
        for part in parts[:-1]:
            at = self._step(at, part)
        return at

    def _step(self, at: int, part: str) -> int:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            try:
                return os.open(part, flags, dir_fd=at)
            except FileNotFoundError:
                pass
            except NotADirectoryError:
                os.unlink(part, dir_fd=at)
            except OSError:  # a symbolic link
                os.unlink(part, dir_fd=at)
            os.mkdir(part, 0o755, dir_fd=at)
            return os.open(part, flags, dir_fd=at)
        finally:
            os.close(at)

    def regular(self, tar: tarfile.TarFile, info: tarfile.TarInfo, parts: list[str]) -> None:
        self.result.size += info.size
        if self.result.size > self.max_bytes:
            raise TransferTooLarge(self.label, self.max_bytes)
        content = tar.extractfile(info)
        if content is None:
            raise TransferError(f"{self.label}: {info.name!r} has no content in the archive")
        parent = self.parent(parts)
        try:
            _clear(parts[-1], parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(parts[-1], flags, 0o600, dir_fd=parent)
            with os.fdopen(fd, "wb") as out:
                _copy(content, out)
                os.fchmod(fd, info.mode & 0o777 | 0o600)
                os.utime(fd, (float(info.mtime), float(info.mtime)))
        finally:
            os.close(parent)

    def directory(self, info: tarfile.TarInfo, parts: list[str]) -> None:
        os.close(self.parent([*parts, ""]))
        self.directories.append((parts, info))

    def finish(self) -> None:
        """Links last, so that nothing was ever written through one; then the directories' modes and times."""
        for parts, content in self.links:
            parent = self.parent(parts)
            try:
                _clear(parts[-1], parent)
                os.symlink(content, parts[-1], dir_fd=parent)
            finally:
                os.close(parent)
        for parts, info in reversed(self.directories):
            fd = self.parent([*parts, ""])
            try:
                os.fchmod(fd, info.mode & 0o777 | 0o700)
                os.utime(fd, (float(info.mtime), float(info.mtime)))
            finally:
                os.close(fd)


def _copy(content: IO[bytes] | None, out: IO[bytes]) -> None:
    holey = HoleyFile(out)
    while content is not None and (chunk := content.read(_CHUNK)):
        holey.write(chunk)
    holey.finish()


def _clear(name: str, parent: int) -> None:
    """Make room for `name`: an old file or link goes, a directory is an error."""
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise TransferError(f"{name!r}: a directory stands where a file is to be written")
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return


def _inside(parts: list[str], content: str) -> bool:
    """Whether a link at `parts` with this content stays below the target, also through other such links.

    `..` may only lead: after a name that is itself a link, its meaning could not be told from the text.
    """
    steps = [part for part in content.split("/") if part not in ("", ".")]
    climbs = next((i for i, part in enumerate(steps) if part != ".."), len(steps))
    return bool(content) and content[0] != "/" and climbs < len(parts) and ".." not in steps[climbs:]


def members(stream: IO[bytes], label: str) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """Members of a hostile tar stream, one at a time. Raises TransferError when it is no tar."""
    try:
        with tarfile.open(
            fileobj=stream, mode="r:", tarinfo=_CautiousTarInfo, encoding="utf-8", errors="surrogateescape"
        ) as tar:
            while (info := tar.next()) is not None:
                tar.members = []  # type: ignore[attr-defined] # tarfile would remember every member
                yield tar, info
    except tarfile.TarError as exc:
        raise TransferError(f"{label}: the archive from the sandbox is damaged: {exc}") from exc


def unpack(stream: IO[bytes], target: Path, *, label: str, max_bytes: int, max_files: int = 500_000) -> Unpacked:
    """Extract a hostile tar into the host directory `target`, merging with what is there.

    Only regular files, directories and links that stay inside are written, never through a link, without set-id bits.
    The rest is listed as skipped. Raises TransferTooLarge past either bound.
    """
    target.mkdir(parents=True, exist_ok=True)
    fd = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    job = _Extraction(fd, max_bytes, max_files, label)
    try:
        for tar, info in members(stream, label):
            parts = [part for part in info.name.split("/") if part not in ("", ".")]
            if not parts and info.isdir():
                continue
            job.result.files += 1
            if job.result.files > max_files:
                raise TransferTooLarge(f"{label} (number of files)", max_files)
            is_long = len(parts) > MAX_DEPTH or len(info.name.encode("utf-8", "surrogateescape")) > MAX_NAME_BYTES
            if is_long or ".." in parts or info.name.startswith("/") or info.issparse():
                job.result.skipped.append(info.name)
            elif info.isreg():
                job.regular(tar, info, parts)
            elif info.isdir():
                job.directory(info, parts)
            elif info.issym() and _inside(parts, info.linkname):
                job.links.append((parts, info.linkname))
            else:
                job.result.skipped.append(info.name)
        job.finish()
    finally:
        os.close(fd)
    return job.result


def unpack_file(stream: IO[bytes], target: Path, *, label: str, max_bytes: int) -> None:
    """Write the one regular file that the archive holds to `target` on the host, mode and time kept."""
    for tar, info in members(stream, label):
        if not info.isreg() or info.issparse():
            raise TransferError(f"{label}: not a regular file")
        if info.size > max_bytes:
            raise TransferTooLarge(label, max_bytes)
        content = tar.extractfile(info)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_symlink():
            target.unlink()
        with target.open("wb") as out:
            _copy(content, out)
        target.chmod(info.mode & 0o777 | 0o600)
        os.utime(target, (float(info.mtime), float(info.mtime)))
        return
    raise TransferError(f"{label}: the archive from the sandbox is empty")
