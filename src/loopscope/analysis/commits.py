"""One commit of a run with everything that is known of it: repository, evidence, and the score that counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from loopscope.evidence.delivery import GATES
from loopscope.models import (
    CheckpointEvidence,
    Commit,
    Grade,
    Reconstructed,
    RunEvidence,
    RunRecord,
    StateScore,
    TaskFacts,
)


class ScoreSource(StrEnum):
    """From where a score is known."""

    OFFICIAL = "official"
    """The task's verifier gave it."""
    REPORTED = "reported"
    """An imported log states it: the task's verifier gave it, but in the agent's own sandbox. Only final scores."""
    RECONSTRUCTED = "reconstructed"
    """Evaluations in an imported run's transcript, through the task's formula; never an official score."""


@dataclass(frozen=True)
class Scored:
    """The score that counts for a state, and from where it is known."""

    value: Decimal | None = None
    """None when it is missing."""
    source: ScoreSource | None = None
    """None without a value."""
    grade: Grade = Grade.MISSING
    """How well it is known. What no verifier gave is never official, whatever evidence says."""
    rewards: tuple[Decimal, ...] = ()
    """All measurements behind the value, ascending."""
    metric: Decimal | None = None
    """What the value was made of, in the task's own unit; None where nothing tells it."""


@dataclass(frozen=True)
class CommitRow:
    """A commit as the measures take it."""

    evidence: CheckpointEvidence
    commit: Commit | None
    """Of the repository; None for an imported run, which has none."""
    score: StateScore | None
    """What the task's verifier said; None when it never ran on this state."""
    scored: Scored
    """The score that counts."""
    canonical_index: int | None
    """Position among the canonical checkpoints, from 0; None when the gate removed it."""

    @property
    def sha(self) -> str:
        """Id of the commit, or the name that stands for it (`CheckpointEvidence.sha`)."""
        return self.evidence.sha

    @property
    def subject(self) -> str:
        """First line of the message; an agent's text."""
        return self.commit.subject if self.commit else self.evidence.subject

    @property
    def commit_time(self) -> datetime | None:
        """The agent's claim; None where nothing tells."""
        return self.commit.commit_time if self.commit else None

    @property
    def value(self) -> Decimal | None:
        """The score that counts; None when it is missing."""
        return self.scored.value

    @property
    def is_attempt(self) -> bool:
        """The agent's work: neither the clean nor an ambiguous initial state."""
        return not self.evidence.initial and not self.evidence.ambiguous_initial

    @property
    def is_evaluated_proposal(self) -> bool:
        """A round of the diagnostics: not the clean initial state, and with a score."""
        return not self.evidence.initial and self.value is not None


def commit_rows(
    record: RunRecord, task: TaskFacts, evidence: RunEvidence, scores: Mapping[str, StateScore]
) -> tuple[CommitRow, ...]:
    """All commits in order; those of an imported run are known from its evidence alone."""
    rows, index = [], 0
    for commit, found in _paired(record, evidence):
        score = scores.get(commit.state) if commit else None
        made = found.reconstructed if record.imported is not None else None
        scored = scored_by(task, evidence, score, made, found.grade)
        rows.append(CommitRow(found, commit, score, scored, index if found.canonical else None))
        index += found.canonical
    return tuple(rows)


def _paired(record: RunRecord, evidence: RunEvidence) -> Iterator[tuple[Commit | None, CheckpointEvidence]]:
    if record.imported is not None and not record.commits:
        return ((None, found) for found in evidence.checkpoints)
    return zip(record.commits, evidence.checkpoints, strict=False)  # without a repository there is no evidence


def scored_by(
    task: TaskFacts, evidence: RunEvidence, score: StateScore | None, made: Reconstructed | None, grade: Grade
) -> Scored:
    """The official score where there is one, else the reconstructed one.

    Args:
        task: its task.
        evidence: of the run; holds the evaluations that `made` names.
        score: what the verifier said.
        made: the reconstruction, where one may count: an official score that is missing stays missing in our own runs.
        grade: how evidence grades the state.
    """
    if score is not None and score.value is not None:
        return Scored(score.value, ScoreSource.OFFICIAL, Grade.OFFICIAL, score.rewards, _official_metric(task, score))
    graded = Grade.MISSING if grade is Grade.OFFICIAL else grade
    if made is None:
        return Scored(grade=graded)
    seen = [evidence.evaluations[at] for at in made.evaluations]
    rewards = tuple(sorted(reward for one in seen for reward in one.rewards))
    metrics = (raw for one in seen for raw, reward in zip(one.raw, one.rewards, strict=False) if reward == made.value)
    certain = Grade.INFERRED if graded is Grade.MISSING else graded
    return Scored(made.value, ScoreSource.RECONSTRUCTED, certain, rewards, next(metrics, None))


def final_scored(task: TaskFacts, record: RunRecord, evidence: RunEvidence, score: StateScore | None) -> Scored:
    """The final score: official; of an imported run else the one that its log states, else the reconstructed one."""
    imported = record.imported
    made = evidence.final if imported is not None else None
    scored = scored_by(task, evidence, score, made, evidence.final_grade if made else Grade.MISSING)
    if scored.source is ScoreSource.OFFICIAL or imported is None or imported.reported is None:
        return scored
    reward = imported.reported.reward
    return Scored(reward, ScoreSource.REPORTED, Grade.REPORTED, (reward,))


def _official_metric(task: TaskFacts, score: StateScore) -> Decimal | None:
    """The number beside the reward that the task names as its metric, or the only one that is no verdict."""
    verification = score.median_verification
    numbers = verification.metrics if verification else {}
    if task.anchors.metric in numbers:
        return numbers[task.anchors.metric]
    others = [value for name, value in numbers.items() if name not in GATES]
    return others[0] if len(others) == 1 else None
