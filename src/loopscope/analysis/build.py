"""`analyze`: evidence and measures of every run, and the tables of the study; the only writer of tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from loopscope.analysis.finals import Categories, FinalScore
from loopscope.analysis.kept import SUMMARY, file_of, inputs_of
from loopscope.analysis.runs import RunAnalysis
from loopscope.analysis.summary import (
    all_tasks,
    final_scores,
    one_category_each,
    silent_verifiers,
    study_summary,
    unrecorded,
)
from loopscope.analysis.tabled import TabledRun
from loopscope.analysis.work import Known, LeftOut, answer
from loopscope.analysis.workers import in_processes
from loopscope.evidence.prepared import prepared_paths
from loopscope.models.seal import document
from loopscope.models.tables import StudySummary
from loopscope.records import RecordError, RunDir, StudyError, StudyStore, write_bytes
from loopscope.records.durable import is_scratch
from loopscope.records.settled import settled
from loopscope.records.store import MAY_NOT_WRITE

WORTH_PROCESSES = 25
"""From so many runs to look at on, several processes are faster than one: a start takes as long as some 25 runs."""

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
    store = StudyStore.open(directory)
    known, _ = _known(store)
    return known.analyze(store.run(run_id))


def _analyze(directory: Path, notify: Notify, workers: int) -> Analysis:
    store = StudyStore.open(directory)
    study = settled(directory)
    known, torn = _known(store)
    recordless = _without_record(store)
    inputs = inputs_of(store, study, known, [*torn, *recordless, *unrecorded(store, study.spec, known.tasks, 0)])
    if (kept := inputs.kept()) is not None:
        notify(len(inputs.runs), len(inputs.runs), "")
        return Analysis(kept.summary, kept.frames, (), 0)
    found, left_out = _analyze_runs(store, known, notify, workers)
    runs = one_category_each(found)
    tasks = all_tasks(known.tasks.values(), runs)
    finals = final_scores(study.spec, known.tasks, runs)
    warnings = [
        *study.warnings,
        *torn,
        *(f"left out: {run.reason}" for run in left_out),
        *recordless,
        *silent_verifiers(runs),
        *unrecorded(store, study.spec, known.tasks, len(finals)),
    ]
    frames, files = _tables(runs, finals, {name: task.category for name, task in tasks.items()})
    summary = study_summary(study, tasks.values(), runs, len(finals), warnings)
    files[SUMMARY] = document(summary)
    for name, data in files.items():
        write_bytes(store.tables / name, data)
    if not left_out:
        inputs.note(files)
    renewed = tuple(run.run_id for run in runs if run.renewed)
    return Analysis(summary, frames, renewed, sum(run.fault for run in left_out))


def _tables(
    runs: Sequence[TabledRun], finals: Sequence[FinalScore], categories: Categories
) -> tuple[dict[str, pl.DataFrame], dict[str, bytes]]:
    """(the tables by name, their files by name)."""
    from loopscope.analysis.parquet import parquet_bytes
    from loopscope.analysis.tables import study_tables  # numpy, which takes as long to load as tables to be kept

    frames = study_tables(runs, finals, categories)
    return frames, {file_of(name): parquet_bytes(frame) for name, frame in frames.items()}


def _known(store: StudyStore) -> tuple[Known, list[str]]:
    """What is known of the study, and warnings of what cannot be known."""
    tasks, warnings = store.tasks(), []
    prepared: dict[str, frozenset[bytes]] = {}
    for name in tasks:
        try:
            prepared[name] = prepared_paths(store, name)
        except RecordError as error:
            warnings.append(f"its files count as unknown: {error}")
    return Known(store.path, {name: task.facts for name, task in tasks.items()}, prepared), warnings


def _without_record(store: StudyStore) -> list[str]:
    """Directories of runs that have lost their record: nothing else would tell that they are not in the tables."""
    return [
        f"left out: {folder}/record.json: is missing; restore it, or `loopscope study verify {store.path}` tells more"
        for folder in store.recordless()
    ]


def _analyze_runs(
    store: StudyStore, known: Known, notify: Notify, workers: int
) -> tuple[list[TabledRun], list[LeftOut]]:
    """(runs, those that are left out), both in the order of the run ids."""
    folders = list(store.runs())
    found: list[TabledRun | LeftOut | None] = [None] * len(folders)
    for done, (index, run) in enumerate(_answers(known, folders, workers)):
        notify(done, len(folders), folders[index].run_id)
        found[index] = run
    notify(len(folders), len(folders), "")
    runs = [run for run in found if isinstance(run, TabledRun)]
    return runs, [run for run in found if isinstance(run, LeftOut)]


def _answers(known: Known, runs: Sequence[RunDir], workers: int) -> Iterator[tuple[int, TabledRun | LeftOut]]:
    """(position, what came of the run): one by one, and by several processes as soon as that is worth it."""
    new = [_is_new(run) for run in runs]
    to_look_at, here = sum(new), 0
    while here < len(runs) and not (workers > 1 and to_look_at >= WORTH_PROCESSES):
        found = answer(known, runs[here])
        yield here, found
        # Where evidence is out of date, that of the runs behind is likely to be, too: the code has changed.
        to_look_at += isinstance(found, TabledRun) and found.renewed and not new[here]
        here += 1
    for index, found in in_processes(known, runs[here:], workers):
        yield here + index, found


def _is_new(run: RunDir) -> bool:
    """Nobody has looked for its evidence yet; whether what was found still holds is seen when the run is taken up."""
    return not (run.path / "evidence.json").is_file()


__all__ = ["Analysis", "NotWritableError", "RecordError", "StudyError", "StudySummary", "analyze", "analyze_one"]
