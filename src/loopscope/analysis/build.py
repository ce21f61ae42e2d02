"""`analyze`: evidence and measures of every run, and the tables of the study; the only writer of tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from loopscope.analysis.kept import inputs_of
from loopscope.analysis.paired import Pairings, pairings_of
from loopscope.evidence.prepared import prepared_paths
from loopscope.models import TaskFacts
from loopscope.models.tables import StudySummary
from loopscope.records import RecordError, StudyError, StudyStore, write_bytes
from loopscope.records.durable import is_scratch
from loopscope.records.settled import Settled, settled
from loopscope.records.store import MAY_NOT_WRITE

if TYPE_CHECKING:
    from loopscope.analysis.runs import RunAnalysis

type Notify = Callable[[int, int, str], None]
"""Called with (done, total, run id)."""


@dataclass(frozen=True)
class Analysis:
    """What was analysed."""

    summary: StudySummary
    frames: dict[str, pl.DataFrame]
    renewed: tuple[str, ...]
    """Ids of the runs whose evidence was made anew; that of the others was found as it should be."""
    faults: int
    """Runs that are left out because our own code fails on them; each is told among the warnings."""


class NotWritableError(RecordError):
    """A study that the caller may only read."""

    midway: ClassVar[bool] = True
    """This machine is to blame, not what was asked for."""


def analyze(directory: Path, notify: Notify = lambda done, total, name: None, *, workers: int = 1) -> Analysis:
    """Analyse a study and write its tables.

    A run whose records cannot be read, or that our own code fails on, is left out with a warning; the others are not
    touched by it.

    Args:
        directory: the study.
        notify: called with (done, total, run id) as runs are analysed.
        workers: most processes that analyse at once; equal records give equal tables, whatever their number.

    Raises:
        RecordError, StudyError: this is no study, or its study file cannot be read.
        NotWritableError: the caller may only read it.
        WorkerDiedError: a process ended in the middle of a run.
    """
    try:
        return _analyze(directory, notify, workers)
    except OSError as error:
        if error.errno in MAY_NOT_WRITE and error.filename and is_scratch(Path(os.fsdecode(error.filename))):
            raise NotWritableError(
                f"{directory}: this user may not write there, where evidence and tables are kept; take a copy: "
                f"`loopscope study export {directory} --out FILE`, then `loopscope study import FILE --into DIR`"
            ) from None
        raise


def analyze_one(directory: Path, run_id: str) -> RunAnalysis:
    """One run of a study with its measures, exactly as the tables take it; no table is written.

    Raises:
        RecordError: there is no such study or run, or its records cannot be read.
    """
    from loopscope.analysis.work import Known

    store = StudyStore.open(directory)
    tasks, prepared, _ = _known(store)
    pairings = _pairings(store, settled(directory))
    return Known(store.path, tasks, prepared, pairings.by_task).analyze(store.run(run_id))


def _analyze(directory: Path, notify: Notify, workers: int) -> Analysis:
    store = StudyStore.open(directory)
    study = settled(directory)
    tasks, prepared, torn = _known(store)
    pairings = _pairings(store, study)
    inputs = inputs_of(store, study, tasks, prepared, [*torn, *pairings.warnings, repr(pairings.by_task)])
    if (kept := inputs.kept()) is not None:
        notify(len(inputs.runs), len(inputs.runs), "")
        return Analysis(kept.summary, kept.frames, (), 0)

    from loopscope.analysis.anew import made_anew  # with numpy takes longer to load than tables to be kept
    from loopscope.analysis.work import Known

    known = Known(store.path, tasks, prepared, pairings.by_task)
    made = made_anew(store, study, known, pairings, torn, notify, workers)
    for name, data in made.files.items():
        write_bytes(store.tables / name, data)
    if not made.left_out:
        inputs.note(made.files)
    return Analysis(made.summary, made.frames, made.renewed, sum(run.fault for run in made.left_out))


def _pairings(store: StudyStore, study: Settled) -> Pairings:
    return pairings_of(store, store.tasks(), study.spec.environment.type if study.spec else None)


def _known(store: StudyStore) -> tuple[dict[str, TaskFacts], dict[str, frozenset[bytes]], list[str]]:
    """(the study's tasks, files of their untouched work directories, warnings of what cannot be known)."""
    tasks, warnings = store.tasks(), []
    prepared: dict[str, frozenset[bytes]] = {}
    for name in tasks:
        try:
            prepared[name] = prepared_paths(store, name)
        except RecordError as error:
            warnings.append(f"its files count as unknown: {error}")
    return {name: task.facts for name, task in tasks.items()}, prepared, warnings


__all__ = ["Analysis", "NotWritableError", "RecordError", "StudyError", "StudySummary", "analyze", "analyze_one"]
