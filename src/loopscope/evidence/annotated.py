"""Steps of built-in agents, which say of themselves what they are, as events."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from loopscope.evidence.events import CommitSeen, Seen
from loopscope.evidence.shell.values import number
from loopscope.evidence.support import failures
from loopscope.models import BuildSeen, BuildStatus, EvaluationSeen, EvaluationStatus, HarnessSupport, Moment
from loopscope.models.annotation import StepAnnotation, StepKind, StepStatus
from loopscope.models.evaluator import Evaluator
from loopscope.transcripts.atif_steps import ToolStep

_COMPILER = r"(?:gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?|make|cmake|ninja|cargo|rustc|go build|javac|nvcc)"
_BUILDS = re.compile(rf"(?:^|[;&|(]\s*){_COMPILER}(?:\s|$)", re.M)
"""A command that starts a build tool, or an output that echoes one."""
_EVALUATED = {
    StepStatus.OK: EvaluationStatus.RESULT,
    StepStatus.CODE_FAILURE: EvaluationStatus.FAILED,
    StepStatus.ENV_FAILURE: EvaluationStatus.ENVIRONMENT_FAILURE,
    StepStatus.RUNTIME_FAILURE: EvaluationStatus.FAILED,
    StepStatus.TIMEOUT: EvaluationStatus.NO_RESULT,
}


def echoes_build(text: str) -> bool:
    """Whether a command starts a build tool, or an output echoes one."""
    return bool(_BUILDS.search(text))


def seen_in_steps(steps: Sequence[ToolStep], evaluator: Evaluator | None = None) -> Seen:
    """The events of an annotated transcript. Steps without a note count as calls and for nothing else."""
    noted = [(call, step, step.annotation) for call, step in enumerate(steps) if step.annotation is not None]
    building = _building_commands(steps)
    builds: list[BuildSeen] = []
    evaluations: list[EvaluationSeen] = []
    commits: list[CommitSeen] = []
    states: list[str] = []
    for call, step, note in noted:
        at = Moment(message=step.index, call=call)
        evaluates = note.kind is StepKind.EVALUATE
        known = building.get(step.command) if evaluates else None
        builds += _build(at, note, builds_itself=evaluates and known is True)
        if evaluates:
            evaluations.append(_evaluation(at, step, note, known, evaluator))
        if note.state:
            states.append(note.state)
        failed = note.status in (StepStatus.ENV_FAILURE, StepStatus.CODE_FAILURE)
        if note.kind is StepKind.COMMIT and note.commit is not None and not failed:
            commits.append(CommitSeen(at, note.commit, True, "", "", note.state, reason="the agent's own note"))
    return Seen(
        commits=tuple(commits),
        builds=tuple(builds),
        evaluations=tuple(evaluations),
        tool_calls=len(steps),
        support=_support(steps),
        states=len(set(states)) if states else None,
        last=states[-1] if states else None,
        last_certain=True,
    )


def _build(at: Moment, note: StepAnnotation, *, builds_itself: bool) -> Iterator[BuildSeen]:
    """A build step, a step that failed to compile, or an evaluation that builds by itself."""
    failed = note.status is StepStatus.CODE_FAILURE
    environment = note.status is StepStatus.ENV_FAILURE
    if not (note.kind is StepKind.BUILD or failed or (builds_itself and not environment)):
        return
    if environment:
        status, reason = BuildStatus.ENVIRONMENT_FAILURE, "the step says that the environment failed"
    elif failed:
        status, reason = BuildStatus.CODE_FAILURE, "the step says that the code does not compile"
    elif note.kind is StepKind.BUILD and note.status is StepStatus.TIMEOUT:
        status, reason = BuildStatus.UNKNOWN, "the step was stopped"
    else:
        status, reason = BuildStatus.SUCCEEDED, "the step says that it built"
        if note.kind is not StepKind.BUILD:
            reason = "an evaluation that builds by itself, and its step names no failure to compile"
    runtime = note.status is StepStatus.RUNTIME_FAILURE
    yield BuildSeen(
        at=at, tool=note.kind.value, status=status, reason=reason, runtime_failure=runtime, state=note.state
    )


def _evaluation(
    at: Moment, step: ToolStep, note: StepAnnotation, builds: bool | None, evaluator: Evaluator | None
) -> EvaluationSeen:
    failed = note.status is StepStatus.CODE_FAILURE
    raw = number(note.score) if note.score is not None else None
    reward = evaluator.score(raw) if evaluator is not None and raw is not None else None
    return EvaluationSeen(
        at=at,
        command=step.command,
        role="score",
        status=_EVALUATED[note.status],
        raw=() if raw is None else (raw,),
        rewards=() if reward is None else (reward,),
        reason=f"the step says: {note.status.value}",
        state=note.state,
        certain=note.state is not None,
        builds=True if failed else builds,
        counted=not failed and note.status is not StepStatus.ENV_FAILURE,
        result_message=step.index if raw is not None else None,
    )


def _building_commands(steps: Sequence[ToolStep]) -> dict[str, bool]:
    """Evaluation commands by whether they build; those of which nothing shows it are absent.

    A command builds if it starts a build tool, echoes one, or has once failed to compile. Where the run builds in steps
    of their own, its other evaluations do not.
    """
    evaluations: dict[str, bool] = {}
    separate = False
    for step in steps:
        note = step.annotation
        if note is None:
            continue
        separate |= note.kind is StepKind.BUILD
        if note.kind is StepKind.EVALUATE:
            failed = note.status is StepStatus.CODE_FAILURE
            shown = failed or echoes_build(step.command) or echoes_build(step.output)
            evaluations[step.command] = evaluations.get(step.command, False) or shown
    return {command: builds for command, builds in evaluations.items() if builds or separate}


def _support(steps: Sequence[ToolStep]) -> HarnessSupport:
    failed, changed = failures(
        (step.tool, {"command": step.command}, step.annotation is None or step.annotation.status is StepStatus.OK)
        for step in steps
    )
    return HarnessSupport(failed_calls=failed, failed_then_changed=changed)
