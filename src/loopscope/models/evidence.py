"""What the evidence room finds in a run: windows, the proposal gate, grades (`runs/<run-id>/evidence.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

from loopscope.models.base import Migration, Record, Versioned, same_fields


class Grade(StrEnum):
    """How well a checkpoint's score is known."""

    OFFICIAL = "official"
    CONFIRMED = "confirmed"
    INFERRED = "inferred"
    PROXY = "proxy"
    MISSING = "missing"


class CheckpointEvidence(Record):
    """One commit of the run, as the measures will take it."""

    sha: str
    """Of the commit."""
    canonical: bool
    """Passed the proposal gate."""
    initial: bool
    """The clean initial state: a score boundary, not an agent round."""
    ambiguous_initial: bool = False
    """The first commit, when the path audit can call it neither clean nor changed: no attempt, no boundary."""
    reason: str
    """Why the gate kept or removed it; for a person to audit."""
    grade: Grade
    """How well its score is known."""
    delivered: bool | None = None
    """g_i of Appendix C.3: ran to completion and, where there is a gate, passed it. None: not observable."""
    builds: int | None = None
    """b_i: build invocations in the window since the previous retained commit, evaluations that build by themselves
    among them. None without a matched transcript, and where nothing shows whether the evaluations build."""
    build_failures: int | None = None
    """n_i: those that failed because of the code; None without a matched transcript."""
    env_failures: int | None = None
    """Builds and evaluations in the window that the environment failed; None without a matched transcript."""
    candidates: int | None = None
    """a: distinct (state, evaluation command) pairs in the window."""
    evaluated_before_commit: bool | None = None
    """The committed state had been evaluated locally before the commit."""
    builds_by_state: int | None = None
    """Build invocations on the very artifact that was committed, whenever in the run; None where unknown."""
    build_failures_by_state: int | None = None
    """Those of `builds_by_state` that failed because of the code; None where unknown."""
    candidates_by_state: int | None = None
    """Distinct evaluation commands that were run on it."""


class RunEvidence(Versioned):
    """All checkpoints of a run in order, and what holds for the whole run."""

    schema_version: int = 2
    MIGRATIONS: ClassVar[Mapping[int, Migration]] = {1: same_fields}
    SEALED_SINCE: ClassVar[int | None] = 2

    run_id: str
    """Of the run."""
    checkpoints: tuple[CheckpointEvidence, ...]
    """One for each commit of the record, in its order."""
    transcript_matched: bool
    """A transcript exists and its commits were found in the repository."""
    tool_calls: int | None = None
    """Interaction steps of the transcript; None without a readable one."""
    warnings: tuple[str, ...] = ()
    """What was passed over or guessed, in words."""
