"""What one try of a rollout left, put together in a run directory that has no name yet."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from loopscope.engine.clock import Stopwatch
from loopscope.engine.ending import Redactor, earlier_tries, problem
from loopscope.engine.harvest import LIMITS
from loopscope.engine.jobs import TrialOutcome
from loopscope.engine.plan import Plan, RunPlan
from loopscope.engine.reading import RepositoryReading, read_repository
from loopscope.models import FileHash, Problem, RunRecord
from loopscope.records import RecordError, StudyStore, read_model, write_bytes
from loopscope.records.manifest import DAMAGED_TRY
from loopscope.records.verify_run import is_whole
from loopscope.records.workspace import compress
from loopscope.sandbox.export import LimitsFile, too_large_mark

MAX_NATIVE_BYTES = 1 << 30
MAX_NATIVE_FILES = 5_000
"""Log files of an agent that are kept; each costs a flush to the disk."""
ATTEMPTS = "attempts"
_ARCHIVE = "workspace.tar.zst"
_HARBOR_FILES = ("result.json", "trial.log", "config.json", "exception.txt")


@dataclass(frozen=True)
class Try:
    """One try of a rollout, as it ended."""

    plan: Plan
    run: RunPlan
    outcome: TrialOutcome
    workspace: Path
    """The frozen workspace as a tar; absent when it could not be brought out."""
    watch: Stopwatch
    """Started with the rollout."""
    redact: Redactor
    """Of the values of the agent's environment; none of them reaches a file."""
    fault: Problem | None = None
    """What kept the rollout from starting or from being recorded, where there is no trial that tells."""


@dataclass(frozen=True)
class Collected:
    """What it left, but for the files that lie in the run directory."""

    folder: Path
    """The unfinished run directory."""
    found: RepositoryReading
    sandbox: LimitsFile
    earlier: list[RunRecord]
    """Records of earlier tries, those that can be read."""
    hashed: dict[str, FileHash]
    """Of files in the directory whose hash is known already."""
    too_large: bool
    """The workspace holds more than is taken out of a sandbox."""
    began: datetime
    """When this was begun."""

    @property
    def has_workspace(self) -> bool:
        """Whether the workspace came out."""
        return (self.folder / _ARCHIVE).is_file()

    @property
    def tries(self) -> int:
        """How many there were, this one included."""
        return _number_of_attempts(self.folder / ATTEMPTS) + 1


def collect(ended: Try, folder: Path) -> Collected:
    """Keep logs, workspace and earlier tries of a rollout in `folder`, and read its repository."""
    began, run, store = ended.watch.now(), ended.run, ended.plan.store
    remarks = _keep_logs(ended.outcome, folder, ended.redact)
    sandbox = _seen(ended, remarks)
    hashed: dict[str, FileHash] = {}
    if ended.workspace.is_file():
        hashed[_ARCHIVE] = compress(ended.workspace, folder / _ARCHIVE)
    _keep_earlier_attempts(store, store.run(run.run_id).path, folder)
    found = read_repository(folder, store.baseline(run.task.info.name), run.task)
    if not run.kind.commits:
        found.problems = [p for p in found.problems if p.kind != "no_repository"]
    found.problems += remarks
    too_large = too_large_mark(ended.workspace).exists()
    return Collected(folder, found, sandbox, earlier_tries(folder / ATTEMPTS), hashed, too_large, began)


def _seen(ended: Try, remarks: list[Problem]) -> LimitsFile:
    """As the harvester wrote it; where Harbor never came to it, as the sandbox did at its stop."""
    trial = ended.outcome.trial_dir
    places = [*([trial / LIMITS] if trial else []), ended.workspace.with_name(LIMITS)]
    for path in filter(Path.is_file, places):
        try:
            return read_model(path, LimitsFile)
        except RecordError as error:  # torn on a full disk, say
            said = str(error).removeprefix(f"{path.parent}/")
            remarks.append(problem("limits_lost", "harvest", f"what the limits saw is not known: {said}"))
    return LimitsFile()


def _keep_logs(outcome: TrialOutcome, folder: Path, redact: Redactor) -> list[Problem]:
    """The agent's own logs and Harbor's, plain files only: links and pipes in them are the agent's.

    Returns what to say of those that are not kept.
    """
    if outcome.details:
        details = outcome.details.encode("utf-8", "backslashreplace")
        write_bytes(folder / "harbor" / "exception.txt", redact(details))
    trial = outcome.trial_dir
    if trial is None:
        return []
    bytes_left, files_left, left_out = MAX_NATIVE_BYTES, MAX_NATIVE_FILES, 0
    for root, _, names in os.walk(trial / "agent"):
        for name in sorted(names):
            source = Path(root) / name
            if source.is_symlink() or not source.is_file():
                continue
            size = source.stat().st_size
            if size > bytes_left or not files_left:
                left_out += 1
                continue
            bytes_left, files_left = bytes_left - size, files_left - 1
            _copy(source, folder / "native" / source.relative_to(trial / "agent"), redact)
    for name in _HARBOR_FILES:
        if (trial / name).is_file():
            _copy(trial / name, folder / "harbor" / name, redact)
    transcript = folder / "native" / "trajectory.json"
    if transcript.is_file():
        transcript.rename(folder / "transcript.json")
    if not left_out:
        return []
    bounds = f"{MAX_NATIVE_FILES} files and {MAX_NATIVE_BYTES >> 30} GiB are kept"
    return [problem("logs_left_out", "harvest", f"{left_out} of the agent's log files are left out: {bounds}")]


def _copy(source: Path, target: Path, redact: Redactor) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as content, target.open("wb") as copy:
        redact.copy(content, copy)


def _keep_earlier_attempts(store: StudyStore, target: Path, folder: Path) -> None:
    """What earlier tries left (hours of an agent's work before a failed harvest, say) stays under `attempts/`.

    A damaged one is named as such: the damage is mended by this try, and must not stand against the study for ever.
    """
    if not target.is_dir():
        return
    attempts = folder / ATTEMPTS
    earlier = target / ATTEMPTS
    if earlier.is_dir():
        shutil.copytree(earlier, attempts, copy_function=os.link)
    name = f"{_number_of_attempts(attempts) + 1}{'' if is_whole(store.path, target) else DAMAGED_TRY}"
    shutil.copytree(target, attempts / name, copy_function=os.link, ignore=shutil.ignore_patterns(ATTEMPTS, ".tmp-*"))


def _number_of_attempts(attempts: Path) -> int:
    """The highest number among them; some may have been taken away by hand."""
    names = [path.name.removesuffix(DAMAGED_TRY) for path in attempts.iterdir()] if attempts.is_dir() else []
    return max((int(name) for name in names if name.isdecimal()), default=0)
