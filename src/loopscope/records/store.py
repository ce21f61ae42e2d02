"""A study on disk: `StudyStore` finds what is there, `RunDir` reads and writes one run."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from loopscope.models import PreparedTask, RunEvidence, RunRecord, StateScore, TaskFacts
from loopscope.records.durable import RecordError, is_scratch, make_dirs, read_model, sweep, write_model
from loopscope.records.manifest import check_inputs
from loopscope.records.repository import Repository
from loopscope.records.studyfile import StudyError

FINAL = "final"
"""Name of the frozen workspace among the states of a run."""
LOCK_FILE = "study.lock.json"
"""What the study is resolved to (`StudyLock`)."""
MACHINES_FILE = "machines.json"
"""Beside the calibrations of a study: the machines that verified (`SeenMachines`)."""
IMPORTED_FILE = "imported.json"
"""Marks a study that `loopscope import` made (`ImportedStudy`)."""
CANONICAL = "canonical.json.zst"
"""Name of an imported run's transcript in its directory."""
RETIRED = "retired"
"""Where runs lie that the study no longer names: `<run-id>__<first 8 of its digest>/`, and `tasks/`."""
MAY_NOT_WRITE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_LOOKED_AT_SEC = (0.001, 0.003, 0.01, 0.03)


def _locked(fd: int) -> bool:
    """Lock a study's file; one who only looks whether it is held (`StudyStore.is_held`) has it for a moment."""
    for pause in (*_LOOKED_AT_SEC, None):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if pause is None:
                return False
            time.sleep(pause)
        else:
            return True
    return False


def run_id_of(task: str, label: str, seed: int) -> str:
    """Name of a run's directory: what people read."""
    return f"{task}__{label}__s{seed}"


class RunDir:
    """One run's directory. Reading is lazy; writing is durable."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def run_id(self) -> str:
        """Name of the directory: `<task>__<agent>__s<seed>`."""
        return self.path.name

    @property
    def is_recorded(self) -> bool:
        """The rollout was harvested; whether its record can be read is another question."""
        return os.path.lexists(self.path / "record.json")

    @cached_property
    def record(self) -> RunRecord:
        """The rollout's record; RecordError when absent or broken."""
        return read_model(self.path / "record.json", RunRecord)

    @property
    def workspace(self) -> Path:
        """The frozen workspace: a zstd-compressed tar."""
        return self.path / "workspace.tar.zst"

    @property
    def transcript(self) -> Path:
        """The agent's transcript in ATIF, if there is one."""
        return self.path / "transcript.json"

    @property
    def canonical(self) -> Path:
        """The transcript of an imported run (`transcripts/serial.py`), if it is one."""
        return self.path / CANONICAL

    def check_inputs(self) -> None:
        """Hold what analysis reads besides sealed documents against the manifest; a run without one passes.

        Raises:
            RecordError: names the first file that differs.
        """
        check_inputs(self.path)

    def repository(self) -> Repository | None:
        """The salvaged repository; None when the agent left none."""
        path = self.path / "repository"
        return Repository(path) if path.is_dir() else None

    def score(self, state: str) -> StateScore | None:
        """The score of `final` or of a scored tree; None when it was not verified."""
        path = self._score_path(state)
        return read_model(path, StateScore) if path.is_file() else None

    def scores(self) -> dict[str, StateScore]:
        """All scores by state; `final` among them."""
        folder = self.path / "scores"
        paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
        return {p.stem: read_model(p, StateScore) for p in paths if not is_scratch(p)}

    def write_score(self, score: StateScore) -> None:
        """Keep a score, durably; called again after each repetition."""
        write_model(self._score_path(score.state), score)

    def _score_path(self, state: str) -> Path:
        if not state.isalnum():
            raise ValueError(f"not a state: {state!r}")
        return self.path / "scores" / f"{state}.json"

    def evidence(self) -> RunEvidence | None:
        """What the evidence room found; None before `loopscope analyze`."""
        path = self.path / "evidence.json"
        return read_model(path, RunEvidence) if path.is_file() else None

    def write_evidence(self, evidence: RunEvidence) -> None:
        """Keep the findings of the evidence room."""
        write_model(self.path / "evidence.json", evidence)


class StudyStore:
    """A study's directory."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    @classmethod
    def open(cls, path: Path) -> StudyStore:
        """Open a study that has runs.

        Raises:
            RecordError: `path` is no study directory.
        """
        if not (path / "runs").is_dir():
            raise RecordError(
                f"{path}: no study here (no runs/); give the directory that `loopscope run` or `import` filled"
            )
        return cls(path)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep other processes from writing this study while the block runs; the lock ends with its process.

        Raises:
            StudyError: another process holds it.
        """
        make_dirs(self.path)
        fd = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if not _locked(fd):
                raise StudyError(f"{self.path}: another loopscope is running this study; wait for it or stop it first")
            yield
        finally:
            os.close(fd)

    @contextmanager
    def hold_to_read(self) -> Iterator[bool]:
        """Keep other processes from writing while the block runs; also where the caller may only read.

        Yields:
            False when nobody can be kept away: the study is not the caller's to write, and has no lock to share.

        Raises:
            StudyError: another process is writing it.
        """
        flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            fd = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | flags, 0o644)
        except OSError as error:
            if error.errno not in MAY_NOT_WRITE:
                raise
            try:
                fd = os.open(self.path / ".lock", os.O_RDONLY | flags)
            except OSError:
                fd = -1
        if fd < 0:
            yield False
            return
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StudyError(
                    f"{self.path}: another loopscope is running this study; wait for it or stop it first"
                ) from None
            yield True
        finally:
            os.close(fd)

    def is_held(self) -> bool:
        """Whether another process is writing this study now."""
        try:
            fd = os.open(self.path / ".lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    @property
    def tables(self) -> Path:
        """Where analysis writes."""
        return self.path / "tables"

    def run(self, run_id: str) -> RunDir:
        """The directory of a run, whether it exists or not."""
        return RunDir(self.path / "runs" / run_id)

    def runs(self) -> Iterator[RunDir]:
        """All harvested runs, by id."""
        for path in sorted((self.path / "runs").glob("*/record.json")):
            if not is_scratch(path.parent):
                yield RunDir(path.parent)

    def recordless(self) -> Iterator[Path]:
        """Directories among those of the runs that hold no record, by name: something was lost there."""
        for path in sorted((self.path / "runs").glob("*/")):
            if not is_scratch(path) and not os.path.lexists(path / "record.json"):
                yield path

    def task(self, name: str) -> PreparedTask:
        """A prepared task; RecordError when the study has none of that name."""
        return read_model(self.path / "tasks" / f"{name}.json", PreparedTask)

    def facts(self, record: RunRecord) -> TaskFacts:
        """What is known of a run's task: by the prepared task, else by the record of an imported run alone.

        What an evaluator file knows comes on top of it (`evidence/evaluator.py`).

        Raises:
            RecordError: the prepared task cannot be read; or there is none, and the run was not imported.
        """
        if record.imported is None or os.path.lexists(self.path / "tasks" / f"{record.task}.json"):
            return self.task(record.task).facts
        return TaskFacts(name=record.task, title=record.task, category=record.category)

    @property
    def calibration(self) -> Path:
        """Where calibrations lie (`<task>.json`), and which machines verified (`MACHINES_FILE`)."""
        return self.path / "calibration"

    @property
    def evaluators(self) -> Path:
        """Where evaluator files of imported tasks lie (`<task>.yaml`); absent where the shipped ones do."""
        return self.path / "evaluators"

    def baseline(self, task: str) -> Path:
        """Archive of a task's untouched workspace, as its environment makes it; absent before the first rollout."""
        return self.path / "tasks" / f"{task}.baseline.tar.zst"

    def tasks(self) -> dict[str, PreparedTask]:
        """All prepared tasks by name."""
        paths = sorted((self.path / "tasks").glob("*.json"))
        return {p.stem: read_model(p, PreparedTask) for p in paths if not is_scratch(p)}

    def sweep(self) -> list[Path]:
        """Remove what killed processes left unfinished; what would not go."""
        runs = self.path / "runs"
        tops = (self.path, runs, self.path / "tasks", self.tables, self.evaluators, self.calibration)
        stayed = [path for folder in tops for path in sweep(folder)]
        return stayed + [path for folder in (*runs.glob("*"), *runs.glob("*/scores")) for path in sweep(folder)]
