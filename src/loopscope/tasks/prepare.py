"""Put a task into a study, exactly as its agents will see it, and hold it there unchanged."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from string import Template

from pydantic import ValidationError

from loopscope.models.seal import document, unseal
from loopscope.models.task import PreparedTask, TaskInfo
from loopscope.tasks.catalog import TaskSource
from loopscope.tasks.copying import copy_tree, tree_hash
from loopscope.tasks.errors import TaskError
from loopscope.tasks.load import read_task
from loopscope.tasks.with_git import with_git

Publish = Callable[[Path, Path], object]
"""Gives a finished file or directory its name on the same file system: whole and durably, or not at all."""

_ADDITION = Path(__file__).with_name("record_keeping.md")
_DECIDES_A_SCORE = ("verifier", "environment", "optimization")


def prepared_dir(study_dir: Path, name: str) -> Path:
    """Where a study keeps the prepared task of this name; rollouts and verifications both run from it."""
    return study_dir / "tasks" / name


def prepare_task(
    source: TaskSource,
    study_dir: Path,
    *,
    budget_sec: float | None = None,
    record_keeping: bool = True,
    publish: Publish,
) -> PreparedTask:
    """Copy a task to `study_dir/tasks/<name>/` and write `tasks/<name>.json` beside it.

    `budget_sec` is the agent's wall clock (the task's own by default), which the record-keeping addition states.
    `publish` makes what is written last, power cut or not: `records.publish`, which this room may not import.
    Everything unfinished lies in a `.tmp-` directory. Doing it again is free and changes nothing.

    Raises `TaskError` when the task is unusable, or when the study already holds a different version of it: a study's
    tasks never change under it.
    """
    target = prepared_dir(study_dir, source_name(source))
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".tmp-", dir=target.parent))
    try:
        kept = kept_hash(study_dir, source_name(source))
        fresh = build_task(source, scratch, budget_sec=budget_sec, record_keeping=record_keeping, kept=kept)
        return keep_task(fresh, study_dir, publish=publish)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@dataclass(frozen=True)
class FreshTask:
    """A task as its agents would see it, not yet a part of a study."""

    prepared: PreparedTask
    folder: Path
    """In a directory on the study's file system whose name begins with `.tmp-`; it is given away when it is kept."""


def source_name(source: TaskSource) -> str:
    """The task's name."""
    return read_task(source.directory, builtin=source.builtin).info.name


def kept_hash(study_dir: Path, name: str) -> str | None:
    """`content_hash` of the task of this name as the study holds it; None where it holds none that can be read."""
    target = prepared_dir(study_dir, name)
    record = target.with_name(f"{name}.json")
    if not record.is_file():
        return tree_hash(target) if target.is_dir() and not target.is_symlink() else None
    try:
        return PreparedTask.model_validate_json(unseal(record.read_bytes())[0]).content_hash
    except (OSError, ValidationError):
        return None  # `keep_task` refuses it, with the way back


def build_task(
    source: TaskSource,
    scratch: Path,
    *,
    budget_sec: float | None = None,
    record_keeping: bool = True,
    kept: str | None = None,
) -> FreshTask:
    """Copy a task to `scratch/<name>/` as its agents will see it, and hash it; arguments as for `prepare_task`.

    `kept`: hash of what the study holds. Where that is the task without git, as it was prepared by a loopscope that did
    not add it, it stays so: a study goes on with its tasks as they are.
    """
    reading = read_task(source.directory, builtin=source.builtin)
    info = reading.info
    fresh = scratch / info.name
    copy_tree(source.directory, fresh)
    notes = reading.notes
    if record_keeping:
        _append_addition(fresh / "instruction.md", info, budget_sec or info.agent_timeout_sec)
        if kept is None or tree_hash(fresh) != kept:
            notes = (*notes, *_add_git(fresh))
    prepared = PreparedTask(
        info=info,
        source=source.origin,
        content_hash=tree_hash(fresh),
        verifier_hash=verifier_hash(fresh),
        notes=notes,
    )
    return FreshTask(prepared, fresh)


def keep_task(fresh: FreshTask, study_dir: Path, *, publish: Publish) -> PreparedTask:
    """Make a task a part of the study; arguments and errors as for `prepare_task`."""
    prepared = fresh.prepared
    target = prepared_dir(study_dir, prepared.info.name)
    if not target.exists():
        publish(fresh.folder, target)
    _check_unchanged(target, prepared)
    record = target.with_name(f"{prepared.info.name}.json")
    if record.exists():
        return _kept(record, prepared)
    written = fresh.folder.with_name(record.name)
    written.write_bytes(document(prepared))
    publish(written, record)
    return prepared


def verifier_hash(task_dir: Path) -> str:
    """sha256 over what decides a score: tests and environment, and the verifier, environment and anchor tables."""
    document = tomllib.loads((task_dir / "task.toml").read_text(encoding="utf-8"))
    settings = {key: document.get(key) for key in _DECIDES_A_SCORE}
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(f"{tree_hash(task_dir, 'tests', 'environment')}\n{text}".encode()).hexdigest()


def stated_nominal(task_dir: Path) -> Decimal | None:
    """What the task says that its reference is worth (`optimization.reference.reward`); None where it does not."""
    document = tomllib.loads((task_dir / "task.toml").read_text(encoding="utf-8"), parse_float=Decimal)
    table = document.get("optimization", {})
    reference = table.get("reference") if isinstance(table, dict) else None
    value = reference.get("reward") if isinstance(reference, dict) else None
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        return None
    return Decimal(value) if 0 < Decimal(value) <= 1 else None


def budget_text(seconds: float) -> str:
    """A budget as an agent reads it, each second said once: `1 hour 30 minutes`, `45.5 seconds`."""
    minutes, left = divmod(seconds, 60)
    parts = (*divmod(int(minutes), 60), round(left, 3))
    named = [(count, unit) for count, unit in zip(parts, ("hour", "minute", "second"), strict=True) if count]
    return " ".join(f"{count:g} {unit}{'' if count == 1 else 's'}" for count, unit in named) or "0 seconds"


def _append_addition(instruction: Path, info: TaskInfo, budget_sec: float) -> None:
    status = instruction.stat()
    addition = Template(_ADDITION.read_text(encoding="utf-8"))
    text = addition.substitute(budget=budget_text(budget_sec), workdir=info.workdir.rstrip("/") or "/")
    instruction.chmod(status.st_mode | 0o200)
    with instruction.open("a", encoding="utf-8") as file:
        file.write("\n" + text)
    instruction.chmod(status.st_mode)
    os.utime(instruction, ns=(status.st_atime_ns, status.st_mtime_ns))


def _add_git(fresh: Path) -> list[str]:
    """Write the derived Dockerfile where its image would lack git; what was done, in words."""
    file = fresh / "environment" / "Dockerfile"
    if not file.is_file() or file.is_symlink():
        return ["environment/Dockerfile: there is none, so git is not added; its image must have it"]
    try:
        derived = with_git(file.read_text(encoding="utf-8"))
    except (TaskError, UnicodeDecodeError) as error:
        return [f"git is not added to its image: {error}"]
    if derived is None:
        return []
    text, how = derived
    status = file.stat()
    file.chmod(status.st_mode | 0o200)
    file.write_text(text, encoding="utf-8")
    file.chmod(status.st_mode)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    return [f"environment/Dockerfile: git is added ({how}), for agents keep their record in it"]


def _check_unchanged(target: Path, prepared: PreparedTask) -> None:
    if tree_hash(target) == prepared.content_hash:
        return
    raise TaskError(
        target,
        f"differs from what {prepared.source} would be prepared as now (task, budget or record-keeping changed)",
        remedy="prepared tasks never change under a study: restore it, or move it away and it is prepared again",
    )


def _kept(record: Path, prepared: PreparedTask) -> PreparedTask:
    """The record that is there, which may name the source differently, where it is about the same task."""
    remedy = "restore the file, or move it and the directory beside it away and the task is prepared again"
    if not record.is_file():  # a pipe would be waited for
        raise TaskError(record, "is no plain file, and was not opened", remedy=remedy)
    try:
        body, whole = unseal(record.read_bytes())
        kept = PreparedTask.model_validate_json(body)
    except ValidationError:
        raise TaskError(record, "is no record of a prepared task", remedy=remedy) from None
    if whole is False:
        raise TaskError(record, "was changed after loopscope wrote it: its seal does not fit", remedy=remedy)
    if (kept.content_hash, kept.verifier_hash) != (prepared.content_hash, prepared.verifier_hash):
        raise TaskError(record, "its hashes are not those of the prepared task beside it", remedy=remedy)
    return kept
