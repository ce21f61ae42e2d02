"""What the evidence room finds in a run: windows, the proposal gate, grades (`runs/<run-id>/evidence.json`)."""

from __future__ import annotations

from enum import StrEnum

from loopscope.models.base import Record, Versioned


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
    canonical: bool
    """Passed the proposal gate."""
    initial: bool
    """The clean initial state: a score boundary, not an agent round."""
    reason: str
    """Why the gate kept or removed it; for a person to audit."""
    grade: Grade
    delivered: bool | None = None
    """g_i of Appendix C.3: ran to completion and, where there is a gate, passed it. None: not observable."""
    builds: int | None = None
    """Build invocations in the window since the previous retained commit; None without a matched transcript."""
    build_failures: int | None = None
    """Those that failed because of the code."""
    env_failures: int | None = None
    candidates: int | None = None
    """a: distinct (state, evaluation command) pairs in the window."""
    evaluated_before_commit: bool | None = None
    """The committed state had been evaluated locally before the commit."""


class RunEvidence(Versioned):
    """All checkpoints of a run in order, and what holds for the whole run."""

    run_id: str
    checkpoints: tuple[CheckpointEvidence, ...]
    transcript_matched: bool
    """A transcript exists and its commits were found in the repository."""
    warnings: tuple[str, ...] = ()
