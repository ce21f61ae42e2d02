"""Each commit: what the gate said, where its score is from, what stands in its window."""

from __future__ import annotations

from loopscope.analysis.explain.rows import Told
from loopscope.analysis.explain.scores import score_told
from loopscope.analysis.explain.told import CheckpointTold
from loopscope.analysis.quantities import number
from loopscope.analysis.runs import CommitRow
from loopscope.models.evaluator import Evaluator


def checkpoints(told: Told, evaluator: Evaluator | None) -> tuple[CheckpointTold, ...]:
    """All commits of the run, in order."""
    return tuple(_checkpoint(told, position, row, evaluator) for position, row in enumerate(told.run.rows))


def _checkpoint(told: Told, position: int, row: CommitRow, evaluator: Evaluator | None) -> CheckpointTold:
    run, found, index = told.run, row.evidence, row.canonical_index
    return CheckpointTold(
        position=position,
        index=None if index is None else index + 1,
        sha=found.sha,
        subject=row.subject,
        kind=found.kind,
        canonical=found.canonical,
        gate_reason=found.reason,
        initial=found.initial,
        ambiguous_initial=found.ambiguous_initial,
        grade=row.scored.grade.value,
        source=found.source.value,
        at=found.at,
        confirmed_by=found.confirmed_by,
        state=found.state,
        score=score_told(row.scored, row.score, found.reconstructed, run.evidence, evaluator, table="checkpoints"),
        score_min=number(row.scored.rewards[0]) if row.scored.rewards else None,
        score_max=number(row.scored.rewards[-1]) if row.scored.rewards else None,
        n_verifications=len(row.score.verifications) if row.score else 0,
        high_water=None if index is None else number(run.c1.high_water[index]),
        delivered=found.delivered,
        delivered_reason=found.delivered_reason,
        builds=found.builds,
        build_failures=found.build_failures,
        env_failures=found.env_failures,
        candidates=found.candidates,
        builds_by_state=found.builds_by_state,
        build_failures_by_state=found.build_failures_by_state,
        candidates_by_state=found.candidates_by_state,
        evaluated_before_commit=found.evaluated_before_commit,
        claimed=found.claimed,
        remarks=found.remarks,
        builds_seen=told.builds_of(position),
        evaluations_seen=told.evaluations_of(position),
        candidates_seen=told.candidates_of(position),
    )
