"""What a unit of work holds while it runs, and what this machine and the study file give to all of them together."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from harbor.models.task.config import TaskConfig

from loopscope.agents.registry import AgentKind
from loopscope.engine.providers import Provider
from loopscope.models import AgentSpec, StudySpec
from loopscope.records.studyfile import NoRoomError
from loopscope.tasks.prepare import prepared_dir

MODEL_BOUND_MILLICPUS = 125
"""An agent that drives a model waits for it most of the time, and builds and tests in between: an eighth of a cpu."""
DEFAULT_STORAGE_MB = 1024
"""Counted for a task that does not say how much it may write."""
_ON_THIS_MACHINE = frozenset({"local", "docker", "podman", "apple-container", "singularity", "kata"})
"""Environments whose trials use this machine's cpus and disk; those by import path count as such too."""


@dataclass(frozen=True)
class Need:
    """What one unit holds while it runs."""

    millicpus: int = 0
    disk_bytes: int = 0
    """As much as it may write, whether it does or not."""
    provider: str | None = None
    what: str = ""
    """For messages: the task."""


@dataclass(frozen=True)
class Capacity:
    """What all running units may hold together."""

    places: int
    """Units at once."""
    millicpus: int | None = None
    """None: not counted."""
    disk_bytes: int | None = None
    """Budget for what running units may write; None: what is free."""
    reserve_bytes: int = 0
    """Stays free whatever runs."""
    folder: Path | None = None
    """On the file system whose free bytes count; None counts none."""
    free_bytes: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free

    def fits(self, need: Need, running: Collection[Need]) -> bool:
        """Whether one more may start. A unit larger than a whole budget runs alone; free bytes are never exceeded."""
        return (
            len(running) < self.places
            and _within(need.millicpus, sum(other.millicpus for other in running), self.millicpus)
            and _within(need.disk_bytes, sum(other.disk_bytes for other in running), self.disk_bytes)
            and self._has_room(need, running)
        )

    def _has_room(self, need: Need, running: Collection[Need]) -> bool:
        """What running units have written already is counted twice: rather a late start than a full disk."""
        if self.folder is None or not need.disk_bytes:
            return True
        promised = need.disk_bytes + sum(other.disk_bytes for other in running)
        return self.free_bytes(self.folder) - self.reserve_bytes >= promised

    def shortage(self, need: Need) -> NoRoomError:
        """Why a unit does not fit although nothing runs: only the disk can be the reason."""
        if self.folder is None:
            raise AssertionError("a unit that runs alone fits every budget")
        free, wanted = self.free_bytes(self.folder), need.disk_bytes + self.reserve_bytes
        return NoRoomError(
            f"{self.folder}: make room: {_gb(free)} GB are free, and a run of {need.what} needs {_gb(wanted)} GB "
            f"({_gb(need.disk_bytes)} that it may write, {_gb(self.reserve_bytes)} that stay free: "
            f"schedule.disk_reserve_gb); free {_gb(wanted - free)} GB and run again"
        )


def _within(wanted: int, used: int, budget: int | None) -> bool:
    return budget is None or wanted == 0 or used + min(wanted, budget) <= budget


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f}"


def provider_of(agent: AgentSpec) -> str:
    """The part of `provider/model` that limits are set for; an agent that names no model is told apart by its label."""
    return agent.model.split("/", 1)[0] if agent.model else f"agent {agent.label}"


def is_model_bound(agent: AgentSpec, kind: AgentKind) -> bool:
    """Whether an agent waits for a model most of the time."""
    return kind.needs_model or agent.model is not None


class Needs:
    """What the units of one study need.

    Args:
        directory: the study's, where its prepared tasks lie.
    """

    def __init__(self, directory: Path, spec: StudySpec) -> None:
        self._directory, self._spec = directory, spec
        self._known: dict[str, tuple[float, int | None]] = {}
        self._here = spec.environment.type in _ON_THIS_MACHINE or ":" in spec.environment.type

    def capacity(self) -> Capacity:
        """What the study may hold: as its file says, else this machine's cpus and free disk."""
        schedule = self._spec.schedule
        cpus = schedule.cpus or (len(os.sched_getaffinity(0)) if self._here else None)
        return Capacity(
            places=self._spec.concurrency,
            millicpus=None if cpus is None else max(1, round(cpus * 1000)),
            disk_bytes=None if schedule.disk_gb is None else round(schedule.disk_gb * 1e9),
            reserve_bytes=round(schedule.disk_reserve_gb * 1e9),
            folder=self._directory,
        )

    def providers(self) -> dict[str, Provider]:
        """The shares that the study begins with, by name."""
        limits = self._spec.schedule.per_provider
        names = dict.fromkeys(provider_of(agent) for agent in self._spec.agents)
        most = self._spec.concurrency
        return {name: Provider(name, min(limits.get(name, most), most), seed=self._spec.name) for name in names}

    def rollout(self, task: str, agent: AgentSpec, kind: AgentKind) -> Need:
        """Of a rollout: an agent without a model is cpu-bound and takes what its task is given."""
        cpus = MODEL_BOUND_MILLICPUS if is_model_bound(agent, kind) else self._cpus(task)
        return Need(cpus, self._disk(task), provider_of(agent), task)

    def verification(self, task: str) -> Need:
        """Of a verification: cpu-bound, whatever agent made what is verified."""
        return Need(self._cpus(task), self._disk(task), None, task)

    def _cpus(self, task: str) -> int:
        return max(1, round(1000 * (self._spec.environment.cpus or self._resources(task)[0])))

    def _disk(self, task: str) -> int:
        return (self.storage_mb(task) or DEFAULT_STORAGE_MB) << 20 if self._here else 0

    def storage_mb(self, task: str) -> int | None:
        """MiB that a task's sandbox may write, as the task says; None where it does not."""
        return self._resources(task)[1]

    def _resources(self, task: str) -> tuple[float, int | None]:
        """(cpus, storage in MiB) that a prepared task asks for, read once: while a study runs its tasks stay."""
        if task not in self._known:
            text = (prepared_dir(self._directory, task) / "task.toml").read_text(encoding="utf-8")
            environment = TaskConfig.model_validate_toml(text).environment
            self._known[task] = float(environment.cpus or 1), environment.storage_mb
        return self._known[task]
