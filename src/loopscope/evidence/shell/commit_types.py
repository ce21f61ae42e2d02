"""What is told of a commit: whether it happened, by what that is confirmed, or why it did not."""

from __future__ import annotations

import re
from enum import StrEnum

from loopscope.models.value_types import value_type


class Confirmation(StrEnum):
    """By what it is known that a commit happened, the strongest first."""

    OUTPUT = "output"
    """`[branch hash] subject`, in the call's own output or in what was fetched later."""
    HISTORY = "history"
    """A later `git log`, reflog, or `git show` lists it."""
    EXIT = "exit"
    """Nothing shows it, but the call succeeded and could not have, had the commit failed."""
    NONE = "none"


class CommitFailure(StrEnum):
    """Why a commit did not happen."""

    NOTHING = "nothing to commit"
    DIRECTORY = "not in a repository"
    KILLED = "killed or timed out"
    SYNTAX = "a typo: the shell or git could not read the command"
    HOOK = "a hook refused it"
    IDENTITY = "no author"
    LOCKED = "the repository was locked"
    NOT_REACHED = "a command before it failed"
    OTHER = "git refused it"


_SHELL = r"^(?:\S{0,100}/|-)?(?:ba|da|z|k)?sh: (?:eval: |-c: )?(?:line )?\d+: "
"""How the shell begins what it says of a command string; compilers and scripts have syntax errors, too."""
FAILURES = tuple(
    (failure, re.compile(pattern, re.MULTILINE | re.IGNORECASE))
    for failure, pattern in (
        (CommitFailure.NOTHING, r"^(?:nothing to commit|nothing added to commit|no changes added to commit)"),
        (CommitFailure.DIRECTORY, r"not a git repository|cd: .{0,300}No such file or directory"),
        (CommitFailure.IDENTITY, r"Please tell me who you are|empty ident name|Author identity unknown"),
        (CommitFailure.LOCKED, r"index\.lock': File exists|Unable to create .{0,300}\.lock"),
        (CommitFailure.HOOK, r"^(?:.{0,80}hook .{0,80}(?:failed|rejected|exited)|pre-commit.*failed)"),
        (CommitFailure.SYNTAX, rf"{_SHELL}(?:syntax error|unexpected EOF)|is not a git command|: command not found$"),
        (CommitFailure.NOT_REACHED, r"^fatal: pathspec|did not match any files|paths are ignored by one of your"),
        (CommitFailure.OTHER, r"Aborting commit|^error: pathspec|^fatal: |^error: unknown (?:switch|option)"),
    )
)  # fmt: skip
"""What git or the shell print when a commit fails; the first that fits is the reason."""


@value_type
class CommitFinding:
    """One invocation that makes a commit."""

    index: int
    """Of the message that called."""
    position: int
    """Of the call among the thread's calls."""
    order: int
    """Of the command within the call's script; -1 when only the output shows it."""
    verb: str
    """`commit`, or another command of git that commits: `revert`, `cherry-pick`, `merge`, `am`."""
    happened: bool | None
    confirmation: Confirmation
    reason: str
    directory: str | None
    subject: str | None
    """As git shows it, else as the shell expanded it."""
    message: str | None = None
    hash: str | None = None
    """As far as it is shown."""
    branch: str | None = None
    root: bool | None = None
    """The first of its repository; None when not shown."""
    amend: bool = False
    failure: CommitFailure | None = None
    named: tuple[str, ...] = ()
    """The files that it was told to hold; empty when it may hold others."""
