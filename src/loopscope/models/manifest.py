"""What a run directory and an archive hold, file by file, and what was taken out of them on purpose.

Paths have `/` between their parts. Names are bytes, and may be no UTF-8: such a byte is written `\\xNN`, and so are
those of control characters and of the backslash itself (`\\x5c`). Every name has one spelling, and every spelling one
name.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from pydantic import Field

from loopscope.models.base import Record, Versioned


class FileHash(Record):
    """One file as it was published."""

    sha256: str
    """Of its bytes, hexadecimal."""
    size: int
    """Bytes."""


class Manifest(Versioned):
    """Every file that a rollout left, written with the run directory. What comes later (scores, evidence) has seals."""

    SEALED_SINCE: ClassVar[int | None] = 1

    files: dict[str, FileHash]
    """By path below the run directory; see above for names that are no UTF-8."""


class Part(StrEnum):
    """What can be left out of an archive, or removed from a study, without a number of the tables changing."""

    NATIVE = "native"
    """Agents' own logs; the transcript is none of them. Evidence that was made of them before stays valid."""
    WORKSPACE = "workspace"
    """Compressed workspaces. Without them nothing can be verified again."""
    ATTEMPTS = "attempts"
    """What earlier tries of a rollout left."""
    TABLES = "tables"
    """`loopscope analyze` makes them again."""
    REPORT = "report"
    """`loopscope report` makes it again."""


class Removal(Versioned):
    """`removed.json` of a run: what of it was taken away on purpose, so that nobody takes it for lost."""

    SEALED_SINCE: ClassVar[int | None] = 1

    parts: tuple[Part, ...]
    """In alphabetic order."""


class ArchivedFile(Record):
    """One file of an archive."""

    sha256: str
    """Of its bytes, hexadecimal."""
    size: int
    """Bytes."""
    executable: bool = False
    """The owner's executable bit; all that is kept of a mode."""


class ArchiveIndex(Versioned):
    """`index.json`, the first member of an archive: all that follows it, in this order."""

    SEALED_SINCE: ClassVar[int | None] = 1

    study: str
    """Its name, as the study file has it."""
    created_by: str
    """`loopscope <version>`."""
    left_out: tuple[Part, ...] = ()
    """What of the study was not put in; the runs' `removed.json` say the same of each run."""
    directories: tuple[str, ...]
    """Sorted, so that each stands after the one it lies in."""
    files: dict[str, ArchivedFile]
    """By path, sorted; names as in manifests."""
    links: dict[str, str] = Field(default_factory=dict)
    """Symbolic links inside prepared tasks: where each points, relative to its own directory and never out of its task.
    """
