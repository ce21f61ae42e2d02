"""What `tasks add` found out about others' tasks: one record a task, kept beside them as `intake.json`."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Literal

from pydantic import Field

from loopscope.models.base import Record
from loopscope.models.task import Direction, TaskInfo


class ObstacleKind(StrEnum):
    """Why a task cannot run on this machine."""

    GPU = "gpu"
    TOOLCHAIN = "toolchain"
    """A program that its image would bring and the sandbox would not have."""
    PYTHON = "python"
    """A Python package, likewise."""
    MEMORY = "memory"
    DATA = "data"
    """Its image is built with data, weights or sources from the network; local sandboxes have none."""
    DOCKERFILE = "dockerfile"
    """Its Dockerfile is missing, or asks for what the local sandbox does not follow."""
    SERVICES = "services"
    """It brings a docker-compose file: more than one container, or settings of Docker's."""


class Obstacle(Record):
    """One thing that keeps a task from running in this machine's local sandbox."""

    kind: ObstacleKind
    what: str
    """What is missing or asked for."""
    where: str = ""
    """File and line, relative to the task."""
    remedy: str = ""
    """What would help; for programs the Debian package."""


class Form(StrEnum):
    """How a verifier makes a reward of its metric x, with baseline b and reference r."""

    LOG = "log"
    """c ln(b/x) / ln(b/r), or of the inverse ratios."""
    LINEAR = "linear"
    """(b - x) / (b - r)"""
    SHARE = "share"
    """(b - x) / b: no reference in it."""
    UNKNOWN = "unknown"


class ReadNumber(Record):
    """A constant of the verification."""

    value: Decimal
    name: str
    """What it is called there."""
    where: str
    """File and line, relative to the task."""


class Scoring(Record):
    """What the verification itself says of its reward, read without running it. What was not found is None."""

    form: Form = Form.UNKNOWN
    expression: str | None = None
    """The verifier's own line, as Python."""
    where: str | None = None
    """File and line of it, relative to the task."""
    baseline: ReadNumber | None = None
    reference: ReadNumber | None = None
    at_baseline: Decimal | None = None
    """Reward of the baseline by this expression, with the anchors of the verification."""
    at_reference: Decimal | None = None
    """Reward of the reference by it."""
    direction: Direction | None = None
    """By the order of the two anchors."""


class Mismatch(Record):
    """Where task.toml and the verification differ."""

    field: str
    """`baseline`, `reference` or `direction`."""
    stated: str
    """What task.toml says."""
    read: str
    """What the verification says."""
    where: str = ""
    """File and line of the latter."""


class State(StrEnum):
    """What became of a task."""

    ADDED = "added"
    PRESENT = "present"
    """The same task lies there already."""
    REFUSED = "refused"


class Taken(Record):
    """One task of a source."""

    name: str
    """Its directory in the library; in a study file its path."""
    place: str
    """Its directory in the source."""
    state: State
    problem: str | None = None
    """Why it was refused, with a remedy."""
    info: TaskInfo | None = None
    """What was read of it; None where it could not be read."""
    content_hash: str | None = None
    """sha256 over names, kinds, executable bits and bytes."""
    notes: tuple[str, ...] = ()
    """What its reader guessed, and what is slower or stricter here than its author meant."""
    obstacles: tuple[Obstacle, ...] = ()
    scoring: Scoring = Scoring()
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def runs_here(self) -> bool:
        """In this machine's local sandbox, as far as can be told without trying."""
        return self.state is not State.REFUSED and not self.obstacles


class ToolchainFact(Record):
    """A compiler or runtime of the host that was counted as there."""

    name: str
    source: str
    """Directory on the host."""
    inside: str
    """Where sandboxes see it."""
    version: str | None = None
    """In its own words; None where it did not say."""


class Intake(Record):
    """`intake.json`: everything that one `tasks add` saw. It lies beside the tasks and is no part of a study."""

    schema_version: Literal[1] = 1

    collection: str
    """What the library calls the source."""
    origin: str
    """Path or URL, without any password."""
    commit: str | None = None
    """Of a git repository; None for a directory."""
    toolchains: tuple[ToolchainFact, ...] = ()
    tasks: tuple[Taken, ...] = Field(default_factory=tuple)
