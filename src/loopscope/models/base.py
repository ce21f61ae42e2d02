"""What every recorded type shares: strictness, immutability, a version."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A recorded value: no unknown fields, no mutation, decimals kept exact (as JSON strings)."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")


class Versioned(Record):
    """A top-level document. A newer version than this code knows is refused rather than half-read."""

    schema_version: int = 1

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a document written by a later loopscope."""
        known = type(self).model_fields["schema_version"].default
        if self.schema_version > known:
            raise ValueError(
                f"written by a newer loopscope (schema_version {self.schema_version}, this one knows {known}); upgrade"
            )
