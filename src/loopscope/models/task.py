"""Tasks as loopscope sees them: the part of a Harbor task directory that a study depends on."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import ClassVar, Literal

from loopscope.models.base import Migration, Record, Versioned, same_fields

Direction = Literal["maximize", "minimize"]

GIT_LAYER = ": loopscope brings git"
"""How the RUN begins that a prepared Dockerfile has besides its author's: images get git by it, and the local sandbox,
which shows the host's git or says that there is none, passes over it."""


class Anchors(Record):
    """What the reward is measured against, as `task.toml` states it (`optimization.*`)."""

    metric: str | None = None
    """What the reward measures, in the task's words."""
    direction: Direction | None = None
    """Which way the metric is better."""
    baseline: Decimal | None = None
    """The metric of the untouched workspace."""
    reference: Decimal | None = None
    """The metric of a known good solution."""


class TaskInfo(Record):
    """One task, read from its directory."""

    name: str
    """Directory name; unique in a study."""
    title: str
    """For people; made of the name where the task has none."""
    category: str
    """The family (`metadata.domain`, else `metadata.category`), or `uncategorized`."""
    workdir: str = "/app"
    """Working directory in the sandbox: the image's WORKDIR."""
    agent_timeout_sec: float
    """Seconds that an agent is given where the study says nothing."""
    verifier_timeout_sec: float
    """Seconds that one verification may take, before `scoring.timeout_multiplier`."""
    timed: bool
    """The verifier measures time: verified alone on the machine and repeated."""
    editable: tuple[str, ...] = ()
    """Files a solution may change, relative to the working directory, where the task says so."""
    repertoire: tuple[str, ...] = ()
    """The standard techniques of the problem, for the novelty judge."""
    anchors: Anchors = Anchors()
    """What the reward is measured against."""
    gpus: int = 0
    """How many the task asks for."""
    builtin: bool = False
    """It comes with loopscope."""


class TaskFacts(Record):
    """What measures and report need of a task, prepared or only known by an imported log and an evaluator file."""

    name: str
    """Unique in a study."""
    title: str
    """For people."""
    category: str
    """The family, or `uncategorized`."""
    timed: bool | None = None
    """Its score hangs on measured time; None where nobody says so."""
    editable: tuple[str, ...] = ()
    """Files a solution may change, relative to the working directory; empty when not known."""
    anchors: Anchors = Anchors()
    """What the reward is measured against."""


class PreparedTask(Versioned):
    """A task exactly as the agents of a study see it, kept with the study (`tasks/<name>/` and `tasks/<name>.json`)."""

    schema_version: int = 2
    MIGRATIONS: ClassVar[Mapping[int, Migration]] = {1: same_fields}
    SEALED_SINCE: ClassVar[int | None] = 2

    info: TaskInfo
    """What was read of it."""
    source: str
    """Where it was taken from: `builtin:<name>` or the path written in the study file."""
    content_hash: str
    """sha256 over names, modes and bytes of the prepared directory."""
    verifier_hash: str
    """sha256 over what decides a score: tests, environment, verifier settings. Equal hashes may share scores."""
    notes: tuple[str, ...] = ()
    """What its reader guessed or passed over, in words for the study's author."""

    @property
    def facts(self) -> TaskFacts:
        """What measures and report need of it."""
        info = self.info
        return TaskFacts(
            name=info.name,
            title=info.title,
            category=info.category,
            timed=info.timed,
            editable=info.editable,
            anchors=info.anchors,
        )
