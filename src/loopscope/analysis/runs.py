"""One run: its records and evidence become the numbers that the measures are made of, and the measures."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from loopscope.analysis.commits import CommitRow, Scored, ScoreSource, commit_rows, final_scored
from loopscope.analysis.prices import cost_doubt
from loopscope.evidence.build import renewed_evidence
from loopscope.measures import C1, C2, C3, EPS, Checkpoint, Flag, c1, c2, c3, diagnostics, extras
from loopscope.models import RunEvidence, RunRecord, StateScore, TaskFacts
from loopscope.models.pairing import Pairing
from loopscope.records import FINAL, RecordError, RunDir

__all__ = ["CommitRow", "RunAnalysis", "ScoreSource", "Scored", "analyze_run"]


@dataclass(frozen=True)
class RunAnalysis:
    """A run with its measures."""

    record: RunRecord
    task: TaskFacts
    evidence: RunEvidence
    rows: tuple[CommitRow, ...]
    final: StateScore | None
    """What the task's verifier said of the final state; None when it never ran on it."""
    final_scored: Scored
    """The final score that counts: official, else, for an imported run, reconstructed."""
    c1: C1
    c2: C2
    c3: C3
    shape: diagnostics.Shape
    build: diagnostics.Build
    build_by_state: diagnostics.Build
    """The same from the counts on the very states that were committed, instead of the windows before the commits."""
    feedback: diagnostics.Feedback
    renewed: bool
    """Its evidence was made anew, for something that it is made of is not as it was."""
    pairing: Pairing | None = None
    """How its official rewards are paired; None where its task is not calibrated."""

    @property
    def final_value(self) -> Decimal | None:
        """The final score that counts; None when it is missing."""
        return self.final_scored.value

    @property
    def canonical(self) -> list[CommitRow]:
        """Checkpoints that passed the gate, in order."""
        return [row for row in self.rows if row.canonical_index is not None]

    @property
    def is_reconstructed(self) -> bool:
        """Some score that its measures rest on is reconstructed."""
        scored = [*(row.scored for row in self.canonical), self.final_scored]
        return any(found.source is ScoreSource.RECONSTRUCTED for found in scored)

    @property
    def flags(self) -> list[str]:
        """Remarks of the measures, sorted, then of the evidence, then on the final score and the cost."""
        flags: set[Flag] = {*self.c1.flags, *self.c2.flags, *self.c3.flags}
        doubts = (self.final_doubt, cost_doubt(self.record))
        return [*sorted(flag.value for flag in flags), *self.evidence.warnings, *filter(None, doubts)]

    @property
    def is_reported(self) -> bool:
        """Its final score is one that its log states."""
        return self.final_scored.source is ScoreSource.REPORTED

    @property
    def reconstructed_final(self) -> Decimal | None:
        """The final score by the transcript, also where one that the log states counts; None of our own runs."""
        made = self.evidence.final if self.record.imported is not None else None
        return made.value if made is not None else None

    @property
    def final_doubt(self) -> str | None:
        """That the log states another final score than its transcript shows; None where they agree within 0.01."""
        made = self.reconstructed_final
        if not self.is_reported or made is None or self.final_value is None:
            return None
        if abs(Fraction(self.final_value) - Fraction(made)) <= EPS:
            return None
        return f"the log states a final score of {self.final_value}, and its transcript shows {made}"

    def paired(self, score: StateScore | None) -> Decimal | None:
        """The paired reward of a state: of the verification whose reward is its official score; None without either."""
        verification = score.median_verification if score is not None and self.pairing is not None else None
        if verification is None or self.pairing is None:
            return None
        return self.pairing.reward(verification.reward, verification.metrics)

    @property
    def evaluated_before_share(self) -> Fraction | None:
        """Share of the agent's checkpoints whose state it had evaluated before the commit; None where unknown."""
        return extras.known_share(row.evidence.evaluated_before_commit for row in self.canonical if row.is_attempt)

    @property
    def c1_for_tables(self) -> Fraction | None:
        """C1, but nothing for a run whose literal 0 stands for no observed score at all."""
        return None if Flag.NO_OBSERVED_SCORE in self.c1.flags else self.c1.value


def analyze_run(
    run: RunDir,
    task: TaskFacts,
    prepared: frozenset[bytes] = frozenset(),
    evaluators: Path | None = None,
    pairing: Pairing | None = None,
) -> RunAnalysis:
    """Find the evidence of a run, keep it, and compute the run's measures.

    Args:
        run: its records.
        task: what is known of its task.
        prepared: files of the task's untouched work directory; empty when they are unknown.
        evaluators: directory of the study's own evaluator files.
        pairing: how the task's official rewards are paired, where it is calibrated.

    Raises:
        RecordError: the record or a score cannot be read, or a file is not as it was published; or a score is no number
            of ordinary size.
    """
    run.check_inputs()
    evidence, renewed = renewed_evidence(run, task, prepared, evaluators)
    if renewed:
        run.write_evidence(evidence)
    scores = run.scores()
    try:
        return measured(run.record, task, evidence, scores, renewed=renewed, pairing=pairing)
    except ValueError as error:
        raise RecordError(f"{run.path}: its scores cannot be measured: {error}") from None


def measured(
    record: RunRecord,
    task: TaskFacts,
    evidence: RunEvidence,
    scores: dict[str, StateScore],
    *,
    renewed: bool = False,
    pairing: Pairing | None = None,
) -> RunAnalysis:
    """The measures of a run whose evidence is known."""
    rows = commit_rows(record, task, evidence, scores)
    kept = [row for row in rows if row.canonical_index is not None]
    values = [row.value for row in kept]
    official = scores.get(FINAL)
    final = final_scored(task, record, evidence, official)
    boundary = bool(kept) and kept[0].evidence.initial
    feedback = c3(
        values,
        final.value,
        initial_is_boundary=boundary,
        candidate_counts=[row.evidence.candidates for row in kept],
    )
    proposals = [row.evidence for row in kept if row.is_evaluated_proposal]
    return RunAnalysis(
        record=record,
        task=task,
        evidence=evidence,
        rows=rows,
        final=official,
        final_scored=final,
        c1=c1(values),
        c2=c2(
            Checkpoint(row.evidence.delivered, row.evidence.build_failures, initial=not row.is_attempt) for row in kept
        ),
        c3=feedback,
        shape=diagnostics.shape(values, initial_is_boundary=boundary),
        build=diagnostics.build([_counted(found.builds, found.build_failures) for found in proposals]),
        build_by_state=diagnostics.build(
            [_counted(found.builds_by_state, found.build_failures_by_state) for found in proposals]
        ),
        feedback=diagnostics.feedback(feedback),
        renewed=renewed,
        pairing=pairing,
    )


def _counted(builds: int | None, failures: int | None) -> tuple[int | None, int] | None:
    """(builds, failures); None without a matched transcript segment."""
    return None if failures is None else (builds, failures)
