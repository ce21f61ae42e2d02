"""One run: its records and evidence become the numbers that the measures are made of, and the measures."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from loopscope.evidence.build import run_evidence
from loopscope.measures import C1, C2, C3, Checkpoint, Flag, c1, c2, c3, diagnostics
from loopscope.models import CheckpointEvidence, Commit, PreparedTask, RunEvidence, RunRecord, StateScore
from loopscope.records import FINAL, RunDir


@dataclass(frozen=True)
class CommitRow:
    """A commit with all that is known of it."""

    commit: Commit
    evidence: CheckpointEvidence
    score: StateScore | None
    canonical_index: int | None
    """Position among the canonical checkpoints, from 0; None when the gate removed it."""

    @property
    def is_attempt(self) -> bool:
        """The agent's work: neither the clean nor an ambiguous initial state."""
        return not self.evidence.initial and not self.evidence.ambiguous_initial


@dataclass(frozen=True)
class RunAnalysis:
    """A run with its measures."""

    record: RunRecord
    task: PreparedTask
    evidence: RunEvidence
    rows: tuple[CommitRow, ...]
    final: StateScore | None
    c1: C1
    c2: C2
    c3: C3
    shape: diagnostics.Shape
    build: diagnostics.Build
    feedback: diagnostics.Feedback

    @property
    def final_value(self) -> Decimal | None:
        """The official final score."""
        return self.final.value if self.final else None

    @property
    def canonical(self) -> list[CommitRow]:
        """Checkpoints that passed the gate, in order."""
        return [row for row in self.rows if row.canonical_index is not None]

    @property
    def flags(self) -> list[str]:
        """Remarks of the measures and of the evidence, sorted."""
        flags: set[Flag] = {*self.c1.flags, *self.c2.flags, *self.c3.flags}
        return sorted(flag.value for flag in flags) + list(self.evidence.warnings)

    @property
    def evaluated_before_share(self) -> Fraction | None:
        """Share of the agent's checkpoints whose state it had evaluated before the commit; None where unknown."""
        answers = [row.evidence.evaluated_before_commit for row in self.canonical if row.is_attempt]
        known = [answer for answer in answers if answer is not None]
        return Fraction(sum(known), len(known)) if known else None

    @property
    def c1_for_tables(self) -> Fraction | None:
        """C1, but nothing for a run whose literal 0 stands for no observed score at all."""
        return None if Flag.NO_OBSERVED_SCORE in self.c1.flags else self.c1.value


def analyze_run(run: RunDir, task: PreparedTask, prepared: frozenset[bytes] = frozenset()) -> RunAnalysis:
    """Find the evidence of a run, keep it, and compute the run's measures.

    Args:
        run: its records.
        task: its task.
        prepared: files of the task's untouched work directory; empty when they are unknown.

    Raises:
        RecordError: the record or a score cannot be read, or a file is not as it was published.
    """
    run.check_inputs()
    evidence = run_evidence(run, task, prepared)
    run.write_evidence(evidence)
    scores = run.scores()
    rows = _rows(run.record, evidence, scores)
    kept = [row for row in rows if row.canonical_index is not None]
    values = [row.score.value if row.score else None for row in kept]
    final = scores.get(FINAL)
    boundary = bool(kept) and kept[0].evidence.initial
    feedback = c3(
        values,
        final.value if final else None,
        initial_is_boundary=boundary,
        candidate_counts=[row.evidence.candidates for row in kept],
    )
    return RunAnalysis(
        record=run.record,
        task=task,
        evidence=evidence,
        rows=tuple(rows),
        final=final,
        c1=c1(values),
        c2=c2(
            Checkpoint(row.evidence.delivered, row.evidence.build_failures, initial=not row.is_attempt) for row in kept
        ),
        c3=feedback,
        shape=diagnostics.shape(values, initial_is_boundary=boundary),
        build=diagnostics.build([_builds(row) for row in kept if _is_evaluated_proposal(row)]),
        feedback=diagnostics.feedback(feedback),
    )


def _rows(record: RunRecord, evidence: RunEvidence, scores: dict[str, StateScore]) -> list[CommitRow]:
    rows, index = [], 0
    for commit, found in zip(record.commits, evidence.checkpoints, strict=False):
        rows.append(CommitRow(commit, found, scores.get(commit.state), index if found.canonical else None))
        index += found.canonical
    return rows


def _is_evaluated_proposal(row: CommitRow) -> bool:
    return not row.evidence.initial and row.score is not None and row.score.value is not None


def _builds(row: CommitRow) -> tuple[int | None, int] | None:
    """(builds, failures); None without a matched transcript segment."""
    found = row.evidence
    return None if found.build_failures is None else (found.builds, found.build_failures)
