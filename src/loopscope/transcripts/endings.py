"""How a log itself says that a run ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loopscope.models.run import RunStatus
from loopscope.transcripts.canonical import Ended
from loopscope.transcripts.shapes import moment, short, table

_AFTER_THE_AGENT = ("Verifier", "Reward", "AddTests", "DownloadVerifier")
"""How names of Harbor's exceptions begin that come of the verification: the agent had ended by itself."""
_OF_NOBODY = frozenset({"CancelledError", "KeyboardInterrupt"})
"""Somebody stopped the trial, whatever the agent was at."""
_MAX_MESSAGE = 2000


def ended_in_result(result: Mapping[str, Any]) -> Ended | None:
    """How the agent ended, by the result of a trial of Harbor's, or of one of its steps.

    None of a result that does not speak of exceptions, or of one without any that does not say that the agent ended.
    """
    if "exception_info" not in result:
        return None
    info = result["exception_info"]
    if info is None:
        ended = moment(table(result.get("agent_execution")).get("finished_at"))
        return Ended(RunStatus.COMPLETED) if ended is not None else None
    kind = short(table(info).get("exception_type"), 100) or "exception"
    message = short(table(info).get("exception_message"), 100_000) or ""
    if kind == "AgentTimeoutError":
        return Ended(RunStatus.DEADLINE)
    status, stage = RunStatus.AGENT_ERROR, "agent"
    if kind.startswith(_AFTER_THE_AGENT):
        status, stage = RunStatus.COMPLETED, "scoring"
    elif kind in _OF_NOBODY:
        status = RunStatus.UNKNOWN
    return Ended(status, kind, stage, " ".join(message.split())[:_MAX_MESSAGE])
