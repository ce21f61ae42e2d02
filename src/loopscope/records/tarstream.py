"""The one form of tar that archives of studies have, read strictly: nothing in it can make the reader large or lost.

A general reader takes a name's or an extended header's size from the stream and reads that much. This one takes plain
files, directories, links and short extended headers, in sequence, and refuses the rest.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from loopscope.records.tree import Kind

BLOCK = tarfile.BLOCKSIZE
_MAX_HEADER = 1 << 20
"""Bytes of an extended header; a path is at most 4,096."""
_MAX_PADDING = 1 << 16
_KINDS = {tarfile.REGTYPE: Kind.FILE, tarfile.DIRTYPE: Kind.DIRECTORY, tarfile.SYMTYPE: Kind.LINK}
_ENCODING, _ERRORS = "utf-8", "surrogateescape"


class ArchiveError(Exception):
    """An archive is not what `study export` writes: what is wrong with it, without its name."""


@dataclass(frozen=True)
class Member:
    """One member, as its header describes it."""

    name: str
    """As `os.fsdecode` would give it."""
    kind: Kind
    size: int
    executable: bool
    link: str


def writer(sink: IO[bytes]) -> tarfile.TarFile:
    """A tar whose bytes depend on what is put in alone."""
    return tarfile.open(fileobj=sink, mode="w|", format=tarfile.PAX_FORMAT, encoding=_ENCODING, errors=_ERRORS)


def header(member: Member, time: int) -> tarfile.TarInfo:
    """The header of a member: no owner, one time for all, of the mode only the executable bit."""
    info = tarfile.TarInfo(member.name)
    info.type = next(code for code, kind in _KINDS.items() if kind is member.kind)
    info.size, info.mtime, info.linkname = member.size, time, member.link
    info.mode = 0o755 if member.executable or member.kind is Kind.DIRECTORY else 0o644
    return info


class Reader:
    """Reads member after member; a file's bytes come between `next` and the next `next`."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._left, self._padding = stream, 0, 0

    def next(self) -> Member | None:
        """The next member; None at the end, after which nothing but zeros may come.

        Raises:
            ArchiveError: the archive ends too early or holds what no archive of ours does.
        """
        for _ in self.chunks():
            pass
        extended: dict[str, str] = {}
        block = self._exactly(BLOCK)
        if block == bytes(BLOCK):
            self._end()
            return None
        info = self._info(block)
        if info.type == tarfile.XHDTYPE:
            extended = self._extended(info.size)
            info = self._info(self._exactly(BLOCK))
        kind = _KINDS.get(info.type)
        if kind is None:
            raise ArchiveError(f"holds a member of type {info.type!r}, which no study has")
        size = int(extended["size"]) if extended.get("size", "").isdecimal() else info.size
        if size < 0 or (kind is not Kind.FILE and size):
            raise ArchiveError(f"holds a {kind} of {size} bytes")
        self._left, self._padding = size, -size % BLOCK
        name = extended.get("path", info.name).rstrip("/")
        return Member(name, kind, size, bool(info.mode & 0o100), extended.get("linkpath", info.linkname))

    def chunks(self) -> Iterator[bytes]:
        """The bytes of the member that `next` gave."""
        while self._left:
            chunk = self._stream.read(min(self._left, 1 << 20))
            if not chunk:
                raise ArchiveError("is cut short")
            self._left -= len(chunk)
            yield chunk
        padding, self._padding = self._padding, 0
        self._exactly(padding)

    def _exactly(self, size: int) -> bytes:
        data = self._stream.read(size) if size else b""
        while len(data) < size:
            more = self._stream.read(size - len(data))
            if not more:
                raise ArchiveError("is cut short")
            data += more
        return data

    def _info(self, block: bytes) -> tarfile.TarInfo:
        try:
            return tarfile.TarInfo.frombuf(block, _ENCODING, _ERRORS)
        except tarfile.HeaderError:
            raise ArchiveError("is damaged: a header cannot be read") from None

    def _extended(self, size: int) -> dict[str, str]:
        """Records of an extended header: `<length> <key>=<value>\\n`, the length counting all of it."""
        if not 0 < size <= _MAX_HEADER:
            raise ArchiveError(f"has an extended header of {size} bytes")
        data, found = io.BytesIO(self._exactly(size + -size % BLOCK)[:size]), {}
        while data.tell() < size:
            start, digits = data.tell(), b""
            while (digit := data.read(1)).isdigit() and len(digits) < 8:
                digits += digit
            body = data.read(max(0, int(digits or 0) - (data.tell() - start)))
            key, equals, value = body.partition(b"=")
            if digit != b" " or not equals or not value.endswith(b"\n"):
                raise ArchiveError("is damaged: an extended header cannot be read")
            found[key.decode(_ENCODING, _ERRORS)] = value[:-1].decode(_ENCODING, _ERRORS)
        return found

    def _end(self) -> None:
        rest = self._stream.read(_MAX_PADDING)
        if any(rest) or len(rest) == _MAX_PADDING or self._stream.read(1):
            raise ArchiveError("holds more after its end")
