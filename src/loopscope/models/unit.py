"""What a unit of work is, by content; and the lock that says which units a study has."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from loopscope.models.base import Migration, Record, Versioned, same_fields
from loopscope.models.study import AgentSpec, Budget, EnvironmentSpec, ScoringSpec, StudySpec


class UnitIdentity(Record):
    """Everything that decides what a rollout is. Equal identities are the same unit, on any machine and path."""

    task: str
    """Name of the task."""
    task_hash: str
    """Of the prepared task, record-keeping included."""
    agent: AgentSpec
    """References to variables stay references: a key's value is no part of it."""
    harness: str | None = None
    """Name and version of the agent's code, where that is known before the rollout: `search 1`."""
    environment: EnvironmentSpec
    """Where it runs, without kwargs that cannot change a result."""
    seed: int
    """As the agent is given it."""
    budget_sec: float
    """Seconds that the agent is given."""

    @property
    def digest(self) -> str:
        """The unit's name: sha256 over its fields in a fixed order. The agent's label is only what people call it.

        Fields at their defaults are left out: a field that a later version adds renames nothing.
        """
        content = self.model_dump(mode="json", exclude_defaults=True)
        content["agent"].pop("label", None)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class UnitFile(Versioned):
    """`runs/<run-id>/unit.json`: what the unit of a run directory is, whole."""

    SEALED_SINCE: ClassVar[int | None] = 1

    unit: UnitIdentity
    """Whose digest the run's record names."""


class StudyLock(Versioned):
    """`study.lock.json`: what the study is resolved to."""

    schema_version: int = 2
    MIGRATIONS: ClassVar[Mapping[int, Migration]] = {1: same_fields}
    SEALED_SINCE: ClassVar[int | None] = 2

    name: str
    """Of the study."""
    agents: dict[str, AgentSpec]
    """By label."""
    environment: EnvironmentSpec
    """Where trials run."""
    budget: Budget
    """What one rollout may use."""
    record_keeping: str
    """As in `StudySpec`."""
    scoring: ScoringSpec
    """`max_checkpoints` may change: it selects what is scored and changes no score."""
    task_hashes: dict[str, str]
    """By task: content hash, as in `PreparedTask`."""
    verifier_hashes: dict[str, str]
    """By task, as in `PreparedTask`."""
    versions: dict[str, str]
    """loopscope, harbor, python, as the study was first run."""
    machine: dict[str, str]
    """`system` and `processor`, as the study was first run."""
    units: dict[str, str] = Field(default_factory=dict)
    """By run id: the digest of the unit that the study has there now. Empty in locks of version 1."""
    study: StudySpec | None = None
    """The study as it was last run; None in locks of version 1. Verbs that run no agent work on this."""
