"""JSON that may be broken: whole documents and lines, repaired where that is plain, and said so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import NoteKind
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import opened, whole

MAX_LINE = 64 << 20
"""Bytes of one line; a longer one is passed over."""
_BOM = b"\xef\xbb\xbf"
_LOST = "lines that are cut off, damaged or too long"
_CUT = "parts that are cut off"


@dataclass(frozen=True, slots=True)
class Parsed:
    """A value, and whether bytes had to be replaced to get it."""

    value: Any
    repaired: bool = False


def parse(data: bytes) -> Parsed | None:
    """The value of a JSON text; None when it is none even after repair."""
    try:
        return Parsed(orjson.loads(data))
    except orjson.JSONDecodeError:
        return _repaired(data)


def _repaired(data: bytes) -> Parsed | None:
    """Without NULs, without bytes that are no UTF-8, and with control characters, big numbers and half surrogates."""
    try:
        value = json.loads(_clean(data), strict=False, parse_int=_integer, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    return Parsed(_whole_characters(value), repaired=True)


def _clean(data: bytes) -> str:
    return data.removeprefix(_BOM).replace(b"\0", b"").decode("utf-8", "replace")


def _integer(digits: str) -> int | None:
    """An integer; none of thousands of digits, which Python would not even print."""
    return int(digits) if len(digits) < 1000 else None


def _no_constant(name: str) -> None:
    """NaN and infinities are no JSON; as good as absent."""


def _whole_characters(value: Any) -> Any:
    """The value, without surrogates that stand alone: no text with them can be written anywhere.

    Goes as deep as the parser went, which is bounded.
    """
    try:
        dumped = json.dumps(value, ensure_ascii=False)
        return value if dumped.isascii() else json.loads(dumped.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def lines(
    path: Path, notes: Builder, skipped: str = "lines that are no JSON object"
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines with their line numbers from 0, read one at a time.

    What is broken is noted in `notes` and passed over.

    Raises:
        TranscriptError: the file cannot be read.
    """
    with opened(path) as stream:
        number = -1
        while line := stream.readline(MAX_LINE + 1):
            number += 1
            ended = line.endswith(b"\n")
            if not ended and len(line) > MAX_LINE:
                text = f"lines of more than {MAX_LINE:,} bytes, passed over"
                notes.note(NoteKind.SHORTENED, text, number, loses=_LOST)
                while not ended and (rest := stream.readline(MAX_LINE)):
                    ended = rest.endswith(b"\n")
                continue
            try:
                value, repaired = orjson.loads(line), False
            except orjson.JSONDecodeError:
                if not line.strip(b"\0 \t\r\n"):
                    if b"\0" in line:
                        notes.note(NoteKind.REPAIRED, "lines of NULs, passed over", number)
                    continue
                parsed = _repaired(line)
                if parsed is None and not ended:
                    text = "the last line ends in the middle, and is passed over"
                    notes.note(NoteKind.TRUNCATED, text, number, loses=_LOST)
                    continue
                value, repaired = (parsed.value, parsed.repaired) if parsed else (None, False)
            if not isinstance(value, dict):
                # What does not begin as an object is another program's output, or none of the log's entries.
                entry = value is None and _clean(line[:1000]).lstrip().startswith("{")
                notes.note(NoteKind.BROKEN, skipped, number, loses=_LOST if entry else None)
                continue
            if repaired:
                notes.note(NoteKind.REPAIRED, "lines with bytes or numbers that are no JSON, repaired", number)
            yield number, value


def document(path: Path, array: str, notes: Builder) -> dict[str, Any]:
    """The object that a file holds. Of one cut off in the middle, what stands before the cut.

    Args:
        path: the file.
        array: the member whose elements are worth saving one by one.
        notes: takes what was broken.

    Raises:
        TranscriptError: there is no object to be had.
    """
    return object_of(whole(path), path, array, notes)


def object_of(data: bytes, path: Path | str, array: str, notes: Builder) -> dict[str, Any]:
    """The same, of bytes that were read already; `path` is only named in errors."""
    parsed = parse(data)
    if parsed is None:
        value: Any = salvaged(_clean(data), array)
        if not value:
            raise TranscriptError(path, "holds no JSON object", "check that it is a transcript and not damaged")
        cut_off(notes)
    else:
        value = parsed.value
        if parsed.repaired:
            notes.note(NoteKind.REPAIRED, "bytes or numbers that are no JSON, repaired")
    if not isinstance(value, dict):
        raise TranscriptError(path, "holds JSON, but no object", "check that it is a transcript")
    return value


def cut_off(notes: Builder) -> None:
    """Note that an object could be read up to a place only."""
    text = "the file ends in the middle or is damaged; what stands before is read"
    notes.note(NoteKind.TRUNCATED, text, loses=_CUT)


def salvaged(text: str, array: str) -> dict[str, Any]:
    """Members of an object that is cut off, up to the cut; of the member `array` each element that is whole."""
    decoder = json.JSONDecoder(strict=False, parse_int=_integer, parse_constant=_no_constant)
    found: dict[str, Any] = {}
    place = _after(text, 0, "{")
    while place is not None:
        try:
            key, place = decoder.raw_decode(text, _space(text, place))
        except (ValueError, RecursionError):
            break
        start = _after(text, place, ":")
        if not isinstance(key, str) or start is None:
            break
        start = _space(text, start)
        if key == array and text[start : start + 1] == "[":
            found[key], end = _elements(decoder, text, start + 1)
        else:
            try:
                found[key], end = decoder.raw_decode(text, start)
            except (ValueError, RecursionError):
                break
        place = _after(text, end, ",") if end is not None else None
    cleaned = _whole_characters(found)
    return cleaned if isinstance(cleaned, dict) else {}


def _elements(decoder: json.JSONDecoder, text: str, place: int) -> tuple[list[Any], int | None]:
    """Elements of an array up to its end or to the cut; the place after the end, None after a cut."""
    found: list[Any] = []
    while True:
        place = _space(text, place)
        if text[place : place + 1] == "]":
            return found, place + 1
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return found, None
        found.append(value)
        after = _after(text, place, ",")
        if after is None:
            place = _space(text, place)
            return found, place + 1 if text[place : place + 1] == "]" else None
        place = after


def _space(text: str, place: int) -> int:
    while text[place : place + 1] in (" ", "\n", "\r", "\t"):
        place += 1
    return place


def _after(text: str, place: int, sign: str) -> int | None:
    place = _space(text, place)
    return place + 1 if text[place : place + 1] == sign else None
