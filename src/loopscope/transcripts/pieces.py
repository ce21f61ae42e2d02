"""A large JSON object, piece by piece: its members, and of one member that is an array each element, in bounded memory.

Strings and brackets are found by one expression, so that a piece's end is known before it is parsed; the piece itself
then goes through the same parser as everything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

CHUNK = 4 << 20
"""Bytes that are read at once."""
MAX_PIECE = 256 << 20
"""Bytes of one member or element; nothing is read from a larger one on."""
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["{}\[\]]', re.DOTALL)
"""A whole string, or a bracket; a quotation mark alone begins a string that goes beyond the bytes at hand."""
_SPACE = re.compile(rb"[ \t\r\n\0]*+")
_PLAIN = re.compile(rb'[^,\]}\[{":\s\0]++')


@dataclass(frozen=True, slots=True)
class Piece:
    """A member of the object, or an element of its array."""

    key: str
    """Of the member, as it is written between its quotation marks."""
    data: bytes
    """JSON text of the value."""
    element: bool
    """It is an element of the array that is the member's value."""


class DamagedError(Exception):
    """The object ends in the middle, or what follows is none; what was given before stands."""


@dataclass
class _Window:
    """The part of a stream that is being looked at."""

    stream: BinaryIO
    data: bytes = b""
    at: int = 0
    ended: bool = field(default=False)

    def more(self) -> None:
        """Read on: as much again, so that a long piece is not looked through too often."""
        rest = len(self.data) - self.at
        if self.ended or rest > MAX_PIECE:
            raise DamagedError
        chunk = self.stream.read(max(CHUNK, rest))
        self.ended = not chunk
        self.data, self.at = self.data[self.at :] + chunk, 0

    def sign(self) -> bytes:
        """The next byte that is no space; it stays."""
        while True:
            found = _SPACE.match(self.data, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.data):
                return self.data[self.at : self.at + 1]
            self.more()

    def take(self, sign: bytes) -> bool:
        """Pass over one byte, if it is the next."""
        if self.sign() != sign:
            return False
        self.at += 1
        return True

    def value(self) -> bytes:
        """The text of the next value."""
        while True:
            self.sign()
            end = _end(self.data, self.at)
            if end is not None and (end < len(self.data) or self.data[end - 1 : end] in (b'"', b"}", b"]")):
                text = self.data[self.at : end]
                self.at = end
                return text
            self.more()


def pieces(stream: BinaryIO, array: str) -> Iterator[Piece]:
    """The members of the object in a stream, in order; of the member `array`, its elements one by one.

    Raises:
        DamagedError: the stream holds no object, or ends in the middle of it.
    """
    window = _Window(stream)
    if window.sign() == b"\xef":
        window.at += 3
    if not window.take(b"{"):
        raise DamagedError
    if window.take(b"}"):
        return
    while True:
        if window.sign() != b'"':
            raise DamagedError
        key = window.value()[1:-1].decode("utf-8", "replace")
        if not window.take(b":"):
            raise DamagedError
        if key == array and window.take(b"["):
            yield from _elements(window, key)
        else:
            yield Piece(key, window.value(), element=False)
        if not window.take(b","):
            break
    if not window.take(b"}"):
        raise DamagedError


def _elements(window: _Window, key: str) -> Iterator[Piece]:
    if window.take(b"]"):
        return
    while True:
        yield Piece(key, window.value(), element=True)
        if not window.take(b","):
            break
    if not window.take(b"]"):
        raise DamagedError


def _end(data: bytes, start: int) -> int | None:
    """Where a value ends that begins at a place; None where it goes beyond the bytes.

    Raises:
        DamagedError: no value begins there.
    """
    if data[start : start + 1] not in (b'"', b"{", b"["):
        found = _PLAIN.match(data, start)
        if found is None:
            raise DamagedError
        return found.end()
    depth = 0
    for token in _TOKEN.finditer(data, start):
        sign = token[0]
        if sign == b'"':
            return None
        if sign in (b"{", b"["):
            depth += 1
        elif sign in (b"}", b"]"):
            depth -= 1
        if depth == 0:
            return token.end()
    return None
