"""Which files a commit was told to hold, where each was named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.git import GitCall, git_call
from loopscope.evidence.shell.messages import commit_options

_EVERYTHING = frozenset(["-A", "--all", "-u", "--update", "-p", "--patch", "-i", "--pathspec-from-file"])
_INDEX = frozenset(["add", "stage", "commit", "rm", "mv", "reset", "restore", "stash", "checkout", "read-tree", "apply",
                    "revert", "cherry-pick", "merge", "am", "update-index", "pull"])  # fmt: skip
"""Verbs that may change what the next commit holds."""
_FILE = re.compile(r"[^*?\[]*\.[A-Za-z]\w*\Z")
"""A name with an ending, which is no pattern."""

Place = tuple[int, int]


def named_files(shells: Sequence[ShellCall], happened: Iterable[Place]) -> dict[Place, tuple[str, ...]]:
    """For each `git commit` the files that it was told to hold, as they were named.

    Commits that hold more than files by their names, or may, are left out: a directory, a pattern, `-a`, an index that
    something else than `git add` has changed.

    Args:
        shells: the shell calls of a thread.
        happened: places of the commits that happened, or may have; the others leave the index as it was.
    """
    made = set(happened)
    found: dict[Place, tuple[str, ...]] = {}
    names: dict[str, None] | None = {}
    for shell in shells:
        for command in shell.script.commands:
            git = git_call(command) if command.program == "git" and command.function is None else None
            if git is None or git.verb not in _INDEX or shell.unreached(command):
                continue
            more = _named(git)
            names = None if names is None or more is None else {**names, **dict.fromkeys(more)}
            place = (shell.position, command.order)
            if place in made:
                if names:
                    found[place] = tuple(names)
                names = {}
    return found


def _back_to_the_commit(git: GitCall) -> bool:
    """Whether files get back what the index or the last commit holds of them, which adds nothing to the next."""
    rest = git.arguments[1:] if git.arguments[:1] in (("HEAD",), ("@",)) else git.arguments
    if rest[:1] == ("--",):
        return True
    return bool(rest) and all(git.literal) and all(_FILE.match(item) and not item.startswith("-") for item in rest)


def _named(git: GitCall) -> list[str] | None:
    """The files that a command puts into the index by their names; None when it may put others there."""
    if git.verb == "commit":
        options = commit_options(git, None)
        return [] if options.staged_alone and not options.amend else None
    if git.verb == "restore" and not git.has("--staged", "-S", "-SW", "-WS", "--source"):
        return []
    if git.verb == "checkout" and _back_to_the_commit(git):
        return []
    if git.verb not in ("add", "stage") or git.has(*_EVERYTHING) or not all(git.literal):
        return None
    plain = [
        item for item in git.paths if re.search(r"\w\.\w+\Z|(?:^|/)\.\w+\Z", item) and not re.search(r"[*?\[]", item)
    ]
    return plain if len(plain) == len(git.paths) else None
