"""Find a commit in the histories that later commands print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from loopscope.evidence.shell.calls import ShellCall
from loopscope.evidence.shell.git import git_call

_ONE_LINE = re.compile(
    r"^[*|/\\ ]*([0-9a-f]{7,40}) (?:\((?:HEAD|[\w/.,-]+)[^)\n]*\) )?(?:HEAD@\{\d+\}: \S[^:]*: )?(.+)$", re.M
)
_FULL = re.compile(r"^[*|/\\ ]*commit ([0-9a-f]{7,40})\b.*(?:\n(?:\w+: .*|[ \t]*)){0,9}?\n {4}(\S.*)$", re.M)
_LISTS = frozenset(["log", "reflog", "show", "rev-list", "branch", "blame", "rev-parse"])
_MAX_SCANNED = 64 << 10


@dataclass(frozen=True, slots=True)
class Listing:
    """A commit as a history shows it."""

    index: int
    hash: str
    subject: str


History = tuple[int, list[Listing]]
"""The position of a call, and what it lists."""


def histories(shells: Sequence[ShellCall]) -> list[History]:
    """The calls that list commits, with what they list."""
    return [(shell.position, list(listings(shell))) for shell in shells if _is_history(shell)]


def confirm(subject: str, position: int, histories: Sequence[History], taken: Set[str], repeats: int) -> Listing | None:
    """The first listing of a commit by its subject, at or after the call that made it.

    Args:
        subject: of the commit, as far as it is known.
        position: of the call that made it.
        histories: what the thread's calls list, with their positions.
        taken: short hashes that other commits are known to have.
        repeats: how many commits have this subject; of several the oldest that is not taken is meant.
    """
    wanted = " ".join(subject.split())
    for at, listed in histories:
        if at < position:
            continue
        lines = [
            line for line in listed if line.hash[:7] not in taken and _fits(" ".join(line.subject.split()), wanted)
        ]
        if lines:
            # Histories are printed newest first.
            return lines[-1] if repeats > 1 else lines[0]
    return None


def listings(shell: ShellCall) -> Iterator[Listing]:
    """The commits that a call's output lists."""
    for output in shell.outputs:
        text = output.text[:_MAX_SCANNED]
        for pattern in (_ONE_LINE, _FULL):
            for found in pattern.finditer(text):
                yield Listing(output.index, found[1], found[2].strip())


def _is_history(shell: ShellCall) -> bool:
    return any((git := git_call(command)) is not None and git.verb in _LISTS for command in shell.script.commands)


def _fits(shown: str, wanted: str) -> bool:
    """Whether a shown subject is the wanted one; histories may be cut at the right."""
    if shown == wanted:
        return True
    shown = shown.removesuffix("...").removesuffix("…").rstrip()
    return len(shown) >= 20 and wanted.startswith(shown)
