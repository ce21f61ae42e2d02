"""What a run directory holds, file by file (`runs/<run-id>/manifest.json`)."""

from __future__ import annotations

from typing import ClassVar

from loopscope.models.base import Record, Versioned


class FileHash(Record):
    """One file as it was published."""

    sha256: str
    size: int
    """Bytes."""


class Manifest(Versioned):
    """Every file that a rollout left, written with the run directory. What comes later (scores, evidence) has seals."""

    SEALED_SINCE: ClassVar[int | None] = 1

    files: dict[str, FileHash]
    """By path below the run directory, with `/`; bytes that are no UTF-8 as surrogate escapes written `\\xNN`."""
