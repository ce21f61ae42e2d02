"""Put together what a run shows: gate, windows, delivery and grade for each commit."""

from __future__ import annotations

from pathlib import Path

from loopscope.evidence.delivery import delivered
from loopscope.evidence.gate import Artifact, Decision, decide
from loopscope.evidence.windows import Counts, Window, windows
from loopscope.models import CheckpointEvidence, Commit, Grade, RunEvidence, RunRecord, StateScore, TaskFacts
from loopscope.records import RunDir
from loopscope.transcripts.atif_steps import read_tool_steps


def run_evidence(
    run: RunDir, task: TaskFacts, prepared: frozenset[bytes] = frozenset(), evaluators: Path | None = None
) -> RunEvidence:
    """The evidence of one run. Equal records give equal evidence.

    Args:
        run: its records.
        task: its task.
        prepared: files of the task's untouched work directory; empty when they are unknown.
        evaluators: directory of the study's own evaluator files.

    Raises:
        RecordError: the record or a score cannot be read.
    """
    record, scores = run.record, run.scores()
    steps = read_tool_steps(run.transcript)
    tool_calls = None if steps is None else len(steps)
    repository = run.repository()
    if repository is None:
        return RunEvidence(run_id=run.run_id, checkpoints=(), transcript_matched=False, tool_calls=tool_calls)
    try:
        values = {state: score.value for state, score in scores.items()}
        decisions = decide(record, repository, values, Artifact(task.editable, prepared))
    finally:
        repository.close()
    segments = windows(steps or (), frozenset(commit.sha for commit in record.commits))
    return RunEvidence(
        run_id=run.run_id,
        checkpoints=_checkpoints(record, decisions, segments, scores),
        transcript_matched=bool(segments),
        tool_calls=tool_calls,
        warnings=_warnings(record.has_transcript, bool(segments), record.commits),
    )


def _checkpoints(
    record: RunRecord, decisions: list[Decision], segments: dict[str, Window], scores: dict[str, StateScore]
) -> tuple[CheckpointEvidence, ...]:
    """One entry per commit; the segment of a commit that the gate removed joins the next."""
    found = []
    carried = Counts()
    for commit, decision in zip(record.commits, decisions, strict=True):
        window = segments.get(commit.sha)
        joined = carried.join(window.counts) if window else None
        if joined:
            carried = joined if not decision.keep else Counts()
        found.append(_checkpoint(record, commit, decision, window, joined, scores.get(commit.state)))
    return tuple(found)


def _checkpoint(
    record: RunRecord,
    commit: Commit,
    decision: Decision,
    window: Window | None,
    counts: Counts | None,
    score: StateScore | None,
) -> CheckpointEvidence:
    on_state = window.by_state if window else None
    return CheckpointEvidence(
        sha=commit.sha,
        canonical=decision.keep,
        initial=commit.sha == record.clean_initial,
        ambiguous_initial=commit.sha == record.ambiguous_initial,
        reason=_reason(record, commit, decision),
        grade=Grade.OFFICIAL if score is not None and score.value is not None else Grade.MISSING,
        delivered=delivered(score),
        builds=counts.known_builds if counts else None,
        build_failures=counts.build_failures if counts else None,
        env_failures=counts.env_failures if counts else None,
        candidates=len(counts.candidates) if counts else None,
        evaluated_before_commit=window.evaluated_before_commit if window else None,
        builds_by_state=on_state.known_builds if on_state else None,
        build_failures_by_state=on_state.build_failures if on_state else None,
        candidates_by_state=len(on_state.candidates) if on_state else None,
    )


def _reason(record: RunRecord, commit: Commit, decision: Decision) -> str:
    if decision.keep and commit.sha == record.clean_initial:
        return "the task as it was prepared"
    if decision.keep and commit.sha == record.ambiguous_initial:
        return "first commit; no prepared file that it holds differs, but some are left out or others were added"
    return decision.reason


def _warnings(has_transcript: bool, matched: bool, commits: tuple[Commit, ...]) -> tuple[str, ...]:
    if not commits:
        return ()
    if not has_transcript:
        return ("no transcript: builds and candidates are unknown, and nothing is discounted for them",)
    if not matched:
        return ("the transcript names none of the commits: builds and candidates are unknown",)
    return ()
