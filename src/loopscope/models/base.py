"""What every recorded type shares: strictness, immutability, a version and the way up from earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

Migration = Callable[[dict[str, Any]], dict[str, Any]]
"""From the JSON object of one version to that of the next; `schema_version` is set by the caller."""

NEWER_VERSION = "newer_version"
"""Type of the validation error that a document of a newer version meets."""


class Record(BaseModel):
    """A recorded value: no unknown fields, no mutation, decimals kept exact (as JSON strings)."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")


class Versioned(Record):
    """A top-level document. Earlier versions are read; a newer one than this code knows is refused, not half-read.

    A subclass of version n > 1 names in `MIGRATIONS`, for every earlier version k, the step from k to k + 1.
    `docs/records.md` describes the documents and what each version changed.
    """

    schema_version: int = 1

    MIGRATIONS: ClassVar[Mapping[int, Migration]] = {}
    SEALED_SINCE: ClassVar[int | None] = None
    """The version from which on its file carries a seal (`records/durable.py`); None: it never does."""

    @model_validator(mode="before")
    @classmethod
    def _bring_up(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        known = cls.model_fields["schema_version"].default
        version = data.get("schema_version", known)
        if not isinstance(version, int) or isinstance(version, bool):
            return data
        if version > known:
            raise PydanticCustomError(
                NEWER_VERSION,
                "written by a newer loopscope (schema_version {version}, this one knows {known}); upgrade loopscope",
                {"version": version, "known": known},
            )
        for step in range(version, known):
            if step not in cls.MIGRATIONS:
                raise ValueError(f"schema_version {version} was never written by any loopscope; restore the file")
            data = {**cls.MIGRATIONS[step](dict(data)), "schema_version": step + 1}
        return data


def same_fields(data: dict[str, Any]) -> dict[str, Any]:
    """The step between versions whose fields are the same (the later one is sealed)."""
    return data
