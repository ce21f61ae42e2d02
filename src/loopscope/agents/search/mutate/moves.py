"""A move: one change that can be made to one file, with where, what kind and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_SETTINGS = ("named", "parameter", "flag")

Files = Mapping[str, bytes]
"""Editable files by path."""


@dataclass(frozen=True)
class Edit:
    """Replace the bytes `start:end` of a file."""

    start: int
    end: int
    text: bytes


@dataclass(frozen=True)
class Move:
    """One change. `file`, `site` and `operator` together name it in every state of the files that has the site."""

    family: str
    """constants, flags, choices or structure."""
    operator: str
    """What is done: `x4`, `delete`, `swap loops`."""
    file: str
    site_kind: str
    """What it is done to: `named`, `parameter`, `loop`."""
    site: str
    """Where, in words that survive other edits: `main:TABLE#0`."""
    edits: tuple[Edit, ...]
    change: str
    """For the commit message."""
    hypothesis: str
    weight: float = 1.0
    """Prior odds among moves of the same arm."""
    prior: float = 0.2
    """Prior chance that moves of this operator and site kind help."""
    onward: str | None = None
    """Operator that goes further the same way at the same site, if this one helps."""
    opposite: str | None = None
    """Operator that goes the other way there, if it does not."""

    @property
    def is_setting(self) -> bool:
        """It sets a value that the code offers to be set, rather than changing how the code works."""
        return self.site_kind in _SETTINGS

    @property
    def key(self) -> tuple[str, str, str]:
        """Name of the move across states."""
        return self.file, self.site, self.operator

    @property
    def arm(self) -> tuple[str, str, str]:
        """What the bandit learns about."""
        return self.operator, self.file, self.site_kind

    def apply(self, files: Files) -> dict[str, bytes]:
        """The files after the move. The files must be those that the move was found in."""
        data = files[self.file]
        for edit in sorted(self.edits, key=lambda e: (e.start, e.end), reverse=True):
            data = data[: edit.start] + edit.text + data[edit.end :]
        return {**files, self.file: data}
