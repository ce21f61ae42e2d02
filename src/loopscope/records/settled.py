"""The study that a directory holds, for verbs that run no agent: as it was last run, whatever its file says by now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from loopscope.models import ImportedStudy, StudyLock, StudySpec
from loopscope.records.durable import RecordError, read_model
from loopscope.records.origin import origin_file
from loopscope.records.store import IMPORTED_FILE, LOCK_FILE
from loopscope.records.studyfile import STUDY_FILE, StudyError, load_study
from loopscope.records.tree import kind_of

_DECIDES_NOTHING = frozenset({"concurrency", "schedule", "schema_version"})
_LOCKED = ("environment", "budget", "record_keeping", "scoring")
"""What a lock of version 1 holds of the study file."""


@dataclass(frozen=True)
class Settled:
    """What a study's directory says that it is."""

    name: str
    """For people."""
    spec: StudySpec | None
    """As it was last run; None for a study that `loopscope import` alone has filled: nothing in it can be run."""
    warnings: tuple[str, ...] = ()


def settled(directory: Path) -> Settled:
    """A study as it was last run, or a study of imported runs alone.

    Raises:
        StudyError: neither lock nor file can be read.
        RecordError: the document that marks a study of imported runs cannot be read.
    """
    if only_imported(directory):
        return Settled(read_model(directory / IMPORTED_FILE, ImportedStudy).name, None)
    spec, warnings = settled_study(directory)
    return Settled(spec.name, spec, warnings)


def only_imported(directory: Path) -> bool:
    """Whether a study holds imported runs and was never run: it has neither a study file nor a lock."""
    return kind_of(directory / IMPORTED_FILE) is not None and not any(
        kind_of(directory / name) for name in (STUDY_FILE, LOCK_FILE)
    )


def settled_study(directory: Path) -> tuple[StudySpec, tuple[str, ...]]:
    """(the study as it was last run, warnings): its lock speaks, for its file may have been changed since.

    The file is the copy in the directory, and where that was made from another (`origin`), that one too: it is what
    the next run goes by. What decides nothing is taken from whichever was changed, that one last.

    Raises:
        StudyError: neither lock nor file can be read, or the study holds imported runs alone (see `settled`).
    """
    if only_imported(directory):
        raise StudyError(
            f"{directory}: holds imported runs alone, of which nothing can be run or verified; "
            f"`loopscope analyze {directory}` measures them"
        )
    copy = directory / STUDY_FILE
    try:
        lock = read_model(directory / LOCK_FILE, StudyLock) if (directory / LOCK_FILE).is_file() else None
    except RecordError as error:
        return load_study(copy), (f"{error}; until then the study file is taken as it is",)
    if lock is None:
        return load_study(copy), ()
    begun = lock.study
    if begun is None:
        now = load_study(copy)
        begun = now.model_copy(update={name: getattr(lock, name) for name in _LOCKED})
    warnings: list[str] = []
    settled = begun
    for name, file in ((STUDY_FILE, copy), *filter(None, (origin_file(directory),))):
        try:
            now = load_study(file)
        except StudyError as error:
            warnings.append(f"{error}; this works on the study as it was last run ({LOCK_FILE})")
            continue
        if changed := changed_fields(begun, now):
            warnings.append(
                f"{name}: changed since the last `loopscope run` ({', '.join(changed)}); "
                "this works on the study as it was run then"
            )
        if (now.concurrency, now.schedule) != (begun.concurrency, begun.schedule):
            settled = begun.model_copy(update={"concurrency": now.concurrency, "schedule": now.schedule})
    return settled, tuple(warnings)


def changed_fields(begun: StudySpec, now: StudySpec) -> list[str]:
    """Fields of the study file in which two studies differ, those that decide nothing aside."""
    names = StudySpec.model_fields.keys() - _DECIDES_NOTHING
    return sorted(name for name in names if getattr(begun, name) != getattr(now, name))
