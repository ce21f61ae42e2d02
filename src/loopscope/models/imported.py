"""What marks a study that no study file made."""

from __future__ import annotations

from typing import ClassVar

from loopscope.models.base import Versioned


class ImportedStudy(Versioned):
    """`imported.json`: a directory that was filled by `loopscope import` alone is a study too, and this names it."""

    SEALED_SINCE: ClassVar[int | None] = 1

    name: str
    """For people; the report's head. The directory's name as it was when the first log was imported."""
