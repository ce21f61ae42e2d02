"""`verify_study`: is a study on disk what was written, and is it whole? Only reads; follows no link, opens no pipe."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import zstandard

from loopscope.models import ImportedStudy, PreparedTask, RunRecord, StudyLock, StudySpec
from loopscope.models.calibration import Calibration, SeenMachines
from loopscope.records.contents import RETIRED_TASKS, SHELVED_RECORD, SHELVED_TASK
from loopscope.records.durable import RecordError, is_scratch, read_model
from loopscope.records.finding import Finding, StudyCheck, damaged, incomplete, note
from loopscope.records.manifest import Hasher
from loopscope.records.settled import only_imported
from loopscope.records.store import IMPORTED_FILE, LOCK_FILE, MACHINES_FILE, RETIRED, StudyStore, run_id_of
from loopscope.records.studyfile import STUDY_FILE, StudyError, load_study
from loopscope.records.tree import Kind, hash_file, kind_of, walk
from loopscope.records.verify_run import RunCheck, StudyFacts, leftovers
from loopscope.records.workspace import open_tar

FROM_ARCHIVE = "restore it (from an archive: `loopscope study import`)"
Notify = Callable[[int, int, str], None]
TaskHash = Callable[[Path], str]


def verify_study(
    store: StudyStore,
    task_hash: TaskHash,
    *,
    only: Collection[str] = (),
    hasher: Hasher | None = hash_file,
    notify: Notify = lambda done, total, name: None,
) -> StudyCheck:
    """Check lock, tasks and runs of a study: seals, hashes, completeness.

    Args:
        store: the study.
        task_hash: content hash of a prepared task's directory: `tasks.copying.tree_hash`.
        only: ids of runs (or names of retired ones) to check; all, the lock and the tasks by default.
        hasher: takes a file's hash; None compares sizes alone.
        notify: called with (done, total, run) as runs are checked.
    """
    check = _Check(store, task_hash, hasher)
    findings = [] if only else [*check.study()]
    folders = [path for path in check.folders() if not only or path.name in only]
    unsealed = []
    for done, folder in enumerate(folders):
        notify(done, len(folders), folder.name)
        run = check.run(folder)
        findings += run.findings()
        if kind_of(folder) is Kind.DIRECTORY and not run.sealed:
            unsealed.append(folder.name)
    notify(len(folders), len(folders), "")
    return StudyCheck(study=str(store.path), runs=len(folders), unsealed=tuple(unsealed), findings=tuple(findings))


class _Check:
    def __init__(self, store: StudyStore, task_hash: TaskHash, hasher: Hasher | None) -> None:
        self._store, self._root, self._task_hash = store, store.path, task_hash
        self._broken: list[Finding] = []
        self._only_imported = only_imported(self._root)
        self._study = StudyFacts(self._root, self._lock(), {}, hasher)
        self._study = StudyFacts(self._root, self._study.lock, self._tasks(), hasher)

    def folders(self) -> list[Path]:
        """Every run directory, retired ones last."""
        return [
            path
            for parent in (self._root / "runs", self._root / RETIRED)
            if kind_of(parent) is Kind.DIRECTORY
            for path in sorted(parent.iterdir())
            if not is_scratch(path) and path != self._root / RETIRED_TASKS
        ]

    def run(self, folder: Path) -> RunCheck:
        """The check of one of them."""
        current = folder.parent.name == "runs"
        run_id = folder.name if current else folder.name.rpartition("__")[0]
        return RunCheck(self._study, folder, run_id, current=current)

    def study(self) -> Iterator[Finding]:
        """Everything but the runs."""
        yield from self._broken
        spec = None if self._only_imported else self._spec()
        if isinstance(spec, Finding):
            yield spec
        yield from self._imported()
        yield from self._calibration()
        for name in sorted(self._study.lock.task_hashes if self._study.lock else self._study.tasks):
            yield from self._task(name)
        for name in sorted(set(self._study.tasks) - set(self._study.lock.task_hashes if self._study.lock else ())):
            if self._study.lock:
                yield note(f"tasks/{name}.json", "is not among the lock's tasks", "nothing needs to be done")
        retired = self._root / RETIRED_TASKS
        for folder in sorted(retired.iterdir()) if kind_of(retired) is Kind.DIRECTORY else ():
            yield from self._retired_task(folder)
        if isinstance(spec, StudySpec):
            yield from self._absent(spec)
        if self._store.is_held():
            yield note(".", "another loopscope is running it", "check again when it is done")
        else:
            for folder in (self._root, *(self._root / name for name in ("tasks", "runs", RETIRED, "calibration"))):
                yield from leftovers(self._study, folder)

    def _lock(self) -> StudyLock | None:
        path = self._root / LOCK_FILE
        if self._only_imported:
            return None
        if kind_of(path) is None:
            self._broken.append(damaged(LOCK_FILE, "is missing", f"{FROM_ARCHIVE}; `loopscope run` makes one anew"))
            return None
        try:
            return read_model(path, StudyLock)
        except RecordError as error:
            self._broken.append(StudyFacts(self._root, None, {}, None).said(path, error, FROM_ARCHIVE))
            return None

    def _imported(self) -> Iterator[Finding]:
        """What `loopscope import` keeps besides runs: the mark of such a study, and evaluator files."""
        mark, folder = self._root / IMPORTED_FILE, self._store.evaluators
        if kind_of(mark):
            try:
                read_model(mark, ImportedStudy)
            except RecordError as error:
                yield self._study.said(mark, error, FROM_ARCHIVE)
        kind = kind_of(folder)
        if kind not in (None, Kind.DIRECTORY):
            yield damaged(folder.name, f"is a {kind}, where a directory should be", "remove it")
        for path in sorted(folder.iterdir()) if kind is Kind.DIRECTORY else ():
            if (inner := kind_of(path)) is not Kind.FILE and not is_scratch(path):
                yield damaged(self._study.place(path), f"is a {inner}; it was not opened", "remove it")

    def _calibration(self) -> Iterator[Finding]:
        """What was measured of starters and references: it decides the paired rewards, and nothing else."""
        folder = self._store.calibration
        kind = kind_of(folder)
        if kind not in (None, Kind.DIRECTORY):
            yield damaged(folder.name, f"is a {kind}, where a directory should be", "remove it")
        for path in sorted(folder.glob("*.json")) if kind is Kind.DIRECTORY else ():
            if is_scratch(path):
                continue
            try:
                read_model(path, SeenMachines if path.name == MACHINES_FILE else Calibration)
            except RecordError as error:
                yield self._study.said(path, error, f"{FROM_ARCHIVE}, or `loopscope tasks calibrate --again`")

    def _tasks(self) -> dict[str, PreparedTask]:
        tasks, folder = {}, self._root / "tasks"
        for path in sorted(folder.glob("*.json")) if kind_of(folder) is Kind.DIRECTORY else ():
            if is_scratch(path):
                continue
            try:
                tasks[path.stem] = read_model(path, PreparedTask)
            except RecordError as error:
                self._broken.append(self._study.said(path, error, FROM_ARCHIVE))
        return tasks

    def _spec(self) -> StudySpec | Finding:
        path = self._root / STUDY_FILE
        if (kind := kind_of(path)) is not Kind.FILE:
            return damaged(STUDY_FILE, "is missing" if kind is None else f"is a {kind}", FROM_ARCHIVE)
        try:
            return load_study(path)
        except StudyError as error:
            return damaged(STUDY_FILE, str(error).removeprefix(f"{path}:").strip(), "mend it, or restore it")

    def _task(self, name: str) -> Iterator[Finding]:
        folder = self._root / "tasks" / name
        task, lock = self._study.tasks.get(name), self._study.lock
        if kind_of(folder.with_name(f"{name}.json")) is None:
            yield damaged(f"tasks/{name}.json", "is missing", FROM_ARCHIVE)
        if task and lock and lock.task_hashes.get(name, task.content_hash) != task.content_hash:
            yield damaged(f"tasks/{name}.json", "is another form of the task than the lock names", FROM_ARCHIVE)
        wanted = task.content_hash if task else lock.task_hashes.get(name) if lock else None
        yield from self._prepared(folder, wanted)
        yield from self._baseline(name)

    def _retired_task(self, folder: Path) -> Iterator[Finding]:
        """A task that the study no longer names."""
        try:
            task = read_model(folder / SHELVED_RECORD, PreparedTask)
        except RecordError as error:
            yield self._study.said(folder / SHELVED_RECORD, error, FROM_ARCHIVE)
            return
        yield from self._prepared(folder / SHELVED_TASK, task.content_hash)

    def _prepared(self, folder: Path, wanted: str | None) -> Iterator[Finding]:
        """The directory of a prepared task against its content hash."""
        place = self._study.place(folder)
        if (kind := kind_of(folder)) is not Kind.DIRECTORY:
            yield damaged(place, "is missing" if kind is None else f"is a {kind}", FROM_ARCHIVE)
        else:
            special = [entry for entry in walk(folder) if entry.kind is Kind.SPECIAL]
            for entry in special:
                yield damaged(f"{place}/{entry.name}", f"is a {entry.kind}; it was not opened", "remove it")
            if wanted and not special and self._task_hash(folder) != wanted:
                yield damaged(place, "its files are not those that the agents were given", FROM_ARCHIVE)

    def _baseline(self, name: str) -> Iterator[Finding]:
        path = self._store.baseline(name)
        kind = kind_of(path)
        if kind is None:
            if any(kind_of(run / "workspace.tar.zst") for run in (self._root / "runs").glob(f"{name}__*")):
                yield incomplete(self._study.place(path), "is missing", f"{FROM_ARCHIVE}, or `loopscope run` the study")
        elif kind is not Kind.FILE:
            yield damaged(self._study.place(path), f"is a {kind}", "remove it; the next run of the task makes it again")
        elif self._study.hasher is not None and (problem := _unreadable(path)):
            yield damaged(self._study.place(path), problem, "remove it; the next run of the task makes it again")

    def _absent(self, spec: StudySpec) -> Iterator[Finding]:
        """Units without a run directory: not done yet, or deleted."""
        lock = self._study.lock
        if lock is None:
            return
        planned = set(lock.units) or {
            run_id_of(task, label, seed) for task in lock.task_hashes for label in lock.agents for seed in spec.seeds
        }
        for run_id in sorted(planned):
            if kind_of(self._root / "runs" / run_id) is None:
                yield incomplete(f"runs/{run_id}", "no such directory: not run yet, or deleted",
                                 "`loopscope run` does it")  # fmt: skip
        for path in self.folders():
            if path.parent.name == "runs" and path.name not in planned and not _was_imported(path):
                yield note(f"runs/{path.name}", "is no unit of the study as it stands now",
                           "nothing needs to be done; `loopscope run --retire` sets it aside")  # fmt: skip


def _was_imported(run: Path) -> bool:
    try:
        return read_model(run / "record.json", RunRecord).imported is not None
    except RecordError:
        return False


def _unreadable(archive: Path) -> str | None:
    """Why an archive cannot be read to its end."""
    try:
        with open_tar(archive) as tar:
            for _ in tar:
                pass
    except (OSError, tarfile.TarError, zstandard.ZstdError, ValueError) as error:
        return f"cannot be read to its end ({type(error).__name__})"
    return None
