"""How the harness's own tools were used, the same classes for every harness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from loopscope.evidence.artifact.edits import refused
from loopscope.models import HarnessSupport
from loopscope.transcripts.canonical import MAIN, Call, MarkKind, ToolKind, Transcript

_EDITS = (ToolKind.EDIT, ToolKind.WRITE, ToolKind.PATCH)
_NOTHING_READ = "File does not exist."
"""How Claude Code answers a reading of no file; a page export has no other mark of it, and what is read has numbers."""


def support(transcript: Transcript) -> HarnessSupport:
    """Counts over all threads."""
    failed = changed = 0
    for thread in transcript.threads:
        calls = transcript.calls_of(thread)
        one, two = failures((call.tool, call.arguments, not did_fail(call)) for call in calls)
        failed, changed = failed + one, changed + two
    return HarnessSupport(
        plan_calls=sum(call.kind is ToolKind.PLAN for call in transcript.calls),
        failed_calls=failed,
        failed_then_changed=changed,
        compactions=len(transcript.marks_of(MarkKind.COMPACTION)),
        resumes=_resumes(transcript),
        subagents=len(transcript.threads) - 1,
        background=sum(call.kind is ToolKind.SHELL and call.background is not None for call in transcript.calls),
    )


def _resumes(transcript: Transcript) -> int:
    """Some harnesses mark a resume, others only show that the user speaks again."""
    turns = sum(mark.thread == MAIN for mark in transcript.marks_of(MarkKind.TURN))
    return max(len(transcript.marks_of(MarkKind.RESUME)), turns - 1, 0)


def did_fail(call: Call) -> bool:
    """Whether the log says that a call failed, or that the harness refused it."""
    result = call.result
    if result is None:
        return False
    if result.is_error is True or (result.exit_code or 0) != 0:
        return True
    if call.kind is ToolKind.READ and result.is_error is None:
        return result.text.startswith(_NOTHING_READ)
    return call.kind in _EDITS and refused(call)


def failures(calls: Iterable[tuple[str, Mapping[str, object], bool]]) -> tuple[int, int]:
    """(failed calls, those that the same tool was called again for with other arguments before any tool succeeded).

    Args:
        calls: of one thread, in order: the tool, its arguments, whether it succeeded.
    """
    failed = changed = 0
    waiting: dict[str, list[bytes]] = {}
    for tool, arguments, succeeded in calls:
        mine = waiting.get(tool)
        if mine:
            given = _key(arguments)
            changed += sum(other != given for other in mine)
            waiting[tool] = [other for other in mine if other == given]
        if succeeded:
            waiting.clear()
        else:
            failed += 1
            waiting.setdefault(tool, []).append(_key(arguments))
    return failed, changed


def _key(arguments: Mapping[str, object]) -> bytes:
    return orjson.dumps(dict(arguments), option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=str)
