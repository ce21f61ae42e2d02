"""Put together what a run shows: gate, windows, delivery and grade for each commit."""

from __future__ import annotations

from loopscope.evidence.delivery import delivered
from loopscope.evidence.gate import decide
from loopscope.evidence.windows import Window, windows
from loopscope.models import CheckpointEvidence, Commit, Grade, PreparedTask, RunEvidence, StateScore
from loopscope.records import RunDir
from loopscope.transcripts.atif import read_tool_steps


def run_evidence(run: RunDir, task: PreparedTask) -> RunEvidence:
    """The evidence of one run. Equal records give equal evidence.

    Raises:
        RecordError: the record or a score cannot be read.
    """
    record, scores = run.record, run.scores()
    repository = run.repository()
    if repository is None:
        return RunEvidence(run_id=run.run_id, checkpoints=(), transcript_matched=False)
    try:
        values = {state: score.value for state, score in scores.items()}
        decisions = decide(record, repository, values, task.info.editable)
    finally:
        repository.close()
    segments = windows(read_tool_steps(run.transcript), frozenset(commit.sha for commit in record.commits))
    checkpoints = []
    carried = Window()
    for commit, decision in zip(record.commits, decisions, strict=True):
        window = segments.get(commit.sha)
        joined = carried.join(window) if window else None
        if joined:
            carried = joined if not decision.keep else Window()
        initial = commit.sha == record.clean_initial
        checkpoints.append(
            _checkpoint(commit, decision.keep, decision.reason, initial, joined, scores.get(commit.state))
        )
    return RunEvidence(
        run_id=run.run_id,
        checkpoints=tuple(checkpoints),
        transcript_matched=bool(segments),
        warnings=_warnings(record.has_transcript, bool(segments), record.commits),
    )


def _checkpoint(
    commit: Commit, keep: bool, reason: str, initial: bool, window: Window | None, score: StateScore | None
) -> CheckpointEvidence:
    return CheckpointEvidence(
        sha=commit.sha,
        canonical=keep,
        initial=initial,
        reason="the task as it was prepared" if initial and keep else reason,
        grade=Grade.OFFICIAL if score is not None and score.value is not None else Grade.MISSING,
        delivered=delivered(score),
        builds=window.builds if window else None,
        build_failures=window.build_failures if window else None,
        env_failures=window.env_failures if window else None,
        candidates=len(window.candidates) if window else None,
        evaluated_before_commit=window.evaluated_before_commit if window else None,
    )


def _warnings(has_transcript: bool, matched: bool, commits: tuple[Commit, ...]) -> tuple[str, ...]:
    if not commits:
        return ()
    if not has_transcript:
        return ("no transcript: builds and candidates are unknown, and nothing is discounted for them",)
    if not matched:
        return ("the transcript names none of the commits: builds and candidates are unknown",)
    return ()
