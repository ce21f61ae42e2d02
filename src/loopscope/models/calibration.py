"""Calibration: what a task's starter and reference are worth on this machine, by the task's own verifier."""

from __future__ import annotations

import hashlib
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import ClassVar

from pydantic import Field

from loopscope.models.base import Record, Versioned
from loopscope.models.score import VerificationStatus
from loopscope.models.task import Anchors


class CalibrationAct(StrEnum):
    """What was verified."""

    STARTER = "starter"
    """The untouched workspace."""
    REFERENCE = "reference"
    """The workspace after the task's own solution."""


class Machine(Record):
    """What of a machine seconds and ratios depend on."""

    cpu: str
    """The processor's model, as the kernel names it."""
    cores: int
    """Processors that this process may use."""
    memory_gib: int
    """Memory in GiB, rounded."""
    architecture: str
    """Of the kernel, such as `x86_64`."""
    kernel: str
    """Its release."""
    compilers: dict[str, str] = Field(default_factory=dict)
    """First line of what each compiler and interpreter says of its version, by name; absent ones are left out."""

    @property
    def fingerprint(self) -> str:
        """sha256 over all of it."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.cpu}, {self.cores} cores, {self.memory_gib} GiB, {self.kernel}"


class SeenMachines(Versioned):
    """`calibration/machines.json` of a study: the machines that its verifications were started on."""

    SEALED_SINCE: ClassVar[int | None] = 1

    machines: tuple[Machine, ...] = ()
    """In the order in which they were first met."""


class CalibrationTrial(Record):
    """One verification of the starter or the reference, in a sandbox of its own."""

    act: CalibrationAct
    """Which of the two."""
    status: VerificationStatus
    """How it ended; one that the environment failed is not kept."""
    reward: Decimal | None = None
    """The official reward, exactly as printed."""
    metrics: dict[str, Decimal] = Field(default_factory=dict)
    """Every other number of the reward file."""
    reason: str | None = None
    """Why there is no reward, or what was odd about it."""
    seconds: float
    """Of the verifier alone."""
    timeout_sec: float
    """Its deadline, in seconds."""
    load: float | None = None
    """The machine's load average of the last minute when it had ended; None where nothing tells."""
    at: datetime
    """When it ended."""


class Calibration(Versioned):
    """The trials of one task on one machine: `calibration/<task>.json` of a study, or a file of the user's cache."""

    SEALED_SINCE: ClassVar[int | None] = 1

    task: str
    """Name of the task."""
    verifier_hash: str
    """As in `PreparedTask`; of the verifier that ran. It holds for no other."""
    environment: str
    """Type of the environment, as a study names it."""
    machine: Machine
    """Where it was measured. It holds for no other."""
    anchors: Anchors = Anchors()
    """As the task states them."""
    nominal: Decimal | None = None
    """What the task says that its reference earns (`optimization.reference.reward`)."""
    timed: bool = False
    """The verifier measures time."""
    trials: tuple[CalibrationTrial, ...] = ()
    """In the order in which they were run."""

    def of(self, act: CalibrationAct) -> tuple[CalibrationTrial, ...]:
        """The trials of one act."""
        return tuple(trial for trial in self.trials if trial.act is act)

    def rewards(self, act: CalibrationAct) -> tuple[Decimal, ...]:
        """Its rewards, ascending."""
        return tuple(sorted(trial.reward for trial in self.of(act) if trial.reward is not None))

    def reward(self, act: CalibrationAct) -> Decimal | None:
        """Their middle (the lower one of an even number); None without any."""
        return middle(self.rewards(act))

    def spread(self, act: CalibrationAct) -> Decimal | None:
        """Largest minus smallest; None unless two were measured."""
        rewards = self.rewards(act)
        return rewards[-1] - rewards[0] if len(rewards) > 1 else None

    @property
    def seconds(self) -> float | None:
        """The longest verification; None without any."""
        return max((trial.seconds for trial in self.trials), default=None)


def middle(numbers: tuple[Decimal, ...]) -> Decimal | None:
    """The lower middle of ascending numbers, so that it is one that was measured; None without any."""
    return numbers[(len(numbers) - 1) // 2] if numbers else None
