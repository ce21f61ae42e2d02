"""The entries of an Inspect `.eval` file: a zip archive, whose entries may be compressed with Zstandard.

Python's own module knows no Zstandard inside archives before 3.14, so entries are unpacked here, each up to a bound:
an archive may claim anything of its sizes.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from loopscope.transcripts.errors import TranscriptError

MAX_ENTRY = 512 << 20
"""Bytes of an entry when it is unpacked. It is read as a whole, which takes about three times as much memory."""
MAX_ENTRIES = 100_000
_ZSTANDARD = 93
_LOCAL = struct.Struct("<4s22xHH")
_CHUNK = 1 << 20


class EntryError(Exception):
    """An entry that cannot be read; the text says why."""


class Archive:
    """Reads entries by name."""

    def __init__(self, stream: BinaryIO, path: Path) -> None:
        self._stream = stream
        try:
            entries = zipfile.ZipFile(stream).infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, OSError, OverflowError) as error:
            text = str(error)[:100]
            raise TranscriptError(
                path, f"is no sound archive ({text!a})", "check that Inspect wrote it to its end"
            ) from None
        # The same name twice, as an archive written on has it: the last one stands.
        self._entries = {entry.filename: entry for entry in entries[-MAX_ENTRIES:]}

    def names(self) -> Iterator[str]:
        """Names of the entries, in their order."""
        yield from self._entries

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str) -> bytes:
        """An entry's bytes.

        Raises:
            EntryError: it is damaged, too large or compressed in another way.
        """
        entry = self._entries[name]
        try:
            self._stream.seek(entry.header_offset)
            mark, name_length, extra_length = _LOCAL.unpack(self._stream.read(_LOCAL.size))
            if mark != b"PK\x03\x04" or entry.flag_bits & 1:
                raise EntryError("is damaged, or encrypted")
            self._stream.seek(entry.header_offset + _LOCAL.size + name_length + extra_length)
            if entry.compress_type == zipfile.ZIP_STORED and entry.compress_size > MAX_ENTRY:
                raise _too_large()
            packed = self._stream.read(min(entry.compress_size, MAX_ENTRY))
            return _unpacked(packed, entry.compress_type)
        except (OSError, ValueError, OverflowError, struct.error, zlib.error, zstandard.ZstdError, MemoryError):
            raise EntryError("is damaged") from None


def _unpacked(packed: bytes, method: int) -> bytes:
    if method == zipfile.ZIP_STORED:
        return packed
    if method == zipfile.ZIP_DEFLATED:
        data = zlib.decompressobj(-15).decompress(packed, MAX_ENTRY + 1)
        if len(data) > MAX_ENTRY:
            raise _too_large()
        return data
    if method != _ZSTANDARD:
        raise EntryError("is compressed in a way that is not known")
    out = bytearray()
    with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(io.BytesIO(packed)) as reader:
        while chunk := reader.read(_CHUNK):
            out += chunk
            if len(out) > MAX_ENTRY:
                raise _too_large()
    return bytes(out)


def _too_large() -> EntryError:
    return EntryError(f"holds more than {MAX_ENTRY:,} bytes")
