"""How a rollout ended, in our words: a result to keep, or a failure of the environment that is worth another try."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from loopscope.engine.jobs import TrialOutcome
from loopscope.engine.kinds import NOT_STARTED, SANDBOX_DIED, SET_UP, kind_of_failure
from loopscope.engine.policy import POLICY, Fate, is_draw
from loopscope.models import Problem, RunRecord, RunStatus
from loopscope.models.annotation import PROBLEM_KEY
from loopscope.records import RecordError, read_model

_OUR_HARVEST = "loopscope/engine/harvest.py"
"""In a traceback: the harvester failed, not the agent."""
_SHORTEST_SECRET = 6
"""Characters; shorter values of an agent's environment are words like `1` or `true`, which occur anywhere."""

Redact = Callable[[bytes], bytes]
_CHUNK = 4 << 20


@dataclass(frozen=True)
class Ending:
    """Status of a rollout and what went wrong in it."""

    status: RunStatus
    problems: tuple[Problem, ...] = ()


class Redactor:
    """Blots the values of an agent's environment out of any bytes, the longest first."""

    def __init__(self, secrets: list[str]) -> None:
        self._values = sorted({s.encode() for s in secrets if len(s) >= _SHORTEST_SECRET}, key=len, reverse=True)

    def __call__(self, data: bytes) -> bytes:
        """The bytes without the values."""
        for value in self._values:
            data = data.replace(value, b"[REDACTED]")
        return data

    def copy(self, source: BinaryIO, sink: BinaryIO) -> None:
        """The same for files of any size, piece by piece; a value that lies across two pieces is found too."""
        longest, rest = max(map(len, self._values), default=1), b""
        while chunk := source.read(_CHUNK):
            data = rest + chunk
            cut = self._uncrossed(data, max(0, len(data) - longest + 1))
            sink.write(self(data[:cut]))
            rest = data[cut:]
        sink.write(self(rest))

    def _uncrossed(self, data: bytes, cut: int) -> int:
        """The last place up to `cut` that no value lies across."""
        while True:
            across = [
                at for v in self._values if (at := data.find(v, max(0, cut - len(v) + 1), cut + len(v) - 1)) != -1
            ]
            if not across:
                return cut
            cut = min(across)


def problem(kind: str, stage: str, message: str, redact: Redact = bytes) -> Problem:
    """A problem with its message on one line; what is no text (bytes of an agent's file names) is shown escaped."""
    text = redact(message.encode("utf-8", "backslashreplace")).decode("utf-8", "replace")
    return Problem(kind=kind, stage=stage, message=" ".join(text.split())[:2000])


def ending_of(
    outcome: TrialOutcome,
    *,
    has_workspace: bool,
    too_large: bool,
    died: str | None = None,
    worked: bool,
    earlier: Sequence[RunRecord],
    redact: Redact,
) -> Ending:
    """How the rollout ended, by the table of `policy.py`.

    Args:
        has_workspace: the workspace came out of the sandbox.
        too_large: it holds more than is taken out. The agent's own doing: trying again would cost the same.
        died: why its sandbox was gone while the agent worked in it; an agent may not have noticed, or have hidden it.
        worked: the agent left something of its own, as far as can be told.
        earlier: records of earlier tries. An agent that could fail at will would otherwise draw until it likes the
            result.
    """
    ending = _trial_ending(outcome, has_workspace, redact)
    if not outcome.agent_ran:
        return ending
    problems = ending.problems
    if died and not any(p.kind == SANDBOX_DIED for p in problems):  # first: the rest may have come of it
        problems = (problem(SANDBOX_DIED, "agent", died, redact), *problems)
    if not has_workspace:
        worked = True
        lost = ("workspace_too_large", "the workspace holds more than is taken out of a sandbox")
        if not too_large:
            lost = ("no_workspace", "the workspace could not be brought out of the sandbox")
        problems = (*problems, problem(lost[0], "harvest", lost[1]))
    elif not died and ending.status is not RunStatus.AGENT_ERROR:
        return ending
    return Ending(_status(problems, worked, earlier), problems)


def ending_of_fault(fault: Problem, earlier: Sequence[RunRecord]) -> Ending:
    """How a rollout ended that has no trial to speak for it: it could not start, or its run could not be recorded."""
    if fault.stage != "harvest":
        return Ending(RunStatus.ENVIRONMENT_ERROR, (fault,))
    return Ending(_status((fault,), True, earlier), (fault,))


def _status(problems: tuple[Problem, ...], worked: bool, earlier: Sequence[RunRecord]) -> RunStatus:
    """Of a try in which the agent ran and something failed: another try, or graded as it stands."""
    decision = POLICY[kind_of_failure(problems, final=False)]
    if decision.fate is not Fate.RETRIED:
        return RunStatus.AGENT_ERROR
    draws = worked + sum(map(is_draw, earlier))
    spent = worked and decision.draws is not None and draws >= decision.draws
    return RunStatus.AGENT_ERROR if spent else RunStatus.ENVIRONMENT_ERROR


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
    if not outcome.agent_ran:  # nothing of the agent's has begun: the sandbox, or the agent's installation, failed
        stage = SET_UP if result is not None and result.agent_setup is not None else NOT_STARTED
        return Ending(RunStatus.ENVIRONMENT_ERROR, (problem(kind, stage, message, redact),))
    if _OUR_HARVEST in outcome.details:
        status = RunStatus.COMPLETED if has_workspace else RunStatus.ENVIRONMENT_ERROR
        return Ending(status, (*said, problem(kind, "harvest", message, redact)))
    return Ending(RunStatus.AGENT_ERROR, (*said, problem(kind, "agent", message, redact)))


def earlier_tries(attempts: Path) -> list[RunRecord]:
    """Records of a rollout's earlier tries, those that can be read."""
    found = []
    for path in sorted(attempts.glob("*/record.json")):
        with contextlib.suppress(RecordError):
            found.append(read_model(path, RunRecord))
    return found
