"""What a result's own words say, as far as a harness writes them: exit codes, background ids, cuts."""

from __future__ import annotations

import re

_HEAD = 400
_TAIL = 400
_EXIT_AT_START = re.compile(r"(?:Error: )?Exit code:? (-?\d{1,9})(?!\d)", re.ASCII)
_EXIT_AT_END = re.compile(r"Command failed with exit code: (-?\d{1,9})\.?\s*\Z", re.ASCII)
_EXIT_IN_HEADER = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d{1,9})$", re.ASCII | re.MULTILINE)
_EXIT_OF_TASK = re.compile(r"<exit_code>(-?\d{1,9})</exit_code>", re.ASCII)
_BACKGROUND = re.compile(r"\A[^\n]{0,200}?\bbackground(?:ed by user)? with ID: ([\w-]{1,100})")
_TASK = re.compile(r"\Atask_id: ([\w-]{1,100})$", re.MULTILINE)
_SESSION = re.compile(r"^Process running with session ID (\d{1,18})$", re.ASCII | re.MULTILINE)
_CUTS = ("truncated] ...", "tokens truncated", "utput truncated", "chars truncated", "truncated to fit", "[truncated")


def stated_exit_code(text: str) -> int | None:
    """The exit code that a harness wrote at the start or the end of a shell call's result."""
    found = _EXIT_AT_START.match(text) or _EXIT_AT_END.search(text[-_TAIL:])
    return int(found[1]) if found else None


def header_exit_code(header: str) -> int | None:
    """The exit code in the lines that Codex puts above a command's output."""
    found = _EXIT_IN_HEADER.search(header)
    return int(found[1]) if found else None


def task_exit_code(text: str) -> int | None:
    """The exit code of a background command, from what fetches its output."""
    found = _EXIT_OF_TASK.search(text[:_HEAD])
    return int(found[1]) if found else None


def background_id(text: str) -> str | None:
    """The id that a harness gave a command which goes on in the background."""
    head = text[:_HEAD]
    found = _BACKGROUND.match(head) if "background" in head else _TASK.match(head)
    return found[1] if found else None


def session_id(header: str) -> str | None:
    """The same, in the lines that Codex puts above a command's output."""
    found = _SESSION.search(header)
    return found[1] if found else None


def is_cut(text: str) -> bool:
    """Whether the harness says that it shortened the text."""
    if text.startswith("<persisted-output>"):
        return True
    return len(text) > 500 and "truncated" in text and any(words in text for words in _CUTS)
