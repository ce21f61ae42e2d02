"""What doctor finds: one row per fact, with what its absence costs and what mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from loopscope.sandbox.doctor.machine import Machine

TIMEOUT_SEC = 5.0
DECIDING_SEC = 15.0
"""For what decides whether studies run: on a busy machine a slow answer must not be taken for none."""


class State(StrEnum):
    """How a row stands."""

    OK = "ok"
    WEAK = "weak"
    """It works, less well than it could."""
    MISSING = "missing"
    UNKNOWN = "unknown"
    """It could not be found out: no answer in time, or no access."""


class Need(StrEnum):
    """Who needs it."""

    REQUIRED = "required"
    """Without it no local study runs."""
    ADVISED = "advised"
    """Studies run; limits are weaker, numbers noisier, or common tasks are refused."""
    OPTIONAL = "optional"
    """Only some tasks, agents or environments."""


class Area(StrEnum):
    """Groups of rows, in the order in which they matter."""

    STUDY = "this study"
    SANDBOX = "sandbox"
    LIMITS = "limits"
    LOOPSCOPE = "loopscope"
    STORAGE = "storage"
    TIMING = "machine and timing"
    TOOLS = "tools for tasks"
    AGENTS = "agents and engines"
    TESTS = "loopscope's own tests"


@dataclass(frozen=True)
class Finding:
    """One row."""

    area: Area
    name: str
    state: State
    fact: str
    """What was found."""
    cost: str = ""
    """What one cannot do, or what gets weaker, as it is; empty when nothing does."""
    remedy: str = ""
    """What mends it, in words; empty when the commands say it, or nothing needs mending."""
    commands: tuple[str, ...] = ()
    """What to type, for this distribution and this user."""
    need: Need = Need.ADVISED

    @property
    def to_mend(self) -> bool:
        """Whether a person should do something about it, or cannot run studies until they do."""
        return self.state is not State.OK and self.need is not Need.OPTIONAL

    @property
    def prevents(self) -> bool:
        """Whether no local study can run because of it."""
        return self.need is Need.REQUIRED and self.state in (State.MISSING, State.UNKNOWN)


@dataclass(frozen=True)
class Check:
    """Something to look at. Should it hang or break, its row is `unknown` and no other suffers."""

    area: Area
    name: str
    look: Callable[[Machine], Iterable[Finding]]
    need: Need = Need.ADVISED
    timeout_sec: float = TIMEOUT_SEC
    quiet: bool = False
    """Looked at first and alone, since what the other checks do would disturb it."""
