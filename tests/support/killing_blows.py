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
    late: counted only from the first sandbox on; the planning before it is the same at every start.
    cut: as with a power cut, what was written and not synced is lost with the process.
    """

    victim: str = "none"
    event: str = "any"
    k: int = 1
    when: str = "before"
    late: bool = False
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
    # (event, greatest k, moments, weight); small, so that one study bears many
    ("rename", 5, ("before", "after"), 5),
    ("fsync", 12, ("before", "after"), 4),
    ("open", 10, ("before", "after", "torn"), 3),
    ("any", 40, ("before", "after"), 3),
    ("mkdir", 5, ("before", "after"), 1),
    ("unlink", 3, ("before", "after"), 1),
    ("scratch", 30, ("before", "after"), 1),
    ("agent", 3, ("after",), 2),
    ("verifier", 3, ("after",), 2),
    ("command", 12, ("after",), 1),
)
_OTHERS = (
    Blow("hub", "command", 12),
    Blow("hub", "verifier", 3),
    Blow("keeper", "verifier", 3),
    Blow("bwrap", "verifier", 3),
    Blow("verifier", "verifier", 3),
)


def engine_blow(rng: random.Random) -> Blow:
    """The engine's own death."""
    event, most, moments, _ = rng.choices(_ENGINE, [row[3] for row in _ENGINE])[0]
    k, when, late, cut = rng.randint(1, most), rng.choice(moments), rng.random() < 0.75, rng.random() < 0.5
    return Blow("engine", event, k, when, late=late, cut=cut)


def other_blow(rng: random.Random) -> Blow:
    """The death of something that works for the engine, which lives on."""
    chosen = rng.choice(_OTHERS)
    return replace(chosen, k=rng.randint(1, chosen.k), when="after")
