"""Evaluations that build by themselves, as builds: a script of the task that starts a compiler before it measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loopscope.evidence.annotated import echoes_build
from loopscope.evidence.shell.evaluations import EvaluationFinding
from loopscope.evidence.shell.evaluations import EvaluationStatus as Found
from loopscope.evidence.shell.signatures import Match, matches
from loopscope.evidence.threads import Thread
from loopscope.models import BuildSeen, BuildStatus, EvaluationSeen, EvaluationStatus

_COMPILERS = ("c", "rust", "go", "asm")


def building_commands(thread: Thread) -> frozenset[str]:
    """Evaluation commands of which some run shows that they build: it echoes a compiler, or failed to compile."""
    texts = {shell.position: shell.text for shell in thread.shells}
    return frozenset(item.command for item in thread.evaluations if _shows(item, texts[item.position]))


def _shows(item: EvaluationFinding, text: str) -> bool:
    return echoes_build(text) or (item.status in (Found.FAILED, Found.NO_RESULT) and _first(text, "code") is not None)


def built_by_evaluations(thread: Thread, evaluations: Sequence[EvaluationSeen]) -> Iterator[BuildSeen]:
    """The builds within evaluations that are known to build, and whose command names no build tool.

    Args:
        thread: as it was read.
        evaluations: its evaluations.
    """
    own = {(item.position, item.order) for item in thread.builds}
    texts = {shell.position: shell.text for shell in thread.shells}
    for item in evaluations:
        if item.builds is not True or (item.at.call, item.at.order) in own:
            continue
        status, reason = _outcome(item, texts[item.at.call])
        yield BuildSeen(
            at=item.at,
            tool="evaluation",
            status=status,
            reason=f"an evaluation that builds by itself; {reason}",
            counted=status is not BuildStatus.ENVIRONMENT_FAILURE,
            state=item.state,
        )


def _outcome(item: EvaluationSeen, text: str) -> tuple[BuildStatus, str]:
    if item.status is EvaluationStatus.RESULT:
        return BuildStatus.SUCCEEDED, "it gave a result"
    if (code := _first(text, "code")) is not None:
        return BuildStatus.CODE_FAILURE, f"its output shows: {code.text}"
    if (environment := _first(text, "environment")) is not None:
        return BuildStatus.ENVIRONMENT_FAILURE, f"its output shows: {environment.text}"
    return BuildStatus.UNKNOWN, "it gave no result, and names no failure to compile"


def _first(text: str, kind: str) -> Match | None:
    return next((line for line in matches(text, _COMPILERS) if line.signature.kind == kind), None)
