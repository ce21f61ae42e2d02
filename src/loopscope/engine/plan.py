"""From a study file to the list of rollouts: everything that can be refused is refused here, before anything runs."""

from __future__ import annotations

import difflib
import platform
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from loopscope.agents.registry import AgentKind
from loopscope.engine.changes import Changes, apply, check, compare, name_units, shelve_unnamed_tasks
from loopscope.engine.checks import check_for_scoring, check_machine, check_task
from loopscope.engine.identity import identity
from loopscope.engine.policy import Fate, fate_of
from loopscope.engine.shelf import fetch_task
from loopscope.models import AgentSpec, PreparedTask, StudyLock, StudySpec, UnitIdentity
from loopscope.records import (
    RecordError,
    RunDir,
    StudyError,
    StudyStore,
    load_study,
    publish,
    read_model,
    remove_tree,
    scratch_name,
    write_model,
)
from loopscope.records.durable import make_dirs
from loopscope.records.origin import keep_copy
from loopscope.records.settled import settled_study
from loopscope.records.store import LOCK_FILE, run_id_of
from loopscope.records.studyfile import STUDY_FILE
from loopscope.tasks.catalog import TaskSource, resolve
from loopscope.tasks.errors import TaskError
from loopscope.tasks.load import load_task
from loopscope.tasks.prepare import FreshTask, build_task, keep_task, kept_hash


@dataclass(frozen=True)
class RunPlan:
    """One rollout of the study."""

    run_id: str
    task: PreparedTask
    agent: AgentSpec
    kind: AgentKind
    seed: int
    budget_sec: float
    unit: UnitIdentity


@dataclass(frozen=True)
class Plan:
    """A study, resolved."""

    spec: StudySpec
    store: StudyStore
    runs: tuple[RunPlan, ...]
    changes: tuple[str, ...] = ()
    """What the study file adds, retires and brings back against the last start, a line each."""
    again: frozenset[str] = frozenset()
    """Ids of runs that a person wants done once more, however they ended."""

    def unfinished(self) -> list[RunPlan]:
        """Rollouts to do: without a record, worth another try by the table of `policy.py`, or asked for again."""
        return [run for run in self.runs if run.run_id in self.again or is_open(self.store.run(run.run_id))]


def is_open(run: RunDir) -> bool:
    """Whether a rollout is to be done (again). One whose record cannot be read is not: that would replace the rest."""
    if not run.is_recorded:
        return True
    try:
        return fate_of(run.record) is Fate.RETRIED
    except RecordError:
        return False


def plan_study(file: Path, directory: Path, *, retire: bool = False, again: Collection[str] = frozenset()) -> Plan:
    """Resolve a study: check what it names, prepare its tasks, move what it no longer names, fix it in the lock.

    Nothing is written before everything that can be refused was.

    Args:
        file: the study file.
        directory: the study's, which the caller holds (`StudyStore.hold`).
        retire: finished units that the file no longer names may be moved to `retired/`.
        again: ids of runs to do once more.

    Raises:
        StudyError: the study cannot run as written.
        WouldRetire: finished units would be retired.
    """
    spec = load_study(file)
    kinds = check_machine(file, spec)
    store = StudyStore(directory)
    lock_file = store.path / LOCK_FILE
    old = read_model(lock_file, StudyLock) if lock_file.is_file() else None
    sources = _sources(file, spec)
    _check_run_ids(file, spec, list(sources))
    with _scratch(store.path / "tasks") as scratch:
        fresh = [_build(source, file, spec, scratch, kept_hash(store.path, name)) for name, source in sources.items()]
        runs = tuple(_runs(spec, [task.prepared for task in fresh], kinds))
        _check_again(file, again, runs)
        wanted = {run.run_id: run.unit for run in runs}
        changes = compare(store, old, wanted, spec.record_keeping)
        check(str(file), changes, retire=retire)
        make_dirs(store.path / "runs")
        _move(store, old, changes, wanted)
        for task in fresh:
            _keep(task, file, store)
    lines = changes.lines()
    if edited := keep_copy(file, store.path):
        lines += (f"{STUDY_FILE} in the study was edited by hand: kept as {edited}, for this runs what {file} says",)
    lock = _lock(old, spec, [task.prepared for task in fresh], wanted)
    if lock != old:
        write_model(lock_file, lock)
    return Plan(spec, store, runs, lines, frozenset(again))


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    make_dirs(folder)
    scratch = scratch_name(folder / "fresh")
    scratch.mkdir()
    try:
        yield scratch
    finally:
        remove_tree(scratch)


def _runs(spec: StudySpec, tasks: list[PreparedTask], kinds: Mapping[str, AgentKind]) -> Iterator[RunPlan]:
    """Seed by seed, so that an early stop leaves a balanced study."""
    for seed in spec.seeds:
        for task in tasks:
            for agent in spec.agents:
                budget = spec.budget.agent_sec or task.info.agent_timeout_sec
                yield RunPlan(
                    run_id=run_id_of(task.info.name, agent.label, seed),
                    task=task,
                    agent=agent,
                    kind=kinds[agent.label],
                    seed=seed,
                    budget_sec=budget,
                    unit=identity(task, agent, spec.environment, seed, budget),
                )


def _move(store: StudyStore, old: StudyLock | None, changes: Changes, wanted: Mapping[str, UnitIdentity]) -> None:
    """Units and tasks change places. Killed at any point, the next start finds what is left to move by looking.

    The lock names old and new units meanwhile, lest a moved one be taken for one that was never the study's.
    """
    if old is not None:
        name_units(store, old)
        if changes.retired or changes.returning:
            stayed = {id_: unit.digest for id_, unit in changes.kept.items() if unit.digest} if not old.units else {}
            going = {item.unit.run.run_id: item.unit.digest or "" for item in changes.retired}
            new = {run_id: unit.digest for run_id, unit in wanted.items()}
            write_model(store.path / LOCK_FILE, old.model_copy(update={"units": new | stayed | going | old.units}))
    apply(store, changes, wanted)
    hashes = {unit.task: unit.task_hash for unit in wanted.values()}
    shelve_unnamed_tasks(store, old, hashes)
    for task, content_hash in hashes.items():
        fetch_task(store.path, task, content_hash)


def reopen_study(store: StudyStore) -> tuple[StudySpec, tuple[str, ...]]:
    """(the study of a directory as it was last run, warnings), held against this machine; for verbs that run no agent.

    Raises:
        StudyError: as for `plan_study`.
    """
    spec, warnings = settled_study(store.path)
    check_for_scoring(store.path / STUDY_FILE, spec)
    return spec, warnings


def _check_again(file: Path, again: Collection[str], runs: tuple[RunPlan, ...]) -> None:
    names = [run.run_id for run in runs]
    for run_id in sorted(set(again) - set(names)):
        close = difflib.get_close_matches(run_id, names, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "`loopscope status` shows all"
        raise StudyError(f"{file}: --again {run_id}: the study has no such run; {hint}")


def _sources(file: Path, spec: StudySpec) -> dict[str, TaskSource]:
    """Where each task is taken from, by its name; all of them can be read."""
    sources: dict[str, TaskSource] = {}
    for index, written in enumerate(spec.tasks):
        try:
            source = resolve(written, file.parent)
            name = load_task(source.directory, builtin=source.builtin).name
        except TaskError as error:
            raise StudyError(f"{file}: tasks: {error}") from None
        check_task(file, spec, source.directory)
        if name in sources:
            raise StudyError(
                f"{file}: tasks.{index}: {written} and {sources[name].origin} are both called {name!r}; "
                "rename one of the directories"
            )
        sources[name] = source
    return sources


def _check_run_ids(file: Path, spec: StudySpec, tasks: list[str]) -> None:
    """A run's directory is named after task and agent; both may hold what stands between them."""
    seen: dict[str, tuple[str, str]] = {}
    for task in tasks:
        for agent in spec.agents:
            other = seen.setdefault(run_id_of(task, agent.label, 0), (task, agent.label))
            if other != (task, agent.label):
                raise StudyError(
                    f"{file}: agents: the runs of {agent.label!r} on {task!r} and of {other[1]!r} on {other[0]!r} "
                    "would have the same name; give one of the agents another `label:`"
                )


def _build(source: TaskSource, file: Path, spec: StudySpec, scratch: Path, kept: str | None) -> FreshTask:
    try:
        return build_task(
            source,
            scratch,
            budget_sec=spec.budget.agent_sec,
            record_keeping=spec.record_keeping == "standard",
            kept=kept,
        )
    except TaskError as error:
        raise StudyError(f"{file}: tasks: {error}") from None


def _keep(task: FreshTask, file: Path, store: StudyStore) -> None:
    try:
        keep_task(task, store.path, publish=publish)
    except TaskError as error:
        raise StudyError(f"{file}: tasks: {error}") from None


def _lock(
    old: StudyLock | None, spec: StudySpec, tasks: list[PreparedTask], wanted: Mapping[str, UnitIdentity]
) -> StudyLock:
    return StudyLock(
        name=spec.name,
        agents={agent.label: agent for agent in spec.agents},
        environment=spec.environment,
        budget=spec.budget,
        record_keeping=spec.record_keeping,
        scoring=spec.scoring,
        task_hashes={task.info.name: task.content_hash for task in tasks},
        verifier_hashes={task.info.name: task.verifier_hash for task in tasks},
        versions=old.versions if old else versions(),
        machine=old.machine if old else {"system": platform.platform(), "processor": processor()},
        units={run_id: unit.digest for run_id, unit in wanted.items()},
        study=spec,
    )


@cache
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
