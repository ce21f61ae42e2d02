"""`retired/`: where units and tasks go that the study no longer names, and from where they come back.

    retired/<run-id>__<first 8 of its digest>/       a run directory, whole, its scores too
    retired/tasks/<task>__<first 8 of its hash>/     a prepared task: its directory, record and baseline

Everything is moved by rename, never copied and never deleted. Each move is durable before the next begins, and what is
to be moved is decided from what lies where, so a change that was cut short is completed by the next start.
"""

from __future__ import annotations

import os
from pathlib import Path

from loopscope.models import PreparedTask
from loopscope.records import RecordError, read_model
from loopscope.records.contents import RETIRED_TASKS, SHELVED_RECORD, SHELVED_TASK
from loopscope.records.durable import make_dirs, sync_directory
from loopscope.records.store import RETIRED
from loopscope.tasks.copying import tree_hash

_UNKNOWN = "unknown"


def move(source: Path, target: Path) -> None:
    """Give a file or directory another place on the same file system, durably. The target's folder is made."""
    make_dirs(target.parent)
    source.rename(target)
    sync_directory(target.parent)
    sync_directory(source.parent)


def place_of_run(study: Path, run_id: str, digest: str | None) -> Path:
    """Where a retired unit lies, or would."""
    return study / RETIRED / f"{run_id}__{(digest or _UNKNOWN)[:8]}"


def retired_runs(study: Path) -> list[Path]:
    """Directories of retired units, by name."""
    folder = study / RETIRED
    return sorted(p for p in folder.iterdir() if p.is_dir() and p.name != "tasks") if folder.is_dir() else []


def free(place: Path) -> Path:
    """This place, or the first of `<place>-2`, `-3`, ... that nothing occupies."""
    number, found = 1, place
    while os.path.lexists(found):
        number += 1
        found = place.with_name(f"{place.name}-{number}")
    return found


def _parts(study: Path, task: str, place: Path) -> list[tuple[Path, Path]]:
    """(in the study, on the shelf) of each part of a prepared task; last the record, which says what they are."""
    tasks = study / "tasks"
    return [
        (tasks / task, place / SHELVED_TASK),
        (tasks / f"{task}.baseline.tar.zst", place / "baseline.tar.zst"),
        (tasks / f"{task}.baseline-problem.txt", place / "baseline-problem.txt"),
        (tasks / f"{task}.json", place / SHELVED_RECORD),
    ]


def _place_of_task(study: Path, task: str, content_hash: str) -> Path:
    return study / RETIRED_TASKS / f"{task}__{content_hash[:8]}"


def hash_in_study(study: Path, task: str) -> str | None:
    """Content hash of the prepared task that lies in a study; None when there is none."""
    record, folder = study / "tasks" / f"{task}.json", study / "tasks" / task
    if record.is_file():
        try:
            return read_model(record, PreparedTask).content_hash
        except RecordError:
            pass
    return tree_hash(folder) if folder.is_dir() else None


def shelve_task(study: Path, task: str) -> None:
    """Move the prepared task that lies in a study to the shelf, under the hash it has."""
    content_hash = hash_in_study(study, task)
    if content_hash is None:
        return
    place = _place_of_task(study, task, content_hash)
    for here, there in _parts(study, task, place):
        if os.path.lexists(here):
            move(here, free(there))


def fetch_task(study: Path, task: str, content_hash: str) -> None:
    """Make the study hold this version of a task if it ever held it: shelve another one, bring this one back."""
    if hash_in_study(study, task) not in (None, content_hash):
        shelve_task(study, task)
    for here, there in _parts(study, task, _place_of_task(study, task, content_hash)):
        if os.path.lexists(there) and not os.path.lexists(here):
            move(there, here)
