"""What one start of the engine suffers, and where: a value that is drawn from a seed and can be written down."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass, replace
from typing import Any

DURABLE = ("rename", "fsync", "open", "link", "mkdir", "unlink")
"""Counted operations on the study's files; what lies in the scratch of one trial counts as `scratch` alone."""


@dataclass(frozen=True)
class Blow:
    """One disturbance of one start.

    victim: `engine`, `hub`, `keeper`, `bwrap`, `verifier` die by SIGKILL; `error` makes the operation fail with
        `errno`, and all later ones too where `sticky`; `files` leaves no file descriptor free; `clock` makes the wall
        clock jump by `seconds`; `pause` stops the engine until it is continued; `none` does nothing.
    event: what is counted: one of DURABLE, `any` of these, `scratch`, or a command that starts in a sandbox: `command`
        any, `agent` one of the agent's, `verifier` the task's test.
    k: the blow falls at the k-th event, from 1.
    when: `before` or `after` the operation; `torn`: in the middle of the first write to a file just opened.
    cut: as with a power cut, what was written and not synced is lost with the process.
    """

    victim: str = "none"
    event: str = "any"
    k: int = 1
    when: str = "before"
    cut: bool = False
    errno: int = 0
    sticky: bool = False
    seconds: int = 0

    def text(self) -> str:
        """JSON, on one line."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Blow:
        """From `text`."""
        values: dict[str, Any] = json.loads(text)
        return cls(**values)


_ENGINE = (
    # (event, greatest k, moments, weight)
    ("rename", 10, ("before", "after"), 5),
    ("fsync", 30, ("before", "after"), 4),
    ("open", 25, ("before", "after", "torn"), 3),
    ("any", 80, ("before", "after"), 3),
    ("link", 6, ("before", "after"), 1),
    ("mkdir", 8, ("before", "after"), 1),
    ("unlink", 8, ("before", "after"), 1),
    ("scratch", 60, ("before", "after"), 1),
    ("agent", 4, ("after",), 2),
    ("verifier", 4, ("after",), 2),
    ("command", 20, ("after",), 1),
)
_OTHERS = (
    Blow("hub", "command", 20),
    Blow("hub", "verifier", 3),
    Blow("keeper", "verifier", 4),
    Blow("bwrap", "verifier", 4),
    Blow("verifier", "verifier", 4),
)


def engine_blow(rng: random.Random) -> Blow:
    """The engine's own death."""
    event, most, moments, _ = rng.choices(_ENGINE, [row[3] for row in _ENGINE])[0]
    return Blow("engine", event, rng.randint(1, most), rng.choice(moments), cut=rng.random() < 0.5)


def other_blow(rng: random.Random) -> Blow:
    """The death of something that works for the engine, which lives on."""
    chosen = rng.choice(_OTHERS)
    return replace(chosen, k=rng.randint(1, chosen.k), when="after")
