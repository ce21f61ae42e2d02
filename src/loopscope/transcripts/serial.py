"""The canonical transcript as bytes and back: one JSON document, compressed with Zstandard.

Equal transcripts give equal bytes. What is loaded is held against the types of `canonical.py`, strictly, for the file
may have come from anybody.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import zstandard
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from loopscope.transcripts.canonical import Transcript
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import MAX_DOCUMENT, whole

VERSION: Final = 1
"""Of the document; a file of a later one is refused."""
DEEPEST = 64
"""Levels of a call's arguments that are kept; what lies deeper is written as text."""
_LEVEL = 3
_MAX_WINDOW = 1 << 27
_HEAD = re.compile(rb'\{"version":(\d{1,9}),')
_REMEDY = "restore the file, or import the log again"


@dataclass(frozen=True, slots=True)
class Packed:
    """A transcript as it is stored."""

    data: bytes
    """Compressed."""
    digest: str
    """sha256 of the document before compression, hexadecimal: equal transcripts have equal ones."""

    @property
    def sha256(self) -> str:
        """Of the compressed bytes, hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class _Document:
    version: Literal[1]
    transcript: Transcript


@cache
def _adapter() -> TypeAdapter[_Document]:
    return TypeAdapter(_Document)


def pack(transcript: Transcript) -> Packed:
    """A transcript, ready to be written.

    What JSON cannot hold (half surrogates, endless nesting in the arguments of a call) is written as the nearest text.
    """
    data = _dumped(transcript)
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    return Packed(compressor.compress(data), hashlib.sha256(data).hexdigest())


def unpack(data: bytes, path: Path, limit: int = MAX_DOCUMENT) -> Transcript:
    """A transcript from the bytes of its file.

    Args:
        data: the file's.
        path: for messages.
        limit: the most bytes that it may unpack to.

    Raises:
        TranscriptError: it is no transcript of ours, is damaged or too large, or a newer loopscope wrote it.
    """
    document = _decompressed(data, path, limit)
    try:
        return _parsed(document).transcript
    except ValidationError as error:
        head = _HEAD.match(document)
        if head and int(head[1]) > VERSION:
            raise TranscriptError(
                path, f"was written by a newer loopscope (version {int(head[1])})", "upgrade loopscope"
            ) from None
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise TranscriptError(path, f"is no transcript of loopscope's ({field}: {first['msg']})", _REMEDY) from None


def load(path: Path, limit: int = MAX_DOCUMENT) -> Transcript:
    """The transcript that a file holds; links and pipes are not opened.

    Raises:
        TranscriptError: as for `unpack`, or the file cannot be read.
    """
    return unpack(whole(path, limit), path, limit)


def _dumped(transcript: Transcript) -> bytes:
    """The document; read back once, so that nothing is ever stored that cannot be loaded."""
    try:
        data = _json(_Document(VERSION, transcript))
        _parsed(data)
    except (PydanticSerializationError, ValidationError, ValueError, RecursionError):
        plain = _plain(_adapter().dump_python(_Document(VERSION, transcript)), 0)
        data = _json(_adapter().validate_python(plain))
    return data


def _json(document: _Document) -> bytes:
    """A transcript whose end is not known is written as before there was such a field: its digest stays what it was."""
    left_out = {"transcript": {"ended"}} if document.transcript.ended is None else None
    return _adapter().dump_json(document, exclude=left_out)


def _parsed(data: bytes) -> _Document:
    return _adapter().validate_json(data, strict=True, extra="forbid")


def _plain(value: Any, depth: int) -> Any:
    """The value without what no JSON document can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if depth > DEEPEST:
        return "[...]" if isinstance(value, dict | list | tuple) else value
    if isinstance(value, dict):
        return {_plain(key, depth): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, depth + 1) for inner in value]
    return value


def _decompressed(data: bytes, path: Path, limit: int) -> bytes:
    """The document; its size is stated before it, so that nothing grows beyond the limit first."""
    try:
        size = zstandard.frame_content_size(data)
        if size > limit:
            raise TranscriptError(
                path, f"would unpack to {size:,} bytes, more than {limit:,}", "it is no transcript of loopscope's"
            )
        if size < 0:
            raise TranscriptError(path, "does not say how large it is", _REMEDY)
        return zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise TranscriptError(path, f"cannot be unpacked ({error})", _REMEDY) from None
