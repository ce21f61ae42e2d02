"""Where a study stands, unit by unit, and what another `run` would do. Reads records and scores; needs no Harbor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from pydantic import Field

from loopscope.engine.inflight import InFlightFile, read_in_flight
from loopscope.engine.kinds import EndingKind, kind_of, main_problem
from loopscope.engine.policy import Fate, fate_of
from loopscope.engine.scorecount import MISSING, NO_WORKSPACE, ScoreReader, StateCounts
from loopscope.engine.shelf import retired_runs
from loopscope.engine.taskcheck import refused_tasks
from loopscope.models import (
    PreparedTask,
    Record,
    RunRecord,
    RunStatus,
    ScoringSpec,
    StudyLock,
    StudySpec,
)
from loopscope.models.limits import limits_met
from loopscope.records import RecordError, RunDir, StudyStore, read_model
from loopscope.records.completeness import GIVEN_UP
from loopscope.records.durable import is_scratch
from loopscope.records.settled import settled
from loopscope.records.store import LOCK_FILE, run_id_of

_SHOWN = 300
"""Characters of a reason."""
_TRIES_AGAIN = "run tries it again"
_GIVEN_UP = "`loopscope score --again`: the environment failed its verification too often"
_NO_WORKSPACE = "cannot be scored again: its workspace was removed; restore it from an archive"


class UnitState(StrEnum):
    """How a unit stands."""

    DONE = "done"
    """There is a result."""
    FAILED = "failed"
    """The agent failed, which is its result, or something else did and `run` tries again."""
    INVALID = "invalid"
    """There is no result, and none is tried for until a person asks."""
    RUNNING = "running"
    WAITING = "waiting"
    """No record: not begun, or begun and interrupted."""
    IMPORTED = "imported"
    """It was done elsewhere, and `loopscope import` took its log in: nothing of it is run or verified."""
    RETIRED = "retired"
    """The study no longer names it; it lies in `retired/`."""


class UnitStatus(Record):
    """One unit."""

    run_id: str
    """Of a retired unit: its directory's name."""
    state: UnitState
    ending: EndingKind | None = None
    """The row of the table of endings; None where there is no record."""
    reason: str = ""
    next: str = ""
    """What another `run` does about it, or what a person can; empty: nothing is to be done."""
    tries: int = 0
    states: int = 0
    """States to score, as far as its record tells."""
    scored: int = 0
    unscored: dict[str, int] = Field(default_factory=dict)
    """States without a reward: `missing` (not verified), `workspace_removed` (nor can be), `given_up` (the environment
    failed it too often), or by the status of their last verification."""
    unverified: int = 0
    """States that lack verifications; some of them have a score already."""


class NextRun(Record):
    """What another `loopscope run` would do."""

    rollouts: int
    again: int
    """Of these, tried before."""
    states: int
    """States to verify, among those that are known already."""
    refused: tuple[str, ...] = ()
    """Why it would refuse instead, so that nothing of the above is done."""


class StudyStatus(Record):
    """A study (`loopscope status --json`)."""

    study: str
    directory: str
    holder: InFlightFile | None
    """Who works on it now; None when nobody does."""
    held: bool
    """Some process holds it, whether it says who it is or not."""
    counts: dict[UnitState, int]
    units: tuple[UnitStatus, ...]
    states: int
    scored: int
    unscored: dict[str, int]
    next: NextRun
    warnings: tuple[str, ...] = ()

    @property
    def has_units(self) -> bool:
        """Whether anything in it was, or is to be, run here; else it holds imported runs alone."""
        return any(unit.state is not UnitState.IMPORTED for unit in self.units) or not self.units

    @property
    def has_failed(self) -> bool:
        """Whether something needs a person's eye: a failed or invalid unit or verification, or what `run` refuses."""
        failed = self.counts[UnitState.FAILED] + self.counts[UnitState.INVALID]
        return bool(failed or self.next.refused or set(self.unscored) - {MISSING})


def study_status(directory: Path) -> StudyStatus:
    """Read where a study stands. Never waits for, and never disturbs, whoever works on it.

    Raises:
        RecordError, StudyError: this is no study, or neither its lock nor its file can be read.
    """
    store = StudyStore.open(directory)
    study = settled(store.path)
    spec, lock = study.spec, _lock(store)
    flight = read_in_flight(store)
    tasks = {name: task for name in _task_names(store) if (task := _task(store, name)) is not None}
    running = flight.units if flight else {}
    scoring = spec.scoring if spec else ScoringSpec()
    reader = _Reader(store, ScoreReader(scoring, tasks), running)
    planned = _planned(store, spec, lock) if spec else []
    lying = sorted(p.name for p in (store.path / "runs").iterdir() if p.is_dir() and not is_scratch(p))
    units = [reader.unit(run_id) for run_id in planned]
    units += [reader.stranger(run_id) for run_id in lying if run_id not in set(planned)]
    units += [_retired(path) for path in retired_runs(store.path)]
    counts = Counter(unit.state for unit in units)
    unscored: Counter[str] = Counter()
    for unit in units:
        unscored.update(unit.unscored)
    return StudyStatus(
        study=study.name,
        directory=str(directory),
        holder=flight,
        held=flight is not None or store.is_held(),
        counts={state: counts[state] for state in UnitState},
        units=tuple(units),
        states=sum(unit.states for unit in units),
        scored=sum(unit.scored for unit in units),
        unscored=dict(sorted(unscored.items())),
        next=_next_run(units, tuple(refused_tasks(store))),
        warnings=study.warnings,
    )


def _lock(store: StudyStore) -> StudyLock | None:
    """None also when it cannot be read, which `settled` says."""
    try:
        return read_model(store.path / LOCK_FILE, StudyLock) if (store.path / LOCK_FILE).is_file() else None
    except RecordError:
        return None


def _task_names(store: StudyStore) -> list[str]:
    return sorted(path.stem for path in (store.path / "tasks").glob("*.json") if not is_scratch(path))


def _task(store: StudyStore, name: str) -> PreparedTask | None:
    try:
        return store.task(name)
    except RecordError:
        return None


def _planned(store: StudyStore, spec: StudySpec, lock: StudyLock | None) -> list[str]:
    """Ids of the runs that the study names, in its order."""
    if lock and lock.units:
        return list(lock.units)
    tasks = list(lock.task_hashes) if lock else _task_names(store)
    return [run_id_of(t, a.label, s) for s in spec.seeds for t in tasks for a in spec.agents]


@dataclass(frozen=True)
class _Reader:
    """Reads units of one study."""

    store: StudyStore
    scores: ScoreReader
    running: Mapping[str, datetime]

    def unit(self, run_id: str) -> UnitStatus:
        run = self.store.run(run_id)
        if run_id in self.running:
            since = self.running[run_id].astimezone().strftime("%Y-%m-%d %H:%M:%S")
            return UnitStatus(run_id=run_id, state=UnitState.RUNNING, reason=f"since {since}")
        if not run.is_recorded:
            return UnitStatus(run_id=run_id, state=UnitState.WAITING, next="run does it")
        try:
            record = run.record
        except RecordError as error:
            return UnitStatus(
                run_id=run_id,
                state=UnitState.INVALID,
                ending=EndingKind.RECORD_BROKEN,
                reason=str(error),
                next=f"restore record.json, or `run --again {run_id}`",
            )
        return self._recorded(run, record)

    def stranger(self, run_id: str) -> UnitStatus:
        """A directory that the study does not name: an imported run, or remains."""
        found = self.unit(run_id)
        if found.state is not UnitState.WAITING:
            return found.model_copy(update={"next": ""})
        reason = "the study names no such run, and it has no record"
        return found.model_copy(update={"state": UnitState.INVALID, "reason": reason, "next": "restore or remove it"})

    def _recorded(self, run: RunDir, record: RunRecord) -> UnitStatus:
        if record.imported is not None:
            log = f"{record.imported.format}: {record.imported.log}"
            return UnitStatus(run_id=run.run_id, state=UnitState.IMPORTED, reason=log[:_SHOWN], tries=0)
        fate, kind = fate_of(record), kind_of(record)
        problem = main_problem(record.problems)
        failed = record.status in (RunStatus.AGENT_ERROR, RunStatus.ENVIRONMENT_ERROR)
        state = UnitState.FAILED if failed else UnitState.DONE
        following = {
            Fate.GRADED: "a result: not tried again" if failed else "",
            Fate.RETRIED: _TRIES_AGAIN,
            Fate.INVALID: f"`run --again {run.run_id}`",
        }[fate]
        scores = self.scores.of(run, record) if fate is Fate.GRADED else StateCounts()
        following = _GIVEN_UP if GIVEN_UP in scores.unscored else following
        return UnitStatus(
            run_id=run.run_id,
            state=UnitState.INVALID if fate is Fate.INVALID else state,
            ending=kind,
            reason="; ".join([*([problem.message[:_SHOWN]] if problem and failed else []), *limits_met(record.limits)]),
            next=_NO_WORKSPACE if NO_WORKSPACE in scores.unscored else following,
            tries=record.tries,
            states=scores.states,
            scored=scores.states - sum(scores.unscored.values()),
            unscored=dict(scores.unscored),
            unverified=scores.todo,
        )


def _retired(path: Path) -> UnitStatus:
    run = RunDir(path)
    ending, reason = None, ""
    try:
        ending = kind_of(run.record) if run.is_recorded else None
    except RecordError as error:
        reason = str(error)
    return UnitStatus(
        run_id=path.name, state=UnitState.RETIRED, ending=ending, reason=reason, next="put the study file back"
    )


def _next_run(units: list[UnitStatus], refused: tuple[str, ...]) -> NextRun:
    again = sum(unit.state is UnitState.FAILED and unit.next == _TRIES_AGAIN for unit in units)
    waiting = sum(unit.state is UnitState.WAITING for unit in units)
    todo = sum(unit.unverified for unit in units)
    return NextRun(rollouts=waiting + again, again=again, states=todo, refused=refused)
