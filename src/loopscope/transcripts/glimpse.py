"""A first look at a path, taken once for all readers that ask whether it is theirs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from loopscope.transcripts.files import head, is_file, is_folder

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
        found = []
        for line in self.start.split(b"\n", _LINES)[:_LINES]:
            if not line.startswith(b"{"):
                continue
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            if isinstance(value, dict):
                found.append(value)
        return tuple(found)
