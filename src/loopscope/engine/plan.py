"""From a study file to the list of rollouts: everything that can be refused is refused here, before anything runs."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from loopscope.agents.registry import AgentKind, find_agent
from loopscope.models import AgentSpec, PreparedTask, RunStatus, StudySpec, Versioned
from loopscope.records import (
    RecordError,
    RunDir,
    StudyError,
    StudyStore,
    load_study,
    read_model,
    write_bytes,
    write_model,
)
from loopscope.records.studyfile import STUDY_FILE
from loopscope.tasks.catalog import resolve
from loopscope.tasks.errors import TaskError
from loopscope.tasks.prepare import prepare_task

LOCK_FILE = "study.lock.json"


class StudyLock(Versioned):
    """`study.lock.json`: what the study was resolved to. Later starts may add to it, never change it."""

    name: str
    agents: dict[str, AgentSpec]
    """By label."""
    task_hashes: dict[str, str]
    verifier_hashes: dict[str, str]
    versions: dict[str, str]
    machine: dict[str, str]


@dataclass(frozen=True)
class RunPlan:
    """One rollout to do."""

    run_id: str
    task: PreparedTask
    agent: AgentSpec
    kind: AgentKind
    seed: int
    budget_sec: float


@dataclass(frozen=True)
class Plan:
    """A study, resolved."""

    spec: StudySpec
    store: StudyStore
    runs: tuple[RunPlan, ...]

    def unfinished(self) -> list[RunPlan]:
        """Rollouts without a record, and those that the environment failed: worth another try."""
        return [run for run in self.runs if not is_finished(self.store.run(run.run_id))]


def is_finished(run: RunDir) -> bool:
    """Whether the rollout needs no (further) try."""
    if not run.is_recorded:
        return False
    try:
        return run.record.status is not RunStatus.ENVIRONMENT_ERROR
    except RecordError:
        return False


def plan_study(file: Path, directory: Path) -> Plan:
    """Resolve a study: prepare its tasks, check its agents, fix it in the lock, list its rollouts.

    Raises:
        StudyError: the study cannot run as written, or it no longer is the study that was begun here.
    """
    spec = load_study(file)
    kinds = {}
    for index, agent in enumerate(spec.agents):
        try:
            kinds[agent.label] = find_agent(agent)
        except ValueError as error:
            raise StudyError(f"{file}: agents.{index}.name: {error}") from None
    directory = directory.resolve()
    store = StudyStore(directory)
    (directory / "runs").mkdir(parents=True, exist_ok=True)
    tasks = [_prepare(name, file, spec, directory) for name in spec.tasks]
    names = [task.info.name for task in tasks]
    if len(set(names)) != len(names):
        raise StudyError(f"{file}: tasks: two tasks are called {sorted({n for n in names if names.count(n) > 1})}")
    _settle_lock(directory, spec, tasks)
    if file.resolve() != (directory / STUDY_FILE).resolve():
        write_bytes(directory / STUDY_FILE, file.read_bytes())
    runs = tuple(
        RunPlan(
            run_id=f"{task.info.name}__{agent.label}__s{seed}",
            task=task,
            agent=agent,
            kind=kinds[agent.label],
            seed=seed,
            budget_sec=spec.budget.agent_sec or task.info.agent_timeout_sec,
        )
        for seed in spec.seeds
        for task in tasks
        for agent in spec.agents
    )
    return Plan(spec, store, runs)


def _prepare(name: str, file: Path, spec: StudySpec, directory: Path) -> PreparedTask:
    try:
        return prepare_task(
            resolve(name, file.parent),
            directory,
            budget_sec=spec.budget.agent_sec,
            record_keeping=spec.record_keeping == "standard",
        )
    except TaskError as error:
        raise StudyError(f"{file}: tasks: {error}") from None


def _settle_lock(directory: Path, spec: StudySpec, tasks: list[PreparedTask]) -> None:
    path = directory / LOCK_FILE
    old = read_model(path, StudyLock) if path.is_file() else None
    agents = {agent.label: agent for agent in spec.agents}
    if old is not None:
        for label, agent in agents.items():
            if label in old.agents and old.agents[label] != agent:
                raise StudyError(
                    f"{path}: agents.{label}: was started with other settings; give the changed agent a label of its "
                    "own, or start a study in a new directory"
                )
        agents = old.agents | agents
    lock = StudyLock(
        name=spec.name,
        agents=agents,
        task_hashes=(old.task_hashes if old else {}) | {t.info.name: t.content_hash for t in tasks},
        verifier_hashes=(old.verifier_hashes if old else {}) | {t.info.name: t.verifier_hash for t in tasks},
        versions=old.versions if old else versions(),
        machine=old.machine if old else {"system": platform.platform(), "processor": processor()},
    )
    if lock != old:
        write_model(path, lock)


def versions() -> dict[str, str]:
    """What ran: loopscope, harbor, python."""
    return {"loopscope": version("loopscope"), "harbor": version("harbor"), "python": platform.python_version()}


def processor() -> str:
    """Model name of the first processor, as Linux tells it; empty where it does not."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
