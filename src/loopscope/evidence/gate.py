"""The proposal gate (Appendix C.1): which commits are proposals, and which only keep records.

The repository is the strongest witness: what a commit changed is read from trees, not guessed from commands. A
commit is removed only when no artifact changed, what changed is administrative, and the message reads as bookkeeping;
everything uncertain stays. Every decision carries its reason.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path, PurePosixPath

import yaml
from pydantic import BaseModel, ConfigDict

from loopscope.models import Commit, RunRecord
from loopscope.records import Repository
from loopscope.records.repository import TreeUnreadable

EPS = Decimal("0.01")
_WORD = re.compile(r"[^\W\d_]+")


class Vocabulary(BaseModel):
    """The data file beside this module."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    administrative_words: frozenset[str]
    code_change_words: frozenset[str]
    administrative_paths: tuple[str, ...]
    administrative_suffixes: frozenset[str]
    record_keeping_paths: frozenset[str]


@cache
def vocabulary() -> Vocabulary:
    """The words and paths, read once."""
    text = Path(__file__).with_name("vocabulary.yaml").read_text(encoding="utf-8")
    return Vocabulary.model_validate(yaml.safe_load(text))


@dataclass(frozen=True)
class Decision:
    """What the gate did with one commit, and why."""

    keep: bool
    reason: str


def reads_as_bookkeeping(message: str) -> bool:
    """Whether a message speaks of records and of no change to the code."""
    words = {word.lower() for word in _WORD.findall(message)}
    return bool(words & vocabulary().administrative_words) and not words & vocabulary().code_change_words


@dataclass(frozen=True)
class Artifact:
    """What of a task is never administrative."""

    editable: tuple[str, ...] = ()
    """What the task says a solution may change."""
    prepared: frozenset[bytes] = frozenset()
    """Files of the untouched work directory; empty when they are unknown."""


def is_administrative(path: bytes, artifact: Artifact) -> bool:
    """Whether a path holds records: named like some, of prose, and no file of the task's own."""
    name = path.decode("utf-8", "replace")
    if name in artifact.editable or path in artifact.prepared:
        return False
    lower, words = name.lower(), vocabulary()
    if lower in words.record_keeping_paths:
        return True
    if PurePosixPath(lower).suffix not in words.administrative_suffixes:
        return False
    return any(_matches(lower.split("/"), pattern.split("/")) for pattern in words.administrative_paths)


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a path fits a pattern, part by part; `**` stands for any number of parts."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[skip:], pattern[1:]) for skip in range(len(parts) + 1))
    return bool(parts) and fnmatch.fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def decide(
    record: RunRecord, repository: Repository, scores: Mapping[str, Decimal | None], artifact: Artifact
) -> list[Decision]:
    """Pass every commit of a run through the gate, in order.

    Args:
        record: the run.
        repository: its salvaged repository.
        scores: official score by state; None or absent is missing.
        artifact: the paths of the task.
    """
    decisions: list[Decision] = []
    previous: Commit | None = None
    last_score: Decimal | None = None
    for commit in record.commits:
        if commit.superseded_by:
            decisions.append(Decision(False, f"replaced by {commit.superseded_by[:8]}; counted once, the last"))
            continue
        score = scores.get(commit.state)
        decision = _decide_one(commit, previous, score, last_score, repository, artifact)
        decisions.append(decision)
        previous = commit
        if decision.keep and score is not None:
            last_score = score
    return decisions


def _decide_one(
    commit: Commit,
    previous: Commit | None,
    score: Decimal | None,
    last_score: Decimal | None,
    repository: Repository,
    artifact: Artifact,
) -> Decision:
    if previous is None:
        return Decision(True, "first commit")
    if score is not None and last_score is not None and abs(score - last_score) > EPS:
        return Decision(True, f"its score differs from the last retained one ({last_score:.4f} to {score:.4f})")
    if commit.snapshot_id != previous.snapshot_id:
        return Decision(True, "its output snapshot differs")
    if repository.tree(commit.tree.encode()) is None or repository.tree(previous.tree.encode()) is None:
        return Decision(True, "its tree cannot be read; uncertain commits stay")
    try:
        changed = repository.changed_paths(previous.tree.encode(), commit.tree.encode())
    except TreeUnreadable as error:
        return Decision(True, f"not compared: {error}; uncertain commits stay")
    if not changed and commit.tree != previous.tree:
        return Decision(True, "its tree differs in what cannot be read; uncertain commits stay")
    artifacts = sorted(path for path in changed if not is_administrative(path, artifact))
    if artifacts:
        return Decision(True, f"changes {_paths(artifacts)}")
    if not reads_as_bookkeeping(commit.message):
        return Decision(
            True, "changes no artifact, but its message does not read as bookkeeping; ambiguous commits stay"
        )
    what = f"only {_paths(sorted(changed))} changed" if changed else "nothing changed"
    return Decision(False, f"administrative: {what}, and the message reads as bookkeeping")


def _paths(paths: Sequence[bytes]) -> str:
    return named([path.decode("utf-8", "replace") for path in paths])


def named(names: Sequence[str]) -> str:
    """The first three of a list, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
