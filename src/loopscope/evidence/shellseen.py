"""Transcripts of agents whose steps say nothing of themselves, as events: read from their commands and edits."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from loopscope.evidence.annotated import echoes_build
from loopscope.evidence.answers import Answers
from loopscope.evidence.artifact.scope import ArtifactScope, scope_of
from loopscope.evidence.artifact.states import Findings, track
from loopscope.evidence.artifact.timeline import StateOf, Timeline, commit_changes
from loopscope.evidence.events import CommitSeen, Seen
from loopscope.evidence.peeking import peeking
from loopscope.evidence.segments import segments
from loopscope.evidence.shell.builds import BuildFinding, Outcome, find_builds
from loopscope.evidence.shell.calls import ShellCall, shell_calls
from loopscope.evidence.shell.commit_kinds import CommitKind, classify
from loopscope.evidence.shell.commit_types import CommitFailure, CommitFinding, Confirmation
from loopscope.evidence.shell.commits import find_commits
from loopscope.evidence.shell.evaluations import EvaluationFinding, find_evaluations
from loopscope.evidence.shell.evaluations import EvaluationStatus as Found
from loopscope.evidence.shell.rules import EvaluationRule, Role, rules_for
from loopscope.evidence.subagents import anchors
from loopscope.evidence.support import support
from loopscope.models import BuildSeen, BuildStatus, EvaluationSeen, EvaluationStatus, Moment
from loopscope.models.evaluator import Evaluator
from loopscope.transcripts.canonical import MAIN, Call, NoteKind, Transcript
from loopscope.transcripts.canonical import Role as Speaker

_BUILDS = {
    Outcome.SUCCEEDED: BuildStatus.SUCCEEDED,
    Outcome.CODE_FAILURE: BuildStatus.CODE_FAILURE,
    Outcome.ENVIRONMENT_FAILURE: BuildStatus.ENVIRONMENT_FAILURE,
    Outcome.UNKNOWN: BuildStatus.UNKNOWN,
}
_EVALUATED = {
    Found.RESULT: EvaluationStatus.RESULT,
    Found.FAILED: EvaluationStatus.FAILED,
    Found.NO_RESULT: EvaluationStatus.NO_RESULT,
}
_INTERPRETED = frozenset([".py", ".sh", ".rb", ".js", ".pl", ".lua", ".r", ".R"])


@dataclass(frozen=True)
class _Thread:
    """One thread, read."""

    name: str
    calls: Sequence[Call]
    shells: Sequence[ShellCall]
    commits: Sequence[CommitFinding]
    builds: Sequence[BuildFinding]
    evaluations: Sequence[EvaluationFinding]
    timeline: Timeline


def seen_in_transcript(
    transcript: Transcript, editable: Sequence[str] = (), evaluator: Evaluator | None = None
) -> Seen:
    """The events of a transcript.

    Args:
        transcript: of the run.
        editable: files that the task lets an agent change; where it names none, its instruction is read.
        evaluator: of the task.
    """
    scope = _scope(transcript, editable)
    first = next((message.text for message in transcript.messages if message.role is Speaker.USER), "")
    rules = rules_for(transcript.source.task, first, evaluator)
    names = transcript.threads
    threads = [_read(transcript, name, scope, rules) for name in names]
    main = threads[0]
    followed = scope.known
    commits = _commits(main, scope, followed=followed)
    places = anchors(transcript, [commit.at.call for commit in commits])
    warnings = [*_warnings(transcript, threads[1:], places)]
    shaken = _shaken(threads[1:], places)
    builds: list[BuildSeen] = []
    evaluations: list[EvaluationSeen] = []
    building = _building(main, scope)
    for thread in threads:
        states = followed and thread is main
        builds += _thread_builds(thread, main.timeline if states else None)
        evaluations += _thread_evaluations(thread, main.timeline if states else None, evaluator, building, shaken)
    for thread in threads[1:]:
        if places.get(thread.name) is not None:
            commits += _commits(thread, scope, followed=False)
    warnings += peeking(main.shells, [commit.sha for commit in commits if commit.hash_shown])
    changes = main.timeline.changes
    return Seen(
        commits=tuple(sorted(commits, key=lambda item: _order(item.at, places))),
        builds=tuple(builds),
        evaluations=tuple(evaluations),
        tool_calls=len(transcript.calls),
        support=support(transcript),
        states=main.timeline.states if followed else None,
        start=_name(0) if followed else None,
        last=_name(changes[-1].state if changes else 0) if followed else None,
        last_certain=shaken is None,
        order_checked=not transcript.branched,
        warnings=tuple(warnings),
        subagents=places,
    )


def _scope(transcript: Transcript, editable: Sequence[str]) -> ArtifactScope:
    told = scope_of(transcript)
    return ArtifactScope(frozenset(editable), told.root or transcript.source.cwd) if editable else told


def _read(transcript: Transcript, name: str, scope: ArtifactScope, rules: Sequence[EvaluationRule]) -> _Thread:
    calls = transcript.calls_of(name)
    shells = shell_calls(calls, transcript.source.cwd)
    commits = find_commits(shells)
    builds = find_builds(shells, scope)
    evaluations = find_evaluations(shells, rules, builds)
    timeline = track(calls, shells, scope, Findings(commits, builds, evaluations, rules))
    return _Thread(name, calls, shells, commits, builds, evaluations, timeline)


def _order(moment: Moment, places: dict[str, int | None]) -> tuple[int, int, int]:
    call = moment.call if moment.thread == MAIN else places.get(moment.thread) or 0
    return call, moment.thread != MAIN, moment.order


def _name(state: int | None) -> str | None:
    return None if state is None else f"s{state}"


def _commits(thread: _Thread, scope: ArtifactScope, *, followed: bool) -> list[CommitSeen]:
    made = [item for item in thread.commits if _counts(item, scope)]
    differs = commit_changes(thread.timeline, [(item.position, item.order) for item in made]) if followed else {}
    unknown: tuple[bool | None, bool | None] = (None, None)
    kinds = classify(
        made,
        lambda item: differs.get((item.position, item.order), unknown)[0],
        lambda item: differs.get((item.position, item.order), unknown)[1],
    )
    cuts = [(item.position, item.order) for item in made]
    parts = segments(thread.calls, thread.shells, thread.timeline, scope, cuts)
    found: list[CommitSeen] = []
    taken: set[str] = set()
    for classified, part in zip(kinds, parts, strict=True):
        item = classified.commit
        state = thread.timeline.commits.get((item.position, item.order)) if followed else None
        sha = _sha(item, thread.name, taken)
        found.append(
            CommitSeen(
                at=Moment(message=item.index, call=item.position, order=max(item.order, 0), thread=thread.name),
                sha=sha,
                hash_shown=item.hash is not None,
                subject=item.subject or "",
                message=item.message or item.subject or "",
                state=_name(state.state) if state is not None else None,
                kind=_kind(classified.kind, item),
                confirmed_by=(item.confirmation if item.happened else Confirmation.NONE).value,
                reason=item.reason,
                amend=item.amend,
                repeated_initial=classified.repeated,
                segment=part,
            )
        )
    return found


def _counts(commit: CommitFinding, scope: ArtifactScope) -> bool:
    """Whether a commit happened, or may have, in a repository that may be the task's."""
    if commit.happened is False or (commit.happened is None and commit.failure is CommitFailure.KILLED):
        return False
    return scope.inside(commit.directory) is not False


def _sha(commit: CommitFinding, thread: str, taken: set[str]) -> str:
    sha = commit.hash or f"m{commit.index}.{max(commit.order, 0)}" + ("" if thread == MAIN else f".{thread}")
    base, number = sha, 1
    while sha in taken:
        number += 1
        sha = f"{base}.{number}"
    taken.add(sha)
    return sha


def _kind(kind: CommitKind, commit: CommitFinding) -> str:
    if kind is not CommitKind.CHANGE:
        return kind.value
    message = (commit.message or commit.subject or "").lower()
    return "change+hypothesis" if "change" in message and "hypothesis" in message else "round"


def _thread_builds(thread: _Thread, timeline: Timeline | None) -> Iterator[BuildSeen]:
    for item in thread.builds:
        status = _BUILDS.get(item.outcome)
        if status is None:
            continue
        state = timeline.builds.get((item.position, item.order)) if timeline else None
        yield BuildSeen(
            at=Moment(message=item.index, call=item.position, order=item.order, thread=thread.name),
            tool=item.tool.label,
            status=status,
            reason=item.reason + ("; a scratch program, which does not count" if item.scratch else ""),
            runtime_failure=item.runtime_failure,
            counted=not item.scratch and status is not BuildStatus.ENVIRONMENT_FAILURE,
            state=_name(state.state) if state is not None and not item.scratch else None,
        )


def _building(main: _Thread, scope: ArtifactScope) -> bool | None:
    """Whether evaluations that do not show it build by themselves; None when nothing tells."""
    if any(not item.scratch and item.outcome is not Outcome.NOT_RUN for item in main.builds):
        return False
    endings = {posixpath.splitext(name)[1] for name in scope.files}
    return False if endings and endings <= _INTERPRETED else None


def _thread_evaluations(
    thread: _Thread, timeline: Timeline | None, evaluator: Evaluator | None, building: bool | None, shaken: int | None
) -> Iterator[EvaluationSeen]:
    builds = {(item.position, item.order) for item in thread.builds}
    shells = {shell.position: shell for shell in thread.shells}
    measured = [
        _measured(timeline.evaluations.get((item.position, item.order)) if timeline else None, item, shaken)
        for item in thread.evaluations
    ]
    answers = Answers(thread.evaluations, [state for state, _, _ in measured], shells)
    for item, (state, certain, reason) in zip(thread.evaluations, measured, strict=True):
        status = _EVALUATED.get(item.status)
        if status is None:
            continue
        place = (item.position, item.order)
        why = item.reason
        if status is EvaluationStatus.RESULT and (wrong := answers.wrong(item)):
            status, why = EvaluationStatus.FAILED, wrong
        echoes = building is None and place not in builds and echoes_build(shells[item.position].text)
        seen = EvaluationSeen(
            at=Moment(message=item.index, call=item.position, order=item.order, thread=thread.name),
            command=item.command,
            role=item.role.value,
            status=status,
            raw=_numbers(item.values) if item.role is not Role.CHECK else (),
            reason=f"{why}; {reason}" if reason else why,
            state=state,
            certain=certain,
            builds=True if place in builds or echoes else building,
            counted=item.counts,
            result_message=item.result_index,
        )
        yield _rewarded(seen, evaluator)


def _measured(moment: StateOf | None, item: EvaluationFinding, shaken: int | None) -> tuple[str | None, bool, str]:
    """(state, whether it is sure, why)."""
    if moment is None or moment.state is None:
        return None, False, moment.reason if moment is not None else ""
    if moment.stale and not moment.certain:
        return None, False, f"{moment.reason}, and the files have moved on: its state is not known"
    reason, certain = moment.reason, moment.certain
    if moment.stale:
        certain, reason = False, f"{reason}, and the files have moved on"
    if shaken is not None and item.position >= shaken:
        certain, reason = False, f"{reason}; a subagent had changed the artifact"
    return _name(moment.state), certain, reason


def _numbers(values: Sequence[str]) -> tuple[Decimal, ...]:
    found = []
    for text in values:
        try:
            value = Decimal(text)
        except InvalidOperation:
            continue
        if value.is_finite():
            found.append(value)
    return tuple(found)


def _rewarded(seen: EvaluationSeen, evaluator: Evaluator | None) -> EvaluationSeen:
    """An evaluation with what its values are worth; a solution that is wrong is worth nothing."""
    if evaluator is None or evaluator.reward is None or not seen.counted or seen.role == Role.PART:
        return seen
    if seen.status is EvaluationStatus.FAILED and evaluator.gate.failed_is_zero:
        rewards: tuple[Decimal, ...] = (evaluator.zero,)
    elif seen.role == Role.SCORE and seen.status is EvaluationStatus.RESULT:
        rewards = tuple(reward for value in seen.raw if (reward := evaluator.score(value)) is not None)
    else:
        return seen
    return seen.model_copy(update={"rewards": rewards})


def _shaken(children: Sequence[_Thread], places: dict[str, int | None]) -> int | None:
    """The position in the main thread from which on subagents have changed the artifact; None if none did."""
    starts = [places.get(thread.name) or 0 for thread in children if thread.timeline.changes]
    return min(starts, default=None)


def _warnings(transcript: Transcript, children: Sequence[_Thread], places: dict[str, int | None]) -> Iterator[str]:
    for note in transcript.notes_of(NoteKind.BRANCHES):
        yield f"the log is no single line of time: {note.text}; no score is better than inferred"
    for thread in children:
        did = len(thread.builds) + len(thread.evaluations) + len(thread.commits)
        if did and places.get(thread.name) is None:
            yield (
                f"subagent {thread.name}: it is not known between which commits it ran; "
                f"its {did} builds, evaluations and commits are in no window"
            )
        if thread.timeline.changes:
            yield f"subagent {thread.name} changed the artifact: states from there on are not certain"
