"""From a study file to the list of rollouts: everything that can be refused is refused here, before anything runs."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from pydantic import BaseModel

from loopscope.agents.registry import AgentKind
from loopscope.engine.checks import check_for_scoring, check_machine
from loopscope.models import (
    AgentSpec,
    PreparedTask,
    RunStatus,
    StudyLock,
    StudySpec,
)
from loopscope.records import (
    RecordError,
    RunDir,
    StudyError,
    StudyStore,
    load_study,
    publish,
    read_model,
    write_bytes,
    write_model,
)
from loopscope.records.studyfile import STUDY_FILE
from loopscope.tasks.catalog import TaskSource, resolve
from loopscope.tasks.errors import TaskError
from loopscope.tasks.load import load_task
from loopscope.tasks.prepare import prepare_task

LOCK_FILE = "study.lock.json"


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
        """Rollouts without a record, and those that the environment failed: worth another try.

        Raises:
            StudyError: a record cannot be read; doing its rollout again would destroy what lies beside it.
        """
        return [run for run in self.runs if not is_finished(self.store.run(run.run_id))]


def is_finished(run: RunDir) -> bool:
    """Whether the rollout needs no (further) try; StudyError when its record cannot be read."""
    if not run.is_recorded:
        return False
    try:
        return run.record.status is not RunStatus.ENVIRONMENT_ERROR
    except RecordError as error:
        problem, _, _ = str(error).rpartition("; ")  # the remedy that follows would cost the rest of the run
        raise StudyError(f"{problem}; restore it, or move {run.path} away to run it again") from None


def plan_study(file: Path, directory: Path) -> Plan:
    """Resolve a study: check what it names, prepare its tasks, fix it in the lock, list its rollouts.

    Nothing is written before everything that can be refused was.

    Raises:
        StudyError: the study cannot run as written, or it no longer is the study that was begun here.
    """
    spec = load_study(file)
    kinds = check_machine(file, spec)
    directory = directory.resolve()
    store = StudyStore(directory)
    old = read_model(directory / LOCK_FILE, StudyLock) if (directory / LOCK_FILE).is_file() else None
    if old is not None:
        _check_unchanged(directory / LOCK_FILE, old, spec)
    sources = _sources(file, spec)
    _check_run_ids(file, spec, list(sources), old)
    (directory / "runs").mkdir(parents=True, exist_ok=True)
    tasks = [_prepare(source, file, spec, directory) for source in sources.values()]
    _settle_lock(directory / LOCK_FILE, old, spec, tasks)
    if file.resolve() != (directory / STUDY_FILE).resolve():
        write_bytes(directory / STUDY_FILE, file.read_bytes())
    runs = tuple(
        RunPlan(
            run_id=_run_id(task.info.name, agent.label, seed),
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


def reopen_study(store: StudyStore) -> StudySpec:
    """The study of a directory, held against this machine and against its own lock; for verbs that run no agent.

    Raises:
        StudyError: as for `plan_study`.
    """
    file = store.path / STUDY_FILE
    spec = load_study(file)
    check_for_scoring(file, spec)
    if (store.path / LOCK_FILE).is_file():
        _check_unchanged(store.path / LOCK_FILE, read_model(store.path / LOCK_FILE, StudyLock), spec)
    return spec


def _run_id(task: str, label: str, seed: int) -> str:
    return f"{task}__{label}__s{seed}"


def _sources(file: Path, spec: StudySpec) -> dict[str, TaskSource]:
    """Where each task is taken from, by its name; all of them can be read."""
    sources: dict[str, TaskSource] = {}
    for index, written in enumerate(spec.tasks):
        try:
            source = resolve(written, file.parent)
            name = load_task(source.directory, builtin=source.builtin).name
        except TaskError as error:
            raise StudyError(f"{file}: tasks: {error}") from None
        if name in sources:
            raise StudyError(
                f"{file}: tasks.{index}: {written} and {sources[name].origin} are both called {name!r}; "
                "rename one of the directories"
            )
        sources[name] = source
    return sources


def _check_run_ids(file: Path, spec: StudySpec, tasks: list[str], old: StudyLock | None) -> None:
    """A run's directory is named after task and agent; both may hold what stands between them."""
    labels = {agent.label: None for agent in spec.agents} | dict.fromkeys(old.agents if old else ())
    seen: dict[str, tuple[str, str]] = {}
    for task in dict.fromkeys([*tasks, *(old.task_hashes if old else ())]):
        for label in labels:
            other = seen.setdefault(_run_id(task, label, 0), (task, label))
            if other != (task, label):
                raise StudyError(
                    f"{file}: agents: the runs of {label!r} on {task!r} and of {other[1]!r} on {other[0]!r} would have "
                    "the same name; give one of the agents another `label:`"
                )


def _prepare(source: TaskSource, file: Path, spec: StudySpec, directory: Path) -> PreparedTask:
    try:
        return prepare_task(
            source,
            directory,
            budget_sec=spec.budget.agent_sec,
            record_keeping=spec.record_keeping == "standard",
            publish=publish,
        )
    except TaskError as error:
        raise StudyError(f"{file}: tasks: {error}") from None


def _check_unchanged(path: Path, old: StudyLock, spec: StudySpec) -> None:
    """A study may grow by agents, tasks and seeds; what was begun stays comparable.

    Raises:
        StudyError: something that decides what a rollout or a score means was changed; names the field.
    """
    for agent in spec.agents:
        if old.agents.get(agent.label, agent) != agent:
            raise StudyError(
                f"{path}: agents.{agent.label}: was started with other settings; give the changed agent a label of its "
                "own, or start a study in a new directory"
            )
    free = {"max_checkpoints"}
    for field in ("environment", "budget", "record_keeping", "scoring"):
        begun, now = (
            value.model_dump(exclude=free) if isinstance(value, BaseModel) else {"": value}
            for value in (getattr(old, field), getattr(spec, field))
        )
        for name, was in begun.items():
            if now[name] != was:
                raise StudyError(
                    f"{path}: {field}{'.' if name else ''}{name}: the study was begun with {was!r}, not {now[name]!r}; "
                    "put that back, or start a study in a new directory"
                )


def _settle_lock(path: Path, old: StudyLock | None, spec: StudySpec, tasks: list[PreparedTask]) -> None:
    lock = StudyLock(
        name=spec.name,
        agents=(old.agents if old else {}) | {agent.label: agent for agent in spec.agents},
        environment=spec.environment,
        budget=spec.budget,
        record_keeping=spec.record_keeping,
        scoring=spec.scoring,
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
