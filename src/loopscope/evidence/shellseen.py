"""Transcripts of agents whose steps say nothing of themselves, as events: read from their commands and edits."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from loopscope.evidence.artifact.budget import Budget
from loopscope.evidence.artifact.scope import ArtifactScope, instruction_of, scope_of
from loopscope.evidence.artifact.timeline import StateChange, Timeline, commit_changes
from loopscope.evidence.events import CommitSeen, Seen, UnfittedRun
from loopscope.evidence.measured import builds_itself, thread_evaluations
from loopscope.evidence.peeking import peeking
from loopscope.evidence.segments import segments
from loopscope.evidence.selfbuilding import built_by_evaluations
from loopscope.evidence.shell.builds import Outcome
from loopscope.evidence.shell.commit_kinds import CommitKind, classify
from loopscope.evidence.shell.commit_types import CommitFailure, CommitFinding, Confirmation
from loopscope.evidence.shell.git import git_call
from loopscope.evidence.shell.rules import rules_for
from loopscope.evidence.subagents import anchors
from loopscope.evidence.support import support
from loopscope.evidence.threads import Thread, read_thread, state_name
from loopscope.models import BuildSeen, BuildStatus, EvaluationSeen, Moment
from loopscope.models.evaluator import Evaluator
from loopscope.transcripts.canonical import MAIN, NoteKind, Transcript

_SHOWN = 80
"""Characters of a command that a warning shows."""
_BUILDS = {
    Outcome.SUCCEEDED: BuildStatus.SUCCEEDED,
    Outcome.CODE_FAILURE: BuildStatus.CODE_FAILURE,
    Outcome.ENVIRONMENT_FAILURE: BuildStatus.ENVIRONMENT_FAILURE,
    Outcome.UNKNOWN: BuildStatus.UNKNOWN,
}


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
    rules = rules_for(transcript.source.task, instruction_of(transcript), evaluator)
    names = transcript.threads
    budget = Budget()
    threads = [read_thread(transcript, name, scope, rules, budget) for name in names]
    main = threads[0]
    followed = scope.known
    commits = _commits(main, scope, followed=followed)
    places = anchors(transcript, [commit.at.call for commit in commits])
    for thread in threads[1:]:
        if places.get(thread.name) is not None:
            commits += _commits(thread, scope, followed=False)
    shaken = _shaken(threads[1:], places)
    builds, evaluations = _tried(threads, scope, evaluator, shaken)
    early = _root_behind_others(main)
    changes = main.timeline.changes
    unfitted = tuple(_unfitted(main, followed=followed))
    warnings = (
        *_warnings(transcript, threads[1:], places),
        *([early] if early else ()),
        *peeking(main.shells, commits),
        *_unfitted_warning(unfitted),
    )
    return Seen(
        commits=tuple(sorted(commits, key=lambda item: _order(item.at, places))),
        builds=tuple(builds),
        evaluations=tuple(evaluations),
        unfitted=unfitted,
        tool_calls=len(transcript.calls),
        support=support(transcript),
        states=main.timeline.states if followed else None,
        variants=_variants(main.timeline) if followed else {},
        start=state_name(0) if followed else None,
        last=state_name(changes[-1].state if changes else 0) if followed else None,
        last_change=_moment(changes[-1]) if followed and changes else None,
        last_certain=shaken is None,
        order_checked=not transcript.branched and not early,
        warnings=warnings,
        subagents=places,
    )


def _tried(
    threads: Sequence[Thread], scope: ArtifactScope, evaluator: Evaluator | None, shaken: int | None
) -> tuple[list[BuildSeen], list[EvaluationSeen]]:
    """The builds and evaluations of all threads; states are followed in the first alone."""
    builds: list[BuildSeen] = []
    evaluations: list[EvaluationSeen] = []
    building = builds_itself(threads[0], scope)
    for number, thread in enumerate(threads):
        timeline = thread.timeline if scope.known and number == 0 else None
        measured = list(thread_evaluations(thread, timeline, evaluator, building, shaken))
        made = [*_thread_builds(thread, timeline), *built_by_evaluations(thread, measured)]
        builds += sorted(made, key=lambda item: (item.at.call, item.at.order))
        evaluations += measured
    return builds, evaluations


def _variants(timeline: Timeline) -> dict[str, str]:
    return {str(state_name(variant)): str(state_name(files)) for variant, files in timeline.variants.items()}


def _moment(change: StateChange) -> Moment:
    return Moment(message=change.index, call=change.position, order=max(change.order, 0))


def _unfitted(main: Thread, *, followed: bool) -> Iterator[UnfittedRun]:
    for item in main.unfitted:
        own = main.timeline.evaluations.get((item.position, item.order)) if followed else None
        at = Moment(message=item.index, call=item.position, order=item.order)
        yield UnfittedRun(at, item.command, state_name(own.state) if own is not None else None)


def _unfitted_warning(runs: Sequence[UnfittedRun]) -> Iterator[str]:
    if runs:
        shown = ", ".join(f"message {item.at.message} `{item.command[:_SHOWN]}`" for item in runs[:3])
        more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
        yield (
            f"looks like an evaluation, fits no rule: {shown}{more}; if they evaluate the solution, add a rule to the "
            "task's evaluator file (docs/evaluators.md)"
        )


def _scope(transcript: Transcript, editable: Sequence[str]) -> ArtifactScope:
    told = scope_of(transcript)
    return ArtifactScope(frozenset(editable), told.root or transcript.source.cwd, told.fixed) if editable else told


def _order(moment: Moment, places: dict[str, int | None]) -> tuple[int, int, int]:
    call = moment.call if moment.thread == MAIN else places.get(moment.thread) or 0
    return call, moment.thread != MAIN, moment.order


def _commits(thread: Thread, scope: ArtifactScope, *, followed: bool) -> list[CommitSeen]:
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
        message = item.message or item.subject or ""
        title = item.subject or ""
        if item.amend and not message and found:
            # `--no-edit`: the message of the commit that it replaces.
            title, message = found[-1].subject, found[-1].message
        found.append(
            CommitSeen(
                at=Moment(message=item.index, call=item.position, order=max(item.order, 0), thread=thread.name),
                sha=sha,
                hash_shown=item.hash is not None,
                subject=title,
                message=message,
                state=state_name(state.state) if state is not None else None,
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


def _thread_builds(thread: Thread, timeline: Timeline | None) -> Iterator[BuildSeen]:
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
            state=state_name(state.state) if state is not None and not item.scratch else None,
        )


def _root_behind_others(main: Thread) -> str:
    """Why the log's order cannot be that of time: a repository begins behind commits, and nobody made it anew."""
    before: int | None = None
    for item in main.commits:
        if item.root and before is not None:
            made_anew = any(
                git.verb in ("init", "clone", "worktree") or git.has("--orphan")
                for shell in main.shells[bisect_left(main.shells, before, key=lambda shell: shell.position) :]
                if shell.position <= item.position
                for command in shell.script.commands
                if (git := git_call(command)) is not None
            )
            if not made_anew:
                return (
                    f"message {item.index} makes the first commit of a repository, behind others, and nothing made one "
                    "anew: the log is no single line of time; no score is better than inferred"
                )
        if item.confirmation is Confirmation.OUTPUT and not item.amend:
            before = item.position
    return ""


def _shaken(children: Sequence[Thread], places: dict[str, int | None]) -> int | None:
    """The position in the main thread from which on subagents have changed the artifact; None if none did."""
    starts = [places.get(thread.name) or 0 for thread in children if thread.timeline.changes]
    return min(starts, default=None)


def _warnings(transcript: Transcript, children: Sequence[Thread], places: dict[str, int | None]) -> Iterator[str]:
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
