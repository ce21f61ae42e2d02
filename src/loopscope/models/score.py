"""Scores: one verification, and the score of one state made of several."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar

from pydantic import Field

from loopscope.models.base import Migration, Record, Versioned, same_fields


class VerificationStatus(StrEnum):
    """How one verification ended. Only `ok` carries a reward."""

    OK = "ok"
    """It gave a finite number."""
    NO_REWARD = "no_reward"
    """The verifier finished and wrote neither file, or files without a reward (null, empty)."""
    UNREADABLE = "unreadable"
    """It wrote something that is no finite number."""
    TIMEOUT = "timeout"
    """It did not end within its deadline and was stopped."""
    UNREPLAYABLE = "unreplayable"
    """The state itself cannot be put into a sandbox: objects missing, names that no file system takes."""
    ERROR = "error"
    """The sandbox, the upload or Harbor failed; worth another try."""


class Verification(Record):
    """One run of the task's verifier on one state, in a sandbox of its own."""

    status: VerificationStatus
    """How it ended."""
    reward: Decimal | None = None
    """The official reward, exactly as printed."""
    metrics: dict[str, Decimal] = Field(default_factory=dict)
    """Every other number of the reward file (booleans as 0 and 1, nested keys joined by dots)."""
    reason: str | None = None
    """Why there is no reward, or what was odd about it (text and JSON disagreeing, a boolean reward)."""
    output: str = ""
    """Tail of what the verifier printed, decoded with replacement."""
    started_at: datetime
    """When its job began; the sandbox's start follows."""
    duration_sec: float
    """Of the verifier alone, without sandbox start and upload."""
    verifier_timeout_sec: float
    """Its deadline, in seconds."""
    alone: bool = False
    """It held the machine-wide lock while it ran."""


class StateScore(Versioned):
    """The score of one state of the artifact: all its verifications and their middle."""

    schema_version: int = 2
    MIGRATIONS: ClassVar[Mapping[int, Migration]] = {1: same_fields}
    SEALED_SINCE: ClassVar[int | None] = 2

    state: str
    """`final`, or the hex id of the scored tree (journal and version control left out)."""
    run_id: str
    """The run whose state was verified; another run's when an identical tree was scored there."""
    verifier_hash: str
    """As in `PreparedTask`; of the verifier that ran."""
    verifications: tuple[Verification, ...]
    """In the order in which they were run; those that were done again (errors, outgrown deadlines) are left out."""

    @property
    def rewards(self) -> tuple[Decimal, ...]:
        """Rewards of the verifications that gave one, ascending."""
        return tuple(sorted(v.reward for v in self.verifications if v.reward is not None))

    @property
    def value(self) -> Decimal | None:
        """Median of the rewards (the lower middle of an even number, so it is a number that was measured)."""
        rewards = self.rewards
        return rewards[(len(rewards) - 1) // 2] if rewards else None

    @property
    def spread(self) -> Decimal | None:
        """Largest minus smallest reward; None unless two were measured."""
        rewards = self.rewards
        return rewards[-1] - rewards[0] if len(rewards) > 1 else None

    @property
    def median_verification(self) -> Verification | None:
        """The verification whose reward is the value; without any reward, the first."""
        value = self.value
        for verification in self.verifications:
            if verification.reward == value:
                return verification
        return None
