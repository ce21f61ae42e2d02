"""The files that a sandbox leaves at its end, said once for those who write and those who read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from loopscope.models import Limit, Record
from loopscope.sandbox.errors import SandboxError


class LimitsFile(Record):
    """What was seen of a sandbox up to its end."""

    limits: dict[str, Limit] = Field(default_factory=dict)
    """By resource."""
    died: str | None = None
    """Why it was gone while somebody still used it; None when it stood to its end."""


class ExportOnStop(Record):
    """`export_on_stop` of `LocalEnvironment`: a directory that comes out of a sandbox before its files are gone."""

    path: str
    """Inside."""
    file: Path
    """Where the tar goes, outside, unless something lies there."""
    max_bytes: int = Field(gt=0)
    limits: Path | None = None
    """Where a `LimitsFile` goes, outside."""

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> ExportOnStop:
        """From an argument of an environment, as Harbor hands it on.

        Raises:
            SandboxError: a field is missing or does not fit; names it.
        """
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise SandboxError(
                f"export_on_stop: {'.'.join(map(str, first['loc']))}: {first['msg']}; `path`, `file` and `max_bytes` "
                "are needed"
            ) from None


def too_large_mark(file: Path) -> Path:
    """An empty file that tells why there is no tar at `file`: the directory holds more than is taken out."""
    return file.with_suffix(".too-large")
