"""When subagents ran, in the order of the main thread."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from loopscope.transcripts.canonical import MAIN, Mark, MarkKind, ToolKind, Transcript

_WAITS = frozenset(["agent", "task"])
"""Tools that answer when their subagent has ended, unless they are told to let it run in the background."""


def anchors(transcript: Transcript, commits: Sequence[int]) -> dict[str, int | None]:
    """For each subagent's thread the position of the main thread's call during which it ran.

    None where that is not known, or where the main thread committed in the meantime, so that it ran in two windows.

    Args:
        transcript: of the run.
        commits: positions of the calls of the main thread that committed.
    """
    starts: dict[str, Mark] = {}
    ends: dict[str, Mark] = {}
    for mark in transcript.marks:
        if mark.kind is MarkKind.SUBAGENT_START and mark.text != mark.thread:
            starts.setdefault(mark.text, mark)
        elif mark.kind is MarkKind.SUBAGENT_END:
            ends[mark.text] = mark
    found: dict[str, int | None] = {}
    for thread in transcript.threads[1:]:
        span = _span(transcript, thread, starts, ends)
        found[thread] = None
        if span is not None:
            begin, end = span
            between = [call for call in commits if begin <= call and (end is None or call <= end)]
            found[thread] = None if between else begin
    return found


def _span(
    transcript: Transcript, thread: str, starts: dict[str, Mark], ends: dict[str, Mark]
) -> tuple[int, int | None] | None:
    """(position of the call that started it, of the last call before its end) in the main thread."""
    seen: set[str] = set()
    while thread in starts and starts[thread].thread != MAIN and thread not in seen:
        # A subagent's own subagent ran while its parent did.
        seen.add(thread)
        thread = starts[thread].thread
    start = starts.get(thread)
    if start is None or start.thread != MAIN:
        return None
    calls = transcript.calls_of(MAIN)
    indices = [call.index for call in calls]
    begin = bisect_left(indices, start.index)
    if begin >= len(calls):
        return None
    end = ends[thread].index if thread in ends and ends[thread].thread == MAIN else None
    call = calls[begin]
    waits = call.tool.lower() in _WAITS and not call.arguments.get("run_in_background")
    if end is None and call.kind is ToolKind.AGENT and call.result is not None and waits:
        end = call.result.index
    return begin, None if end is None else max(begin, bisect_right(indices, end) - 1)
