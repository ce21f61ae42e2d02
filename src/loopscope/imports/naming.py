"""What an imported run is called: safe names of task and agent, and its seed."""

from __future__ import annotations

import hashlib
import re

from loopscope.transcripts import inspect_eval
from loopscope.transcripts.canonical import Source

MOST = 80
"""Characters of a task's or an agent's name."""
NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._@+-]{{0,{MOST - 1}}}")
_SEPARATORS = re.compile(r"[\s/\\:,;|]+")
_OTHERS = re.compile(r"[^A-Za-z0-9._@+-]+")
_SEED = re.compile(r"(?:.*[^0-9])?([0-9]{1,9})", re.DOTALL)
_NO_SEED = re.compile(
    r"(?:.*[0-9])?[.,][0-9]+"  # 0.5
    r"|(?:.*[-+=:\s])?-[0-9]+"  # -5, seed=-5; but seed-5
    r"|(?:.*[^0-9A-Za-z])?[0-9]+[.]?[0-9]*[eExX][-+]?[0-9]+",  # 1e5, 0x5
    re.DOTALL,
)
"""Ends in digits that are a part of another number."""


def safe_name(text: str) -> str | None:
    """A name of a directory for what a log calls a task or a model; None when nothing of it can be kept.

    Separators become `-`. Where more is lost, a digest of the whole is appended, so that names stay different.
    """
    plain = _SEPARATORS.sub("-", text.strip())
    kept = _OTHERS.sub("-", plain).lstrip("-._@+").rstrip("-")
    if not kept:
        return None
    if _OTHERS.search(plain) or len(kept) > MOST:
        kept = f"{kept[: MOST - 9]}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return kept


def task_of(source: Source) -> str | None:
    """The task that a log names; of Inspect, which calls a whole set of problems a task, the set and the problem."""
    if not source.task:
        return None
    problem = source.trial.rpartition(" epoch ")[0] if source.format == inspect_eval.NAME and source.trial else ""
    return safe_name(f"{source.task}/{problem}" if problem else source.task)


def label_of(source: Source) -> str | None:
    """The label of a log's agent: its model or, without one, the harness; as study files have it, without provider."""
    name = source.model or source.agent
    return safe_name(name.rsplit("/", 1)[-1]) if name else None


def harness_of(source: Source) -> str:
    """Harness and version, as far as the log says."""
    words = [word for word in (source.agent, source.agent_version) if word]
    return " ".join(words) if source.agent else "unknown"


def seed_of(source: Source) -> int | None:
    """The seed that a log states: the number that its text ends in (`seed-3`); None without a whole one from 0."""
    found = _SEED.fullmatch(source.seed) if source.seed and not _NO_SEED.fullmatch(source.seed) else None
    return int(found[1]) if found else None
