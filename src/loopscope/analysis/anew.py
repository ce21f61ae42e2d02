"""A study's runs looked at, and its tables made; loaded only where they cannot be kept as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from loopscope.analysis.finals import Categories, FinalScore
from loopscope.analysis.kept import SUMMARY, file_of
from loopscope.analysis.paired import Pairings, saturated_runs
from loopscope.analysis.parquet import parquet_bytes
from loopscope.analysis.summary import (
    all_tasks,
    final_scores,
    one_category_each,
    silent_verifiers,
    study_summary,
    unrecorded,
)
from loopscope.analysis.tabled import TabledRun
from loopscope.analysis.tables import study_tables
from loopscope.analysis.work import Known, LeftOut, answer
from loopscope.analysis.workers import in_processes
from loopscope.models.seal import document
from loopscope.models.tables import StudySummary
from loopscope.records import RunDir, StudyStore
from loopscope.records.settled import Settled

WORTH_PROCESSES = 25
"""From so many runs to look at on, several processes are faster than one: a start takes as long as some 25 runs."""

type Notify = Callable[[int, int, str], None]
"""Called with (done, total, run id)."""


@dataclass(frozen=True)
class Anew:
    """What was made."""

    summary: StudySummary
    frames: dict[str, pl.DataFrame]
    files: dict[str, bytes]
    """What belongs among the tables, by name."""
    renewed: tuple[str, ...]
    """Ids of the runs whose evidence was made anew."""
    left_out: tuple[LeftOut, ...]


def made_anew(
    store: StudyStore,
    study: Settled,
    known: Known,
    pairings: Pairings,
    torn: Sequence[str],
    notify: Notify,
    workers: int,
) -> Anew:
    """Find what evidence is lacking, and make the tables. Only evidence is written.

    Args:
        store: the study.
        study: what its directory says that it is.
        known: of its tasks.
        pairings: of its calibrated tasks.
        torn: warnings of what of its tasks cannot be known.
        notify: called with (done, total, run id) as runs are analysed.
        workers: most processes at once.

    Raises:
        WorkerDiedError: a process ended in the middle of a run.
        OSError: the study cannot be read or written.
    """
    found, left_out = _analyze_runs(store, known, notify, workers)
    runs = one_category_each(found)
    tasks = all_tasks(known.tasks.values(), runs)
    finals = final_scores(study.spec, known.tasks, runs)
    warnings = [
        *study.warnings,
        *torn,
        *(f"left out: {run.reason}" for run in left_out),
        *_without_record(store),
        *silent_verifiers(runs),
        *pairings.warnings,
        *saturated_runs(runs, pairings),
        *unrecorded(store, study.spec, known.tasks, len(finals)),
    ]
    frames, files = _tables(runs, finals, {name: task.category for name, task in tasks.items()})
    summary = study_summary(study, tasks.values(), runs, len(finals), warnings, pairings.by_task)
    files[SUMMARY] = document(summary)
    return Anew(summary, frames, files, tuple(run.run_id for run in runs if run.renewed), tuple(left_out))


def _tables(
    runs: Sequence[TabledRun], finals: Sequence[FinalScore], categories: Categories
) -> tuple[dict[str, pl.DataFrame], dict[str, bytes]]:
    """(the tables by name, their files by name)."""
    frames = study_tables(runs, finals, categories)
    return frames, {file_of(name): parquet_bytes(frame) for name, frame in frames.items()}


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
