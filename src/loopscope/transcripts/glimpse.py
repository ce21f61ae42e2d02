"""A first look at a path, taken once for all readers that ask whether it is theirs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from loopscope.transcripts.files import head, is_file, is_folder
from loopscope.transcripts.parsing import parse

_LINES = 50


class Glimpse:
    """What can be seen of a path without reading all of it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def is_file(self) -> bool:
        """Whether it is a regular file and no link."""
        return is_file(self.path)

    @cached_property
    def is_folder(self) -> bool:
        """Whether it is a directory and no link."""
        return is_folder(self.path)

    @cached_property
    def start(self) -> bytes:
        """The first bytes of a file."""
        return head(self.path) if self.is_file else b""

    @cached_property
    def document(self) -> bytes:
        """The same, if they may begin a JSON object; else nothing."""
        start = self.start.lstrip(b"\xef\xbb\xbf \r\n\t")
        return start if start.startswith(b"{") else b""

    @cached_property
    def lines(self) -> tuple[Mapping[str, Any], ...]:
        """Objects that the first lines of a file hold; a line that goes beyond the first bytes is not among them."""
        found: list[Mapping[str, Any]] = []
        rows = self.start.removeprefix(b"\xef\xbb\xbf").split(b"\n", _LINES)
        for line in rows[:-1]:
            parsed = parse(line) if b"{" in line else None
            if parsed and isinstance(parsed.value, dict):
                found.append(parsed.value)
        if not found or len(rows) <= _LINES:
            found += self._last(rows[-1])
        return tuple(found)

    def _last(self, line: bytes) -> list[Mapping[str, Any]]:
        """What a line holds that may go on beyond the first bytes: it is worth no repair."""
        if not line.rstrip().endswith(b"}"):
            return []
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            return []
        return [value] if isinstance(value, dict) else []
