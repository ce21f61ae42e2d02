"""How a rollout ended, in our words: a result to keep, or a failure of the environment that is worth another try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from loopscope.engine.jobs import TrialOutcome
from loopscope.models import Problem, RunRecord, RunStatus
from loopscope.models.annotation import PROBLEM_KEY
from loopscope.records import RecordError, read_model

NOT_STARTED = "environment"
_OUR_HARVEST = "loopscope/engine/harvest.py"
"""In a traceback: the harvester failed, not the agent."""
_SHORTEST_SECRET = 6
"""Characters; shorter values of an agent's environment are words like `1` or `true`, which occur anywhere."""

Redact = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Ending:
    """Status of a rollout and what went wrong in it."""

    status: RunStatus
    problems: tuple[Problem, ...] = ()


def redactor(secrets: list[str]) -> Redact:
    """A function that blots the values of an agent's environment out of any bytes, the longest first."""
    values = sorted({s.encode() for s in secrets if len(s) >= _SHORTEST_SECRET}, key=len, reverse=True)

    def redact(data: bytes) -> bytes:
        for value in values:
            data = data.replace(value, b"[REDACTED]")
        return data

    return redact


def problem(kind: str, stage: str, message: str, redact: Redact = bytes) -> Problem:
    """A problem with its message on one line; what is no text (bytes of an agent's file names) is shown escaped."""
    text = redact(message.encode("utf-8", "backslashreplace")).decode("utf-8", "replace")
    return Problem(kind=kind, stage=stage, message=" ".join(text.split())[:2000])


def agent_ran(outcome: TrialOutcome) -> bool:
    """Whether the trial came as far as the agent's own run."""
    return outcome.result is not None and outcome.result.agent_execution is not None


def ending_of(outcome: TrialOutcome, *, has_workspace: bool, too_large: bool, tried: bool, redact: Redact) -> Ending:
    """How the rollout ended.

    Args:
        has_workspace: the workspace came out of the sandbox.
        too_large: it holds more than is taken out. The agent's own doing: trying again would cost the same.
        tried: an agent has run in an earlier try. A workspace that does not come out is worth one more try and no
            third: an agent that can lose its run could otherwise draw until it likes the result.
    """
    ending = _trial_ending(outcome, has_workspace, redact)
    if has_workspace or not agent_ran(outcome):
        return ending
    if too_large:
        lost = problem("workspace_too_large", "harvest", "the workspace holds more than is taken out of a sandbox")
        return Ending(RunStatus.AGENT_ERROR, (*ending.problems, lost))
    lost = problem("no_workspace", "harvest", "the workspace could not be brought out of the sandbox")
    return Ending(RunStatus.AGENT_ERROR if tried else RunStatus.ENVIRONMENT_ERROR, (*ending.problems, lost))


def _trial_ending(outcome: TrialOutcome, has_workspace: bool, redact: Redact) -> Ending:
    failure, result = outcome.failure, outcome.result
    metadata = (result.agent_result.metadata if result and result.agent_result else None) or {}
    reported = metadata.get(PROBLEM_KEY)
    said = (problem("agent_report", "agent", str(reported), redact),) if reported else ()
    if failure is None:
        return Ending(RunStatus.COMPLETED, said)
    kind, message = failure
    if kind == "AgentTimeoutError":
        return Ending(RunStatus.DEADLINE, said)
    if not agent_ran(outcome):  # nothing of the agent's has begun: the sandbox, or the agent's installation, failed
        return Ending(RunStatus.ENVIRONMENT_ERROR, (problem(kind, NOT_STARTED, message, redact),))
    if _OUR_HARVEST in outcome.details:
        status = RunStatus.COMPLETED if has_workspace else RunStatus.ENVIRONMENT_ERROR
        return Ending(status, (*said, problem(kind, "harvest", message, redact)))
    return Ending(RunStatus.AGENT_ERROR, (*said, problem(kind, "agent", message, redact)))


def earlier_agent(run_dir: Path) -> bool:
    """Whether an agent has run in any earlier try that this run directory keeps."""
    for path in [run_dir / "record.json", *run_dir.glob("attempts/*/record.json")]:
        try:
            if read_model(path, RunRecord).timings.agent_sec is not None:
                return True
        except RecordError:
            continue
    return False
