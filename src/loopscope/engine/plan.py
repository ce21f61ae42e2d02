"""From a study file to the list of rollouts: everything that can be refused is refused here, before anything runs."""

from __future__ import annotations

import difflib
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import yaml
from pydantic import ValidationError

from loopscope.agents.registry import AgentKind, find_agent
from loopscope.engine.errors import StudyError
from loopscope.models import AgentSpec, PreparedTask, RunStatus, StudySpec, Versioned
from loopscope.records import RecordError, RunDir, StudyStore, explain, read_model, write_bytes, write_model
from loopscope.tasks.catalog import resolve
from loopscope.tasks.errors import TaskError
from loopscope.tasks.prepare import prepare_task

STUDY_FILE = "study.yaml"
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


def locate(study: Path, out: Path | None = None) -> tuple[Path, Path]:
    """(study file, study directory) for what a person gave: a directory with `study.yaml`, or a YAML file.

    Results go to `out`, else beside `study.yaml`, else (for a file of another name) to a directory named like it.
    """
    if study.is_dir():
        file = study / STUDY_FILE
        if not file.is_file():
            raise StudyError(f"{study}: holds no {STUDY_FILE}; write one, or give the path of a study file")
        return file, out or study
    if not study.is_file():
        raise StudyError(f"{study}: no such file or directory; give a study file or a directory with {STUDY_FILE}")
    return study, out or (study.parent if study.name == STUDY_FILE else study.with_suffix(""))


def load_study(file: Path) -> StudySpec:
    """Read a study file.

    Raises:
        StudyError: not YAML, or a field does not fit; names file, line or field, and the remedy.
    """
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{file}: cannot be read: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise StudyError(f"{file}:{where}: not valid YAML: {getattr(error, 'problem', error)}") from None
    if not isinstance(data, dict):
        raise StudyError(f"{file}: a study is a mapping with name, tasks, agents and seeds; this is {_kind(data)}")
    try:
        return StudySpec.model_validate(data)
    except ValidationError as error:
        raise StudyError(f"{file}: {explain(error)}{_hint(error)}") from None


def _kind(value: object) -> str:
    return "empty" if value is None else f"a {type(value).__name__}"


def _hint(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if first["type"] == "extra_forbidden":
        known = StudySpec.model_fields if len(first["loc"]) == 1 else {}
        close = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
        return f" (unknown field; did you mean `{close[0]}`?)" if close else " (unknown field; remove it)"
    if first["type"] == "missing":
        return " (add it)"
    return ""


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
    store = StudyStore(directory)
    (directory / "runs").mkdir(parents=True, exist_ok=True)
    store.sweep()
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
