"""Tracebacks of Python: whether an evaluation broke in the solution itself."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache

from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.rules import names_of

_FRAME = re.compile(r'[ \t]{1,8}File "([^"\n]{1,300})", line \d')
_HEAD = "Traceback (most recent call last):"
_ERROR = re.compile(r"[A-Za-z_][\w.]{0,200}(?=:|$)")
_UNPARSED = re.compile(r"(?:SyntaxError|IndentationError|TabError)(?=:)")
_OUTSIDE = frozenset(["BrokenPipeError", "KeyboardInterrupt", "SystemExit", "MemoryError"])
"""Errors that come from outside of the code."""
_LIBRARY = re.compile(r"^<|/site-packages/|/dist-packages/|/lib/python\d")


def broke_inside(shell: ShellCall, command: SimpleCommand, scope: ArtifactScope) -> str | None:
    """By which error of the artifact a script broke, in words; None where no traceback says so.

    A traceback counts that begins in the script, and whose last frame outside libraries lies in the artifact: it could
    not be parsed, or it failed while it ran.
    """
    if not scope.known or 'File "' not in shell.text:
        return None
    shown = _shown(shell.text)
    for name in names_of(command):
        for error, last in shown.get(posixpath.splitext(name)[0], ()):
            if scope.name(command.path(last)) is not None:
                return f"{error} in {posixpath.basename(last)}"
    return None


@lru_cache(maxsize=8)
def _shown(text: str) -> dict[str, dict[tuple[str, str], None]]:
    """By the script in which tracebacks begin, without its ending: (error, file of the last frame) of each, in order.

    Read once for an output, whose call may hold many evaluations.
    """
    found: dict[str, dict[tuple[str, str], None]] = {}
    for error, frames in _tracebacks(text):
        if error not in _OUTSIDE:
            begins = posixpath.splitext(posixpath.basename(frames[0]))[0]
            found.setdefault(begins, {})[error, frames[-1]] = None
    return found


def _tracebacks(text: str) -> Iterator[tuple[str, list[str]]]:
    """(error, files of its frames outside libraries) of each; of a script that cannot be parsed, which has no head."""
    frames: list[str] = []
    headed = False
    for line in text.split("\n"):
        if line.startswith(_HEAD):
            frames, headed = [], True
        elif (frame := _FRAME.match(line)) is not None:
            if not headed:
                frames.clear()
            if not _LIBRARY.search(frame[1]):
                frames.append(frame[1])
        elif line[:1] not in (" ", "\t", ""):
            error = (_ERROR if headed else _UNPARSED).match(line)
            if error is not None and frames:
                yield error[0], frames
            frames, headed = [], False
