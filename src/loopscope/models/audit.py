"""What an audit of tasks says: findings, what was looked for, and the trials it rests on."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Literal

from loopscope.models.base import Record
from loopscope.models.score import VerificationStatus


class FindingSeverity(StrEnum):
    """What a finding means for a score of the task."""

    HIGH = "high"
    """A reward can be had without the work, or the task gives none for it."""
    MEDIUM = "medium"
    """A way to a false reward is open, or the score says less than it seems to."""
    LOW = "low"
    """Worth mending; scores stand."""

    @property
    def weight(self) -> int:
        """For order: the graver the larger."""
        return {"low": 1, "medium": 2, "high": 3}[self.value]


HACK_KINDS: dict[int, str] = {
    1: "the benchmark's output is never compared",
    2: "results of a warm-up can be reused",
    3: "the solution's code runs in the process that scores",
    4: "the driver is not pinned",
    5: "the build is not clean",
    6: "the answer is recomputed from memory that the solution wrote",
    7: "the seed is fixed and public",
    8: "test data or answers can be read or written by the solution",
    9: "the verifier loads pickles of the solution's",
}
"""The nine ways in which published verifiers were beaten, by number."""


class AuditFinding(Record):
    """One thing that is wrong with a task."""

    rule: str
    """Name of the rule or probe that found it."""
    kind: int | None = None
    """Which of the nine kinds of hacks it opens (`HACK_KINDS`); None where it is of none of them."""
    severity: FindingSeverity
    """What it means for a score."""
    task: str
    """The task's name."""
    evidence: str
    """What was seen: the line that does it, or the rewards that a try got."""
    where: str
    """`file:line` below the task's directory, or `trial <act>`."""
    remedy: str
    """What to do about it."""


class RuleOutcome(Record):
    """What became of one rule on one task."""

    rule: str
    """Its name."""
    kind: int | None = None
    """Of the nine kinds of hacks the one that it looks for."""
    half: Literal["static", "dynamic"]
    """Read from the files, or tried."""
    outcome: Literal["clean", "found", "not applicable", "failed"]
    """`failed`: the rule itself could not do its work."""
    reason: str | None = None
    """Why it does not apply, or failed."""
    seconds: float
    """Wall clock."""


class AuditTrial(Record):
    """One verification that the audit made."""

    act: str
    """What was done before: `starter`, `reference`, or what a probe tried."""
    status: VerificationStatus
    """What became of it."""
    reward: Decimal | None
    """The official reward; None: none was given."""
    reason: str | None = None
    """Why there is none, or what was odd."""
    seconds: float
    """Of the verifier's script."""


class TaskAudit(Record):
    """What was found on one task."""

    task: str
    """Its name."""
    source: str
    """Its directory, or the built-in name, as it was asked for."""
    problem: str | None = None
    """Why it could not be audited; one line with a remedy."""
    missing: bool = False
    """There is no such task."""
    findings: tuple[AuditFinding, ...] = ()
    """The gravest first."""
    rules: tuple[RuleOutcome, ...] = ()
    """Everything that was looked for."""
    trials: tuple[AuditTrial, ...] = ()
    """Every verification, in the order of their ends."""
    seconds: float = 0.0
    """Wall clock."""

    def at_least(self, severity: FindingSeverity) -> int:
        """How many findings weigh this much or more."""
        return sum(f.severity.weight >= severity.weight for f in self.findings)


class AuditReport(Record):
    """What `loopscope tasks check` writes; no part of a study, so it has a version of its own."""

    schema_version: Literal[1] = 1
    """Of this format."""
    loopscope: str
    """Version that looked."""
    tasks: tuple[TaskAudit, ...]
    """In the order that they were asked for."""
