"""What kind of commit each one is: from its message, and from what was changed since the one before."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from loopscope.evidence.gate import Artifact, is_administrative, reads_as_bookkeeping, vocabulary
from loopscope.evidence.shell.commands import resolve
from loopscope.evidence.shell.commit_types import CommitFinding

_INITIAL = re.compile(r"\b(?:initial|baseline|first commit|starting (?:point|state)|original (?:code|state))\b", re.I)
_REVERT = re.compile(r"\b(?:revert(?:s|ed|ing)?|restor(?:e|es|ed|ing)|roll(?:ed|s)? ?back|undo|undid|back to)\b", re.I)
_HYPOTHESIS = re.compile(r"\b(?:change|hypothesis)\s*[=:]", re.I)
_REVERTING = re.compile(r"\bchange\s*[=:]\s*(?:revert|restor|roll(?:ed|s)? ?back|undo|back to)", re.I)
"""What a commit of the form `change=... hypothesis=...` says that it does."""
_LEADING = re.compile(r"(?:(?:update|add|extend|final|the)\s+)*([^\W\d_]+)", re.I)
_ROUND = re.compile(r"\b(?:round|iter(?:ation)?|attempt|step|exp(?:eriment)?|v)[ _-]?\d", re.I)
_NOTHING = Artifact()
_WORD = re.compile(r"[^\W\d_]+")


class CommitKind(StrEnum):
    """What a commit is for."""

    INITIAL = "initial"
    CHANGE = "change"
    REVERT = "revert"
    ADMINISTRATIVE = "administrative"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Classified:
    """A commit's kind."""

    commit: CommitFinding
    kind: CommitKind
    reason: str
    repeated: bool = False
    """An initial commit that was made again, after the repository was made anew."""


Changed = Callable[[CommitFinding], bool | None]


def classify(commits: Sequence[CommitFinding], changed: Changed, returned: Changed) -> list[Classified]:
    """The kind of each commit that happened, or may have.

    The files decide before the message does: messages say "final: clean up" above the best change of a run.

    Args:
        commits: of one thread, in order.
        changed: whether the artifact differs from that of the commit before; None when unknown.
        returned: whether the artifact is that of an earlier commit, but not of the one before; None when unknown.
    """
    found: list[Classified] = []
    initial = False
    for commit in commits:
        if commit.happened is False:
            continue
        kind, reason = _kind(commit, changed(commit), returned(commit), first=not found)
        found.append(Classified(commit, kind, reason, repeated=kind is CommitKind.INITIAL and initial))
        initial |= kind is CommitKind.INITIAL
    return found


def _kind(commit: CommitFinding, changed: bool | None, returned: bool | None, *, first: bool) -> tuple[CommitKind, str]:
    message = commit.message or commit.subject or ""
    title = commit.subject or message
    begins = commit.root is True or first
    if begins and changed is not True:
        return CommitKind.INITIAL, "the first of its repository, and no artifact file was changed before"
    if (_INITIAL.search(title) and begins) or (_INITIAL.match(title) and not changed):
        return CommitKind.INITIAL, "its message says so"
    if commit.verb == "revert" or (returned and changed):
        why = "`git revert`" if commit.verb == "revert" else "the artifact is that of an earlier commit"
        return CommitKind.REVERT, why
    if _REVERTING.search(title) or (_REVERT.search(_own_claim(title)) and not _HYPOTHESIS.search(title)):
        return CommitKind.REVERT, "its message says so"
    if changed:
        return CommitKind.CHANGE, "an artifact file differs from the commit before"
    if changed is False and _holds_records(commit):
        return CommitKind.ADMINISTRATIVE, f"all that it was told to hold are records: {', '.join(commit.named[:3])}"
    if changed is False and (_of_records(title) or not _works(title)):
        return CommitKind.ADMINISTRATIVE, "no artifact file changed, and the message names no work"
    if changed is None and reads_as_bookkeeping(title):
        return CommitKind.ADMINISTRATIVE, "the message reads as bookkeeping"
    if _ROUND.search(title) or _HYPOTHESIS.search(title) or (changed is None and _works(title)):
        return CommitKind.CHANGE, "its message speaks of a round or a change"
    return CommitKind.OTHER, "no artifact file is known to have changed, and the message says neither"


def _own_claim(title: str) -> str:
    """A title up to what it tells in passing, in brackets or in a second sentence: a change "that was reverted"."""
    return re.split(r"[(;]|[.!?]\s", title, maxsplit=1)[0]


def _holds_records(commit: CommitFinding) -> bool:
    names = [resolve(None if name.startswith("/") else ".", name) or name for name in commit.named]
    return bool(names) and all(is_administrative(name.encode("utf-8", "surrogatepass"), _NOTHING) for name in names)


def _of_records(title: str) -> bool:
    """Whether a title speaks of records, when it is known that nothing of the artifact changed.

    "add .gitignore" and "journal: round 8" do; "round 8: log the cache misses" tells of a round.
    """
    records = vocabulary().administrative_words
    leading = _LEADING.match(title)
    if leading and leading[1].lower() in records:
        return True
    words = {word.lower() for word in _WORD.findall(title)}
    return bool(words & records) and not _ROUND.search(title) and not _HYPOTHESIS.search(title)


def _works(title: str) -> bool:
    words = {word.lower() for word in _WORD.findall(title)}
    return bool(words & vocabulary().code_change_words)
