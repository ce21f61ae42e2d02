"""Checkpoints of a run that only its transcript shows."""

from __future__ import annotations

from decimal import Decimal

from loopscope.evidence.claims import claimed
from loopscope.evidence.events import CommitSeen, Seen, Segment
from loopscope.evidence.finals import NO_TRANSCRIPT, why_no_final
from loopscope.evidence.gate import Decision
from loopscope.evidence.joining import Joined, join, with_checkpoints
from loopscope.evidence.log_gate import decide_log, gathered
from loopscope.evidence.remarks import Step, noise_band, remarks
from loopscope.evidence.runlog import RunLog
from loopscope.evidence.scores import StateScores
from loopscope.evidence.windows import windows
from loopscope.models import CheckpointEvidence, EvidenceSource, Reconstructed, RunEvidence
from loopscope.models.evaluator import Evaluator
from loopscope.records import RunDir


def from_log(run: RunDir, log: RunLog | None, evaluator: Evaluator | None) -> RunEvidence:
    """The evidence of an imported run, all but its inputs."""
    if log is None:
        return RunEvidence(run_id=run.run_id, checkpoints=(), transcript_matched=False, final_reason=NO_TRANSCRIPT)
    seen = log.seen
    scores = StateScores(seen, evaluator)
    made = scores.of_commits
    decisions = decide_log(seen.commits, [item.value if item else None for item in made])
    names = [commit.sha for commit in seen.commits]
    kept = [decision.keep for decision in decisions]
    joined = join(windows(seen, dict(enumerate(names))), names, kept)
    noise = noise_band(scores.spreads.values())
    odd = remarks(_steps(scores, made, decisions), noise)
    first = next((position for position, keep in enumerate(kept) if keep), None)
    parts = gathered(seen.commits)
    checkpoints = []
    for position, commit in enumerate(seen.commits):
        begun = parts[position] if position == first else None
        own = _checkpoint(commit, decisions[position], joined[position], made[position], scores, begun)
        checkpoints.append(own.model_copy(update={"remarks": odd.get(position, ())}))
    builds, evaluations = with_checkpoints(seen, joined, kept)
    final, grade = scores.final()
    return RunEvidence(
        run_id=run.run_id,
        checkpoints=tuple(checkpoints),
        transcript_matched=bool(checkpoints),
        tool_calls=seen.tool_calls,
        warnings=(*seen.warnings, *_unscored(seen, evaluator)),
        builds=builds,
        evaluations=evaluations,
        states=seen.states,
        final=final,
        final_grade=grade,
        final_reason=why_no_final(scores) if final is None else "",
        noise_band=noise,
        order_checked=seen.order_checked,
        support=seen.support,
    )


def _checkpoint(
    commit: CommitSeen,
    decision: Decision,
    joined: Joined | None,
    made: Reconstructed | None,
    scores: StateScores,
    begun: Segment | None,
) -> CheckpointEvidence:
    """A commit as a checkpoint; `begun` is what happened before the first that counts, None for all others."""
    claim = claimed(commit.message, scores.evaluator)
    ran, why = scores.delivered(commit.state)
    clean, ambiguous, reason = _initial(commit, decision, scores.seen.start, begun)
    return CheckpointEvidence(
        sha=commit.sha,
        canonical=decision.keep,
        initial=clean,
        ambiguous_initial=ambiguous,
        reason=reason,
        grade=scores.grade(commit, made, claim),
        delivered=ran,
        delivered_reason=why,
        source=EvidenceSource.TRANSCRIPT,
        subject=commit.subject,
        kind=commit.kind,
        at=commit.at,
        confirmed_by=commit.confirmed_by,
        state=commit.state,
        reconstructed=made,
        claimed=claim,
        **(joined.fields() if joined is not None else {}),
    )


def _initial(
    commit: CommitSeen, decision: Decision, start: str | None, begun: Segment | None
) -> tuple[bool, bool, str]:
    """(clean, ambiguous, reason): what the followed artifact says of the first commit that counts."""
    if begun is None:
        return False, False, decision.reason
    if commit.state is None:
        return False, True, "first commit; nothing tells whether it holds the task as it was prepared"
    if commit.state != start:
        return False, False, f"first commit; the artifact had been changed before ({', '.join(begun.files[:3])})"
    if begun.uncertain:
        return False, True, f"first commit; {begun.uncertain}"
    return True, False, "the task as it was prepared: no change of an artifact file was seen before"


def _steps(scores: StateScores, made: list[Reconstructed | None], decisions: list[Decision]) -> list[Step]:
    steps, changes, seeds = [], 0, True
    for position, (commit, decision) in enumerate(zip(scores.seen.commits, decisions, strict=True)):
        part = commit.segment
        changes += part.changes
        seeds = seeds and (part.seeds_only or not part.changes)
        if decision.keep:
            score: Decimal | None = None
            if (item := made[position]) is not None:
                score = item.value
            followed = changes if commit.state is not None else None
            spread = scores.spreads.get(commit.state) if commit.state is not None else None
            steps.append(Step(position, score, followed, seeds and changes > 0, spread))
            changes, seeds = 0, True
    return steps


def _unscored(seen: Seen, evaluator: Evaluator | None) -> tuple[str, ...]:
    if evaluator is None:
        return ("its task has no evaluator file: no score is reconstructed (docs/evaluators.md)",)
    if evaluator.reward is None:
        return ("the evaluator file of its task has no reward formula: no score is reconstructed",)
    if seen.start is None:
        return (
            "nothing names the files of a solution, so no state is followed; `editable:` in its evaluator file does",
        )
    return ()
