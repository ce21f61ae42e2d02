"""What a static rule and a dynamic probe are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from loopscope.audit.finding import Finding
from loopscope.audit.sources import TaskSources
from loopscope.audit.subject import Subject


@dataclass(frozen=True)
class Rule:
    """Something that is read from a task's files."""

    name: str
    """Short and hyphenated; stands in findings."""
    kind: int | None
    """Which of the nine kinds of hacks it looks for."""
    title: str
    """What it finds, in a few words."""
    check: Callable[[TaskSources], Iterator[Finding]]
    """Yields findings; may raise `NotApplicable`."""


@dataclass(frozen=True)
class Probe:
    """Something that is tried on a task, in its sandbox, before its own verifier."""

    name: str
    """Short and hyphenated; stands in findings."""
    kind: int | None
    """Which of the nine kinds of hacks it tries."""
    title: str
    """What it tries, in a few words."""
    run: Callable[[Subject], Awaitable[list[Finding]]]
    """Tries it; may raise `NotApplicable`."""
