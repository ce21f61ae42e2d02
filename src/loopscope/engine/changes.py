"""What a changed study file means for the units of a study: which stay, go to `retired/`, come back, are new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from loopscope.engine.identity import differences, read_identity
from loopscope.engine.policy import Fate, fate_of
from loopscope.engine.shelf import free, hash_in_study, move, place_of_run, retired_runs, shelve_task
from loopscope.models import StudyLock, UnitFile, UnitIdentity
from loopscope.records import RecordError, RunDir, StudyError, StudyStore, write_model
from loopscope.records.durable import is_scratch
from loopscope.records.manifest import UNIT

_FROM_TASK = "(its content)"


class WouldRetire(StudyError):
    """Finished units are no longer named by the study file, and nobody said that they may be retired.

    Attributes:
        lines: what was and is, and what that means, a line for each change.
    """

    def __init__(self, message: str, lines: tuple[str, ...]) -> None:
        self.lines = lines
        super().__init__(message)


@dataclass(frozen=True)
class Unit:
    """What lies in a run directory."""

    run: RunDir
    identity: UnitIdentity | None
    """None: nothing readable tells."""

    @property
    def digest(self) -> str | None:
        """Its name by content."""
        return self.identity.digest if self.identity else None

    @property
    def is_finished(self) -> bool:
        """Whether there is a result in it, or the remains of one that cannot be read."""
        if not self.run.is_recorded:
            return False
        try:
            return fate_of(self.run.record) is Fate.GRADED
        except RecordError:
            return True


@dataclass(frozen=True)
class Retirement:
    """A unit that goes to `retired/`, and why."""

    unit: Unit
    reasons: tuple[str, ...]
    replaced: bool
    """Another unit takes its place."""
    finished: bool
    """There is a result in it, or the remains of one that cannot be read."""


@dataclass(frozen=True)
class Changes:
    """From the units that lie in a study to those that its file names."""

    retired: tuple[Retirement, ...] = ()
    returning: tuple[str, ...] = ()
    """Ids of runs whose unit lies in `retired/`."""
    added: int = 0
    """Runs that the study had not named before, those aside that take another's place."""
    kept: Mapping[str, Unit] = field(default_factory=dict)

    @property
    def finished(self) -> list[Retirement]:
        """Retirements that cost a result."""
        return [retirement for retirement in self.retired if retirement.finished]

    def lines(self) -> tuple[str, ...]:
        """What changes, for people: a line for each reason."""
        groups: dict[tuple[str, ...], list[Retirement]] = {}
        for retirement in self.retired:
            groups.setdefault(retirement.reasons, []).append(retirement)
        lines = [f"{', '.join(reasons)} {_counted(group)}" for reasons, group in groups.items()]
        if self.added:
            lines.append(f"{self.added} {_runs(self.added)} added")
        if back := len(self.returning):
            lines.append(f"{back} {_runs(back)} {'comes' if back == 1 else 'come'} back from retired/")
        return tuple(lines)


def _counted(group: list[Retirement]) -> str:
    finished = sum(retirement.finished for retirement in group)
    counts = [f"{finished} finished {_runs(finished)}"] if finished else []
    if begun := len(group) - finished:
        counts.append(f"{begun} without a result")
    replaced = sum(retirement.replaced for retirement in group)
    return f"retires {' and '.join(counts)}" + (f" and adds {replaced}" if replaced else "")


def _runs(count: int) -> str:
    return "run" if count == 1 else "runs"


def compare(
    store: StudyStore, lock: StudyLock | None, wanted: Mapping[str, UnitIdentity], record_keeping: str
) -> Changes:
    """Hold the units of a study file against what lies in the study. Reads only.

    Runs that no lock ever named (imported ones) are left alone.

    Args:
        store: the study.
        lock: what it was resolved to; None before its first start.
        wanted: by run id, the units that the study file names.
        record_keeping: as the study file has it.

    Raises:
        StudyError: the study has a unit of an imported run's name, and nothing may take its place.
    """
    found = {unit.run.run_id: unit for unit in _units(store, lock)}
    retired = []
    kept = {}
    keeping = f"record_keeping: {lock.record_keeping} -> {record_keeping}" if lock else ""
    changed_keeping = keeping if lock and lock.record_keeping != record_keeping else None
    for run_id, unit in found.items():
        now = wanted.get(run_id)
        if now is None:
            if lock is not None and _was_named(lock, unit):
                retired.append(_retirement(unit, _missing(unit, wanted.values()), replaced=False))
        elif _is_imported(unit.run):
            raise StudyError(
                f"{unit.run.path}: is an imported run, and the study file names a unit so as well; give that agent "
                "another `label:`, or move the imported run's directory away"
            )
        elif unit.identity is None or unit.digest == now.digest:
            kept[run_id] = unit  # one that nothing readable names may be this very unit: it is shown as invalid
        else:
            retired.append(_retirement(unit, _reasons(unit.identity, now, changed_keeping), replaced=True))
    open_ids = [run_id for run_id in wanted if run_id not in kept]
    shelf = retired_runs(store.path)
    returning = tuple(run_id for run_id in open_ids if _on_shelf(shelf, store, run_id, wanted[run_id]) is not None)
    known = {*(lock.units if lock else ()), *found}
    added = len(wanted.keys() - known) if lock and lock.units else 0
    return Changes(tuple(retired), returning, added, kept)


def _is_imported(run: RunDir) -> bool:
    try:
        return run.is_recorded and run.record.imported is not None
    except RecordError:
        return False


def _retirement(unit: Unit, reasons: Iterable[str], *, replaced: bool) -> Retirement:
    return Retirement(unit, tuple(reasons), replaced, unit.is_finished)


def _units(store: StudyStore, lock: StudyLock | None) -> Iterator[Unit]:
    folder = store.path / "runs"
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_dir() and not is_scratch(path):
            run = RunDir(path)
            yield Unit(run, read_identity(run, lock))


def _was_named(lock: StudyLock, unit: Unit) -> bool:
    """Whether the study ever had this run: by its lock, or (version 1) by the agents and tasks that the lock holds."""
    if lock.units or lock.study is not None:
        return unit.run.run_id in lock.units
    found = unit.identity
    return found is None or (found.agent.label in lock.agents and found.task in lock.task_hashes)


def _missing(unit: Unit, wanted: Iterable[UnitIdentity]) -> Iterator[str]:
    """Which part of a unit's name the study no longer has."""
    identity, named = unit.identity, list(wanted)
    if identity is None:
        yield f"{unit.run.run_id}: no longer named"
        return
    label = identity.agent.label
    if identity.task not in {other.task for other in named}:
        yield f"tasks.{identity.task}: removed"
    if label not in {other.agent.label for other in named}:
        yield f"agents.{label}: removed"
    if identity.seed not in {other.seed for other in named}:
        yield f"seeds.{identity.seed}: removed"


def _reasons(was: UnitIdentity, now: UnitIdentity, changed_keeping: str | None) -> Iterator[str]:
    """Differences, without those of a task's text that only follow from another budget or other record-keeping."""
    follows = changed_keeping is not None or was.budget_sec != now.budget_sec
    if changed_keeping:
        yield changed_keeping
    for line in differences(was, now):
        if not (follows and _FROM_TASK in line):
            yield line


def _on_shelf(shelf: list[Path], store: StudyStore, run_id: str, unit: UnitIdentity) -> RunDir | None:
    """The retired directory of a unit; of several (they should not be) one with a result."""
    place = place_of_run(store.path, run_id, unit.digest)
    near = [path for path in shelf if path.name == place.name or _is_copy(path.name, place.name)]
    found = [Unit(RunDir(path), read_identity(RunDir(path), None)) for path in near]
    same = [entry for entry in found if entry.digest == unit.digest]
    return max(same, key=lambda entry: entry.is_finished).run if same else None


def _is_copy(name: str, place: str) -> bool:
    return name.startswith(f"{place}-") and name.removeprefix(f"{place}-").isdecimal()


def check(file: str, changes: Changes, *, retire: bool) -> None:
    """Refuse what would cost results that nobody gave up.

    Raises:
        WouldRetire: finished units would be retired, and `retire` is False.
    """
    count = len(changes.finished)
    if count and not retire:
        raise WouldRetire(
            f"{file}: {count} finished {_runs(count)} would be retired, as the study file no longer names "
            f"{'it' if count == 1 else 'them'}; `loopscope run {file} --retire` goes on (nothing is deleted), "
            "or put back what was changed",
            changes.lines(),
        )


def name_units(store: StudyStore, lock: StudyLock | None) -> None:
    """Write into each run directory of version 1 what unit it is, as long as the lock that tells it is there."""
    for unit in _units(store, lock):
        if unit.identity is not None and not (unit.run.path / UNIT).is_file():
            write_model(unit.run.path / UNIT, UnitFile(unit=unit.identity))


def apply(store: StudyStore, changes: Changes, wanted: Mapping[str, UnitIdentity]) -> None:
    """Move what is retired, then bring back what returns. Whatever is killed when, the same call completes it."""
    for retirement in changes.retired:
        source, digest = retirement.unit.run.path, retirement.unit.digest
        move(source, free(place_of_run(store.path, source.name, digest)))
    shelf = retired_runs(store.path)
    for run_id in changes.returning:
        if (found := _on_shelf(shelf, store, run_id, wanted[run_id])) is not None:
            move(found.path, store.run(run_id).path)


def shelve_unnamed_tasks(store: StudyStore, lock: StudyLock | None, named: Iterable[str]) -> None:
    """Shelve prepared tasks that the study had and no longer names, unless a run that stays is of them."""
    gone = set(lock.task_hashes if lock else ()) - set(named)
    used = Counter(unit.identity.task for unit in _units(store, None) if unit.identity)
    for task in sorted(gone):
        if not used[task] and hash_in_study(store.path, task) is not None:
            shelve_task(store.path, task)
