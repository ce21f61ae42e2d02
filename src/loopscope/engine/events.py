"""What the engine tells whoever watches: a progress bar, a log, a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """Parts of `loopscope run`, in order."""

    PREPARE = "prepare"
    ROLLOUT = "rollout"
    SCORE = "score"


@dataclass(frozen=True)
class Event:
    """Progress within a phase: `done` of `total` units; `message` is one line about the unit."""

    phase: Phase
    done: int
    total: int
    message: str
    problem: bool = False
    """The unit ended badly; its record says how."""


Notify = Callable[[Event], None]


def silent(_: Event) -> None:
    """Watch nothing."""
