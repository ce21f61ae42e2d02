"""What a command of git searches among all commits, and which commits it reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from loopscope.evidence.shell.commands import SimpleCommand
from loopscope.evidence.shell.git import GitCall


class Search(Enum):
    """How a command goes through commits that the run need not have made."""

    CONTENT = "by content, or through what no branch names"
    LISTING = "by listing them all"


_HASH = re.compile(r"((?=[0-9a-f]*\d)[0-9a-f]{7,40})(?:[~^]\d*|\^\{\w*\})*(?::.*)?\Z", re.DOTALL)
_ALWAYS = frozenset(
    ["show", "cat-file", "checkout", "restore", "switch", "diff", "difftool", "diff-tree", "archive", "reset", "merge",
     "cherry-pick", "grep", "blame", "annotate", "read-tree", "format-patch", "rebase"]
)  # fmt: skip
"""Verbs that show what a commit holds, or put it into the work directory."""
LOGS = frozenset(["log", "rev-list", "shortlog", "whatchanged"])
"""Verbs that list the commits of which they show anything."""
_ALL = ("--all", "--branches", "--remotes", "--glob", "--reflog", "--walk-reflogs", "-g")
_PATCH = frozenset(["-p", "-u", "--patch", "-c", "--cc", "-m"])
_OF_LOGS = frozenset(["-S", "-G", "-n", "--grep", "--author", "--since", "--until", "--max-count"])
_NEW_BRANCH = frozenset(["-b", "-B", "-c", "-C", "--orphan"])
_VALUES = {
    **dict.fromkeys(LOGS, _OF_LOGS),
    **dict.fromkeys(("checkout", "switch", "worktree"), _NEW_BRANCH),
    **dict.fromkeys(("merge", "cherry-pick"), frozenset(["-m", "-X", "-s"])),
    "grep": frozenset(["-e", "-f", "-A", "-B", "-C", "-m"]),
    "archive": frozenset(["-o", "--output", "--prefix", "--format"]),
}
"""Options of verbs whose value is a word of its own, and no commit."""
_BRANCHES = re.compile(r"-[a-zA-Z]*[ar][a-zA-Z]*|--all|--remotes")
_EXPANDED = re.compile(r"(?:--source=|[^.]{0,200}\.\.\.?)?[$`]")
"""A commit that is an expansion."""
_DETACHED = ("--lost-found", "--unreachable", "--dangling")


def search_of(git: GitCall) -> Search | None:
    """The search that a command is; None for all others."""
    verb, given = git.verb, git.arguments
    if verb == "fsck":
        return Search.CONTENT if git.has(*_DETACHED) else Search.LISTING
    if verb in LOGS:
        if any(item.startswith(("-S", "-G")) for item in given):
            return Search.CONTENT
        return Search.LISTING if any(item.startswith(_ALL) for item in given) else None
    if verb == "reflog":
        return Search.LISTING if given[:1] not in (("expire",), ("delete",), ("exists",)) else None
    if verb == "branch":
        return Search.LISTING if any(_BRANCHES.fullmatch(item) for item in given) else None
    if verb == "cat-file":
        return Search.LISTING if git.has("--batch-all-objects") else None
    return Search.LISTING if verb in ("for-each-ref", "show-ref", "ls-remote") else None


def may_read(git: GitCall) -> bool:
    """Whether a command shows what commits hold, or takes it."""
    if git.verb in LOGS:
        return any(item in _PATCH for item in git.arguments)
    if git.verb == "worktree":
        return git.arguments[:1] == ("add",)
    if git.verb == "stash":
        return git.arguments[:1] in (("apply",), ("show",), ("branch",))
    return git.verb in _ALWAYS


def revisions(git: GitCall) -> Iterator[str]:
    """The hashes that a command names as commits, up to twelve digits of each."""
    skip = git.verb == "grep" and not git.has("-e", "-f")
    arguments, values = iter(git.arguments), _VALUES.get(git.verb, frozenset[str]())
    for item in arguments:
        if item == "--":
            return
        if item in values:
            next(arguments, None)
            continue
        if item.startswith("--source="):
            item = item.partition("=")[2]
        elif git.verb == "restore" and item.startswith("-s") and len(item) > 2:
            item = item[2:]
        elif not item.startswith("-") and skip:
            # The first word of `git grep` is what is looked for.
            skip = False
            continue
        for part in re.split(r"\.{2,3}", item) if ":" not in item else [item]:
            named = _HASH.match(part)
            if named:
                yield named[1][:12]


def reads_found(command: SimpleCommand, git: GitCall) -> bool:
    """Whether which commits a command reads is known to the running shell alone: a variable, what a pipe feeds it.

    A search that shows patches reads what it finds.
    """
    if git.verb in LOGS:
        return search_of(git) is not None
    before = git.arguments.index("--") if "--" in git.arguments else len(git.arguments)
    asked = zip(git.arguments[:before], git.literal[:before], strict=True)
    return "xargs" in command.wrappers or any(not known and _EXPANDED.match(item) for item, known in asked)
