"""Evaluations of a thread as events: which state each measured, how surely, and what its values are worth."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from decimal import Decimal

from loopscope.evidence.answers import Answers
from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.evidence.artifact.timeline import StateOf, Timeline
from loopscope.evidence.selfbuilding import building_commands
from loopscope.evidence.shell.builds import Outcome
from loopscope.evidence.shell.evaluations import EvaluationFinding
from loopscope.evidence.shell.evaluations import EvaluationStatus as Found
from loopscope.evidence.shell.rules import Role
from loopscope.evidence.shell.values import number
from loopscope.evidence.threads import Thread, state_name
from loopscope.models import EvaluationSeen, EvaluationStatus, Moment
from loopscope.models.evaluator import Evaluator

_EVALUATED = {
    Found.RESULT: EvaluationStatus.RESULT,
    Found.FAILED: EvaluationStatus.FAILED,
    Found.NO_RESULT: EvaluationStatus.NO_RESULT,
}
_INTERPRETED = frozenset([".py", ".sh", ".rb", ".js", ".pl", ".lua", ".r", ".R"])
_SAVED = "what it saved is known by its own validation alone"
_EVALUATED_TOO = f"{_SAVED}, and an evaluation of its state counts instead"

_OfState = tuple[str | None, bool, str]
"""(the state that was measured, whether that is sure, why)."""


def builds_itself(main: Thread, scope: ArtifactScope) -> bool | None:
    """Whether evaluations that do not show it build by themselves; None when nothing tells."""
    if any(not item.scratch and item.outcome is not Outcome.NOT_RUN for item in main.builds):
        return False
    endings = {posixpath.splitext(name)[1] for name in scope.files}
    return False if endings and endings <= _INTERPRETED else None


def thread_evaluations(
    thread: Thread, timeline: Timeline | None, evaluator: Evaluator | None, building: bool | None, shaken: int | None
) -> Iterator[EvaluationSeen]:
    """The evaluations of a thread that took place.

    Args:
        thread: as it was read.
        timeline: of its artifact; None when states are not followed.
        evaluator: of the task.
        building: whether evaluations build that do not show it.
        shaken: position of the call from which on subagents have changed the artifact.
    """
    builds = {(item.position, item.order) for item in thread.builds}
    shells = {shell.position: shell for shell in thread.shells}
    measured = [
        _measured(timeline.evaluations.get((item.position, item.order)) if timeline else None, item, shaken)
        for item in thread.evaluations
    ]
    evaluated = {
        state
        for item, (state, _, _) in zip(thread.evaluations, measured, strict=True)
        if state is not None and item.counts and not item.rule.saves
    }
    building_too = building_commands(thread) if building is None else frozenset[str]()
    answers = Answers(thread.evaluations, [state for state, _, _ in measured], shells)
    for item, (state, certain, reason) in zip(thread.evaluations, measured, strict=True):
        if item.status not in _EVALUATED:
            continue
        counts = item.counts
        if item.rule.saves:
            # One candidate that was trained and then evaluated is one candidate, and worth what the evaluation says.
            counts = counts and state not in evaluated
            certain, reason = False, _SAVED if counts or not item.counts else _EVALUATED_TOO
        itself = True if (item.position, item.order) in builds or item.command in building_too else building
        at = Moment(message=item.index, call=item.position, order=item.order, thread=thread.name)
        wrong = answers.wrong(item) if item.status is Found.RESULT else None
        yield _seen(at, item, (state, certain, reason), wrong, evaluator, counts=counts, builds=itself)


def _seen(
    at: Moment,
    item: EvaluationFinding,
    measured: _OfState,
    wrong: str | None,
    evaluator: Evaluator | None,
    *,
    counts: bool,
    builds: bool | None,
) -> EvaluationSeen:
    """An evaluation that took place as an event; `wrong`: why its answer is not right, None where it may be."""
    state, certain, reason = measured
    status, why = _EVALUATED[item.status], item.reason
    if wrong:
        status, why = EvaluationStatus.FAILED, wrong
    numbers = map(number, item.values) if item.role is not Role.CHECK else ()
    raw = tuple(value for value in numbers if value is not None)
    return EvaluationSeen(
        at=at,
        command=item.command,
        role=item.role.value,
        status=status,
        raw=raw,
        rewards=_rewards(item, status, raw, evaluator) if counts else (),
        reason=f"{why}; {reason}" if reason else why,
        state=state,
        certain=certain,
        builds=builds,
        counted=counts,
        result_message=item.result_index,
    )


def _measured(moment: StateOf | None, item: EvaluationFinding, shaken: int | None) -> _OfState:
    if moment is None or moment.state is None:
        return None, False, moment.reason if moment is not None else ""
    if moment.stale and not moment.certain:
        return None, False, f"{moment.reason}, and the files have moved on: its state is not known"
    reason, certain = moment.reason, moment.certain
    if moment.stale:
        certain, reason = False, f"{reason}, and the files have moved on"
    if shaken is not None and item.position >= shaken:
        certain, reason = False, f"{reason}; a subagent had changed the artifact"
    return state_name(moment.state), certain, reason


def _rewards(
    item: EvaluationFinding, status: EvaluationStatus, raw: Sequence[Decimal], evaluator: Evaluator | None
) -> tuple[Decimal, ...]:
    """What an evaluation's values are worth; a solution that is wrong is worth nothing.

    A training that broke is worth nothing known: what was saved before is still there.
    """
    role = item.role
    if item.rule.saves and status is EvaluationStatus.FAILED:
        return ()
    if evaluator is None or evaluator.reward is None or role is Role.PART:
        return ()
    if status is EvaluationStatus.FAILED:
        return (evaluator.zero,) if evaluator.gate.failed_is_zero else ()
    if role is not Role.SCORE or status is not EvaluationStatus.RESULT:
        return ()
    return tuple(reward for value in raw if (reward := evaluator.score(value)) is not None)
