"""Checkpoints of a run whose repository was kept: commits come from there, the transcript adds what led to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal

from loopscope.evidence.align import Title, align
from loopscope.evidence.claims import claimed
from loopscope.evidence.delivery import delivered, delivered_by
from loopscope.evidence.events import Seen
from loopscope.evidence.finals import NO_TRANSCRIPT, why_no_final
from loopscope.evidence.gate import EPS, Artifact, Decision, decide, is_administrative
from loopscope.evidence.joining import Joined, join, with_checkpoints
from loopscope.evidence.remarks import Step, noise_band, remarks
from loopscope.evidence.runlog import RunLog
from loopscope.evidence.scores import StateScores
from loopscope.evidence.seeds import diff_only_seeds
from loopscope.evidence.shell.messages import subject
from loopscope.evidence.windows import windows
from loopscope.models import CheckpointEvidence, Commit, EvidenceSource, Grade, RunEvidence, RunRecord, StateScore
from loopscope.models.evaluator import Evaluator
from loopscope.records import FINAL, RunDir
from loopscope.records.repository import Repository, TreeUnreadable


def from_repository(run: RunDir, log: RunLog | None, artifact: Artifact, evaluator: Evaluator | None) -> RunEvidence:
    """The evidence of a run of our own, all but its inputs.

    Raises:
        RecordError: the record or a score cannot be read.
    """
    record, official = run.record, run.scores()
    seen = log.seen if log is not None else Seen()
    scores = StateScores(seen, evaluator)
    # As everywhere, what the verifier measured stands before what the agent did.
    verified = {state: score.spread for state, score in official.items() if score.spread is not None}
    noise = noise_band(verified.values() or scores.spreads.values())
    bare = _without_commits(run, log, official.get(FINAL), scores).model_copy(update={"noise_band": noise})
    repository = run.repository()
    if repository is None:
        return bare
    with closing(repository):
        decisions, steps = _gated(record, repository, official, artifact)
    kept, names = [decision.keep for decision in decisions], [commit.sha for commit in record.commits]
    pairs = _matched(record.commits, seen)
    segments = windows(seen, {column: names[row] for row, column in pairs.items()})
    joined = join(segments, names, kept)
    odd = remarks(steps, noise)
    checkpoints = []
    for row, commit in enumerate(record.commits):
        score, column = official.get(commit.state), pairs.get(row)
        own = _checkpoint(record, commit, decisions[row], joined[row], score, column, scores)
        checkpoints.append(own.model_copy(update={"remarks": odd.get(row, ())}))
    builds, evaluations = with_checkpoints(seen, joined, kept)
    has_transcript = record.has_transcript or log is not None
    return bare.model_copy(
        update={
            "checkpoints": tuple(checkpoints),
            "transcript_matched": bool(segments),
            "builds": builds,
            "evaluations": evaluations,
            "warnings": (*_warnings(has_transcript, bool(segments), record.commits), *seen.warnings),
            "disagreements": tuple(_disagreements(record.commits, seen, pairs)) if log is not None else (),
        }
    )


def _without_commits(run: RunDir, log: RunLog | None, score: StateScore | None, scores: StateScores) -> RunEvidence:
    """What the transcript and the final score tell of a run, whatever its repository holds.

    The official final score has no place here; what the transcript says of the last state stands beside it.
    """
    seen = scores.seen
    told = log is not None
    final, grade = scores.final()
    if score is not None:
        grade = Grade.OFFICIAL if score.value is not None else Grade.MISSING
    why = ""
    if final is None and grade is not Grade.OFFICIAL:
        why = why_no_final(scores) if told else NO_TRANSCRIPT
    return RunEvidence(
        run_id=run.run_id,
        checkpoints=(),
        transcript_matched=False,
        tool_calls=seen.tool_calls if told else None,
        builds=seen.builds,
        evaluations=seen.evaluations,
        states=seen.states,
        final=final,
        final_grade=grade,
        final_reason=why,
        order_checked=seen.order_checked if told else None,
        support=seen.support if told else None,
        warnings=seen.warnings,
    )


def _gated(
    record: RunRecord, repository: Repository, official: Mapping[str, StateScore], artifact: Artifact
) -> tuple[list[Decision], list[Step]]:
    """(what the gate says of each commit, the retained ones as steps), read from the trees."""
    values = {state: score.value for state, score in official.items()}
    decisions = decide(record, repository, values, artifact)
    steps = []
    for step in _steps(record, decisions, values, repository, artifact):
        score = official.get(record.commits[step.position].state)
        steps.append(replace(step, spread=score.spread if score is not None else None))
    return decisions, steps


def _matched(commits: Sequence[Commit], seen: Seen) -> dict[int, int]:
    """From positions of the record's commits to those of the transcript's."""
    kept = [Title(subject(commit.message), commit.sha) for commit in commits]
    told = [Title(commit.subject, commit.sha if commit.hash_shown else None) for commit in seen.commits]
    return align(kept, told)


def _checkpoint(
    record: RunRecord,
    commit: Commit,
    decision: Decision,
    joined: Joined | None,
    score: StateScore | None,
    column: int | None,
    scores: StateScores,
) -> CheckpointEvidence:
    """A commit as a checkpoint; `column` is its position in the transcript's list, None where that does not show it."""
    matched = scores.seen.commits[column] if column is not None else None
    made = scores.of_commits[column] if column is not None else None
    claim = claimed(commit.message, scores.evaluator)
    grade = Grade.MISSING
    if score is not None and score.value is not None:
        grade = Grade.OFFICIAL
    elif score is None and matched is not None and scores.evaluator is not None:
        # A verifier that ran and gave nothing is not overruled by what the agent measured.
        grade = scores.grade(matched, made, claim)
    return CheckpointEvidence(
        sha=commit.sha,
        canonical=decision.keep,
        initial=commit.sha == record.clean_initial,
        ambiguous_initial=commit.sha == record.ambiguous_initial,
        reason=_reason(record, commit, decision),
        grade=grade,
        delivered=delivered(score),
        delivered_reason=delivered_by(score),
        source=EvidenceSource.BOTH if matched is not None else EvidenceSource.REPOSITORY,
        subject=commit.subject,
        kind=matched.kind if matched is not None else None,
        at=matched.at if matched is not None else None,
        confirmed_by="repository",
        state=matched.state if matched is not None else None,
        reconstructed=made,
        claimed=claim,
        **(joined.fields() if joined is not None else {}),
    )


def _reason(record: RunRecord, commit: Commit, decision: Decision) -> str:
    if decision.keep and commit.sha == record.clean_initial:
        return "the task as it was prepared"
    if decision.keep and commit.sha == record.ambiguous_initial:
        return "first commit; no prepared file that it holds differs, but some are left out or others were added"
    return decision.reason


def _steps(
    record: RunRecord,
    decisions: Sequence[Decision],
    values: Mapping[str, Decimal | None],
    repository: Repository,
    artifact: Artifact,
) -> Iterator[Step]:
    """Retained commits with what their trees say; only gains are looked into."""
    last: Commit | None = None
    before: Decimal | None = None
    for position, (commit, decision) in enumerate(zip(record.commits, decisions, strict=True)):
        if not decision.keep:
            continue
        score = values.get(commit.state)
        changes, seeds = None, False
        if last is not None and score is not None and before is not None and score - before > EPS:
            changes, seeds = _tree_changes(last, commit, repository, artifact)
        yield Step(position, score, changes, seeds)
        last = commit
        before = score if score is not None else before


def _tree_changes(old: Commit, new: Commit, repository: Repository, artifact: Artifact) -> tuple[int | None, bool]:
    """(how many artifact files differ, whether they differ in seeds alone); None where that cannot be read."""
    if old.snapshot_id != new.snapshot_id:
        return None, False
    try:
        diffs = [
            diff
            for diff in repository.diff(old.tree, new.tree)
            if not is_administrative(diff.path.encode("utf-8", "replace"), artifact)
        ]
    except TreeUnreadable:
        return None, False
    seeds = bool(diffs) and all(diff.change == "modified" and not diff.note and _seeds(diff.text) for diff in diffs)
    return len(diffs), seeds


def _seeds(text: str) -> bool:
    return diff_only_seeds("\n".join(line for line in text.split("\n") if not line.startswith("@@")))


def _disagreements(commits: Sequence[Commit], seen: Seen, pairs: Mapping[int, int]) -> Iterator[str]:
    """Where repository and transcript say different things."""
    matched = set(pairs.values())
    lengths = {len(told.sha) for told in seen.commits if told.hash_shown}
    rows = {commit.sha[:length]: row for length in lengths for row, commit in enumerate(commits)}
    for column, told in enumerate(seen.commits):
        if column in matched:
            continue
        row = rows.get(told.sha) if told.hash_shown else None
        where = f"message {told.at.message} makes commit {told.sha if told.hash_shown else repr(told.subject)[:80]}"
        if row is not None:
            yield f"{where}, which the repository has at another place in the order"
        elif told.confirmed:
            yield f"{where}, which the repository does not hold"
    if not seen.commits:
        return
    for row, commit in enumerate(commits):
        if row not in pairs:
            yield f"the repository holds commit {commit.sha[:8]}, which the transcript does not show"


def _warnings(has_transcript: bool, matched: bool, commits: Sequence[Commit]) -> tuple[str, ...]:
    if not commits:
        return ()
    if not has_transcript:
        return ("no transcript: builds and candidates are unknown, and nothing is discounted for them",)
    if not matched:
        return ("the transcript names none of the commits: builds and candidates are unknown",)
    return ()
