"""What a unit of work holds while it runs, and what this machine and the study file give to all of them together."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harbor.models.task.config import TaskConfig

from loopscope.agents.registry import AgentKind
from loopscope.engine.harvest import MAX_WORKSPACE_BYTES
from loopscope.engine.providers import Provider
from loopscope.models import AgentSpec, StudySpec
from loopscope.records.studyfile import NoRoomError
from loopscope.sandbox.storage import DEFAULT_MB, SMALLER_MB
from loopscope.tasks.prepare import prepared_dir

MODEL_BOUND_MILLICPUS = 125
"""An agent that drives a model waits for it most of the time, and builds and tests in between: an eighth of a cpu."""
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

    def shortage(self, needs: Sequence[Need]) -> NoRoomError:
        """Why units do not fit although nothing runs: only the disk can be the reason."""
        if self.folder is None:
            raise AssertionError("a unit that runs alone fits every budget")
        largest = max(needs, key=lambda need: need.disk_bytes)
        free, wanted = self.free_bytes(self.folder), largest.disk_bytes + self.reserve_bytes
        tasks = ", ".join(sorted({need.what for need in needs}))
        count = f"{len(needs)} units wait for it ({tasks}); " if len(needs) > 1 else ""
        return NoRoomError(
            f"{self.folder}: make room: {_gb(free)} GB are free, and a run of {largest.what} needs {_gb(wanted)} GB "
            f"({_gb(largest.disk_bytes)} that it may write, {_gb(self.reserve_bytes)} that stay free: "
            f"schedule.disk_reserve_gb); {count}free {_gb(max(0, wanted - free))} GB and run again"
        )


def _within(wanted: int, used: int, budget: int | None) -> bool:
    return budget is None or wanted == 0 or used + min(wanted, budget) <= budget


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f}"


def harvest_bytes(storage_bytes: int) -> int:
    """The most that comes out of a sandbox that may hold so many bytes, as a tar."""
    return min(MAX_WORKSPACE_BYTES, 2 * storage_bytes)


def rollout_bytes(storage_mb: int) -> int:
    """The sandbox and then the workspace's tar beside it; when the sandbox is gone, the tar and its archive."""
    harvest = harvest_bytes(storage_mb << 20)
    return harvest + max(storage_mb << 20, harvest)


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
        return Need(cpus, self._rollout_bytes(self._sandbox_mb(task)), provider_of(agent), task)

    def verification(self, task: str, state_bytes: int | None) -> Need:
        """Of a verification: cpu-bound, whatever agent made what is verified.

        Args:
            state_bytes: size of the state's tar; None where it is not known.
        """
        state = harvest_bytes(self._sandbox_mb(task) << 20) if state_bytes is None else state_bytes
        disk = (self._sandbox_mb(task) << 20) + 2 * state if self._here else 0  # its tar, and its place in the sandbox
        return Need(self._cpus(task), disk, None, task)

    def _cpus(self, task: str) -> int:
        return max(1, round(1000 * (self._spec.environment.cpus or self._resources(task)[0])))

    def storage_mb(self, task: str) -> int | None:
        """MiB that a task's sandbox may write, as the task or else our sandbox says; None: neither does."""
        return self._resources(task)[1] or (self._default_mb if self._spec.environment.type == "local" else None)

    def most_committed_bytes(self, task: str) -> int:
        """The most that a commit's tree is taken to hold: as much as comes out of a sandbox that has all its room.

        It decides a verdict, so what is free now has no part in it.
        """
        stated = self._resources(task)[1] if self._spec.environment.type == "local" else None
        return harvest_bytes((stated or DEFAULT_MB) << 20)

    def _sandbox_mb(self, task: str) -> int:
        return self._resources(task)[1] or self._default_mb

    @cached_property
    def _default_mb(self) -> int:
        """Where the task says nothing: as a sandbox has it by itself, less where the disk has no room for that."""
        capacity = self.capacity()
        fitting = (mb for mb in (DEFAULT_MB, *SMALLER_MB) if capacity.fits(Need(0, self._rollout_bytes(mb)), ()))
        return next(fitting, SMALLER_MB[-1])

    def _rollout_bytes(self, storage_mb: int) -> int:
        return rollout_bytes(storage_mb) if self._here else 0

    def _resources(self, task: str) -> tuple[float, int | None]:
        """(cpus, storage in MiB) that a prepared task asks for, read once: while a study runs its tasks stay."""
        if task not in self._known:
            text = (prepared_dir(self._directory, task) / "task.toml").read_text(encoding="utf-8")
            environment = TaskConfig.model_validate_toml(text).environment
            self._known[task] = float(environment.cpus or 1), environment.storage_mb
        return self._known[task]
