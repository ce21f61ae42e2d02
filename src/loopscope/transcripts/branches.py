"""Detect concurrent branches that were flattened into one log.

A history that lists a commit before the log says that it was made cannot be in the order of time: the commit was made
in a branch that ran beside, and was written behind.
"""

from __future__ import annotations

import re

from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import MAIN, MarkKind, NoteKind, ToolKind

_PREFIX = 7
_MAX_SCANNED = 64 << 10
_LISTED = re.compile(r"^[*|/\\ ]*(?:commit )?([0-9a-f]{7,40})\b", re.MULTILINE)
_MADE = re.compile(r"^\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\] ", re.MULTILINE)
_DIGIT = re.compile(r"[0-9]")


def find_branch(builder: Builder) -> None:
    """Mark where a second branch is first seen in the main thread, and note by what."""
    listed: dict[str, int] = {}
    made: dict[str, int] = {}
    for draft in builder.calls:
        call, result = draft.asked, draft.result
        if call.thread != MAIN or call.kind is not ToolKind.SHELL or result is None or not call.command:
            continue
        if "git" not in call.command:
            continue
        text = result.text[:_MAX_SCANNED]
        if "commit" in call.command and "[" in text:
            for found in _MADE.findall(text):
                made.setdefault(found[:_PREFIX], result.index)
        if "log" in call.command:
            for found in _LISTED.findall(text):
                # A word such as `defaced` is no hash.
                if _DIGIT.search(found):
                    listed.setdefault(found[:_PREFIX], result.index)
    early = sorted((made[sha], listed[sha], sha) for sha in made if listed.get(sha, made[sha]) < made[sha])
    if not early:
        return
    index, seen, sha = early[0]
    text = f"message {seen} lists commit {sha}, which is made only in message {index}"
    builder.note(NoteKind.BRANCHES, f"{text}: two branches were written one after the other", index, len(early))
    builder.mark(index, MarkKind.BRANCH, text)
