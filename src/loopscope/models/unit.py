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
    task_hash: str
    """Of the prepared task, record-keeping included."""
    agent: AgentSpec
    """References to variables stay references: a key's value is no part of it."""
    harness: str | None = None
    """Name and version of the agent's code, where that is known before the rollout: `search 1`."""
    environment: EnvironmentSpec
    seed: int
    budget_sec: float

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


class StudyLock(Versioned):
    """`study.lock.json`: what the study is resolved to."""

    schema_version: int = 2
    MIGRATIONS: ClassVar[Mapping[int, Migration]] = {1: same_fields}
    SEALED_SINCE: ClassVar[int | None] = 2

    name: str
    agents: dict[str, AgentSpec]
    """By label."""
    environment: EnvironmentSpec
    budget: Budget
    record_keeping: str
    scoring: ScoringSpec
    """`max_checkpoints` may change: it selects what is scored and changes no score."""
    task_hashes: dict[str, str]
    verifier_hashes: dict[str, str]
    versions: dict[str, str]
    machine: dict[str, str]
    units: dict[str, str] = Field(default_factory=dict)
    """By run id: the digest of the unit that the study has there now. Empty in locks of version 1."""
    study: StudySpec | None = None
    """The study as it was last run; None in locks of version 1. Verbs that run no agent work on this."""
