"""What a step of a built-in agent's transcript says about itself (`step.extra["loopscope"]` in ATIF)."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from loopscope.models.base import Record

PROBLEM_KEY = "problem"
"""Key in the metadata an agent reports to Harbor: one line on what kept it from working, for the run's record."""
ANNOTATION_KEY = "loopscope"
"""Key of the block in `step.extra`."""


class StepKind(StrEnum):
    """What the tool call was for."""

    EDIT = "edit"
    BUILD = "build"
    EVALUATE = "evaluate"
    COMMIT = "commit"
    JOURNAL = "journal"
    RESTORE = "restore"
    """An edit that puts an earlier state back."""
    INSPECT = "inspect"
    """Looks or prepares; changes no task file."""


class StepStatus(StrEnum):
    """How the tool call ended."""

    OK = "ok"
    CODE_FAILURE = "code_failure"
    """The code does not compile or parse. On an `evaluate` step: the evaluation builds by itself, and that failed."""
    ENV_FAILURE = "env_failure"
    """The environment failed: a tool or mount is missing, the disk is full, a file cannot be written."""
    RUNTIME_FAILURE = "runtime_failure"
    """It ran and failed: crash, wrong result, failed gate, no score printed."""
    TIMEOUT = "timeout"


class StepAnnotation(Record):
    """The block itself. Written by the agents room, read by the evidence room; defined in docs/design/agents.md."""

    kind: StepKind
    status: StepStatus
    state: str | None = Field(default=None, pattern=r"^[0-9a-f]{16}$")
    """Artifact the call ran on, or left behind: first 16 hex digits of `artifact_state` (agents room)."""
    commit: str | None = Field(default=None, pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")
    """Full sha that a commit made; None for a commit that did not happen."""
    score: str | None = None
    """Local score as the evaluation printed it. None: none was printed."""
    round: int | None = Field(default=None, ge=0)
    """Round the call belongs to; 0 is the untouched baseline, None before it."""
