"""Which part of a call's output is which build's, where the tool closes each build with a line of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loopscope.evidence.shell.build_tools import BuildTool
from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.signatures import Match

_CLOSING = {
    "go test": re.compile(r"^(?:ok  \t|FAIL\t|\?   \t).*$(?:\nFAIL$)?", re.MULTILINE),
    "cargo": re.compile(r"^\s*(?:Finished (?:`|release|dev|test|bench)|error: could not compile `).*$", re.MULTILINE),
}
"""The last line that a build prints, by the label of its tool or the first word of it."""


def shares(
    text: str, builds: Sequence[tuple[SimpleCommand, BuildTool]], lines: Sequence[Match]
) -> dict[int, list[Match]]:
    """For each build, by the order of its command, the lines that it printed.

    Empty unless there are several builds by one tool and as many closing lines: then output and builds are in step.

    Args:
        text: the output of the call.
        builds: those that the shell came to, in order.
        lines: what of the output speaks of builds.
    """
    labels = {tool.label if tool.label in _CLOSING else tool.label.split(" ")[0] for _, tool in builds}
    if len(builds) < 2 or len(labels) != 1 or any(command.loop for command, _ in builds):
        return {}
    closing = _CLOSING.get(labels.pop())
    ends = [found.end() for found in closing.finditer(text.replace("\r", ""))] if closing is not None else []
    if len(ends) != len(builds):
        return {}
    starts = [0, *ends]
    return {
        command.order: [line for line in lines if start <= line.start < end]
        for (command, _), start, end in zip(builds, starts, ends, strict=False)
    }
