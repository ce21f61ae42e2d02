"""The final scores of a study, as the tables over many runs take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

type Categories = Mapping[str, str]
"""Task -> category."""


@dataclass(frozen=True)
class FinalScore:
    """Of one planned rollout."""

    agent: str
    task: str
    value: Decimal | None
    """None when it is missing, or the rollout has no record."""
    source: str | None = None
    """From where it is known (`ScoreSource`)."""
    paired: Decimal | None = None
    """The same with anchors that were measured here; None where the task is not calibrated."""
