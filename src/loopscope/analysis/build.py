"""`analyze`: evidence and measures of every run, and the tables of the study; the only writer of tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

import polars as pl

from loopscope.analysis.parquet import parquet_bytes
from loopscope.analysis.runs import RunAnalysis, analyze_run
from loopscope.analysis.tables import FinalScore, study_tables
from loopscope.evidence.prepared import prepared_paths
from loopscope.models import PreparedTask, StateScore, StudySpec
from loopscope.models.tables import AgentSummary, StudySummary, TaskSummary
from loopscope.records import RecordError, StudyError, StudyStore, write_bytes, write_model
from loopscope.records.durable import is_scratch
from loopscope.records.settled import settled_study
from loopscope.records.store import MAY_NOT_WRITE, run_id_of


@dataclass(frozen=True)
class Analysis:
    """What was analysed."""

    summary: StudySummary
    frames: dict[str, pl.DataFrame]


class NotWritableError(RecordError):
    """A study that the caller may only read."""

    midway: ClassVar[bool] = True
    """This machine is to blame, not what was asked for."""


def analyze(directory: Path, notify: Callable[[int, int, str], None] = lambda done, total, name: None) -> Analysis:
    """Analyse a study and write its tables.

    A run whose records cannot be read is left out with a warning; the others are not touched by it.

    Args:
        directory: the study.
        notify: called with (done, total, run id) as runs are analysed.

    Raises:
        RecordError, StudyError: this is no study, or its study file cannot be read.
        NotWritableError: the caller may only read it.
    """
    try:
        return _analyze(directory, notify)
    except OSError as error:
        if error.errno in MAY_NOT_WRITE and error.filename and is_scratch(Path(os.fsdecode(error.filename))):
            raise NotWritableError(
                f"{directory}: this user may not write there, where evidence and tables are kept; take a copy: "
                f"`loopscope study export {directory} --out FILE`, then `loopscope study import FILE --into DIR`"
            ) from None
        raise


def _analyze(directory: Path, notify: Callable[[int, int, str], None]) -> Analysis:
    store = StudyStore.open(directory)
    spec, changed = settled_study(directory)
    tasks = store.tasks()
    runs, warnings = _analyze_runs(store, tasks, notify)
    warnings = [*changed, *warnings]
    planned, finals = _finals(spec, tasks, runs)
    warnings += _silent_verifiers(runs)
    if warning := _unrecorded(store, spec, tasks, planned):
        warnings.append(warning)
    categories = {name: task.info.category for name, task in tasks.items()}
    frames = study_tables(runs, finals, categories)
    summary = _summary(spec, tasks, runs, planned, warnings)
    for name, frame in frames.items():
        write_bytes(store.tables / f"{name}.parquet", parquet_bytes(frame))
    write_model(store.tables / "study.json", summary)
    return Analysis(summary, frames)


def _analyze_runs(
    store: StudyStore, tasks: dict[str, PreparedTask], notify: Callable[[int, int, str], None]
) -> tuple[list[RunAnalysis], list[str]]:
    found, warnings = [], []
    prepared: dict[str, frozenset[bytes]] = {}
    for name in tasks:
        try:
            prepared[name] = prepared_paths(store, name)
        except RecordError as error:
            warnings.append(f"its files count as unknown: {error}")
    folders = list(store.runs())
    for done, run in enumerate(folders):
        notify(done, len(folders), run.run_id)
        try:
            task = tasks.get(run.record.task)
            if task is None:
                raise RecordError(f"{run.path}: its task {run.record.task!r} is not among the study's prepared tasks")
            found.append(analyze_run(run, task, prepared.get(run.record.task, frozenset())))
        except RecordError as error:
            warnings.append(f"left out: {error}")
    notify(len(folders), len(folders), "")
    return found, warnings


def _silent_verifiers(runs: list[RunAnalysis]) -> list[str]:
    """Tasks whose verifier never gave a reward: their zeros of C1 and C2 say nothing about agents."""
    scores: dict[str, list[StateScore]] = {}
    for run in runs:
        found = [row.score for row in run.rows] + [run.final]
        scores.setdefault(run.record.task, []).extend(score for score in found if score is not None)
    warnings = []
    for task, given in sorted(scores.items()):
        if given and all(score.value is None for score in given):
            reason = given[0].verifications[0].reason
            warnings.append(f"the verifier of {task} never gave a reward ({reason}); mend it, its runs measure nothing")
    return warnings


def _finals(spec: StudySpec, tasks: dict[str, PreparedTask], runs: list[RunAnalysis]) -> tuple[int, list[FinalScore]]:
    """(number of planned rollouts, final scores); a planned rollout without a record is missing, not absent."""
    found = {(run.record.agent, run.record.task, run.record.seed): run.final_value for run in runs}
    planned = {(agent.label, task, seed) for agent in spec.agents for task in tasks for seed in spec.seeds}
    keys = sorted(planned | found.keys())
    return len(keys), [(agent, task, found.get((agent, task, seed))) for agent, task, seed in keys]


def _unrecorded(store: StudyStore, spec: StudySpec, tasks: Iterable[str], planned: int) -> str | None:
    """How many planned rollouts have no record; those that are left out have one, and were told one by one."""
    ids = [run_id_of(task, agent.label, seed) for agent in spec.agents for task in tasks for seed in spec.seeds]
    missing = sum(not store.run(run_id).is_recorded for run_id in ids)
    if not missing:
        return None
    has, them = ("has", "it") if missing == 1 else ("have", "them")
    return f"{missing} of {planned} rollouts {has} no record yet; `loopscope run` does {them}"


def _summary(
    spec: StudySpec, tasks: dict[str, PreparedTask], runs: list[RunAnalysis], planned: int, warnings: list[str]
) -> StudySummary:
    harnesses = {run.record.agent: run.record.harness for run in runs}
    return StudySummary(
        name=spec.name,
        created_by=f"loopscope {version('loopscope')}",
        k=len(spec.seeds),
        seeds=tuple(spec.seeds),
        tasks=tuple(
            TaskSummary(
                name=task.info.name,
                title=task.info.title,
                category=task.info.category,
                timed=task.info.timed,
                metric=task.info.anchors.metric,
                baseline=task.info.anchors.baseline,
                reference=task.info.anchors.reference,
            )
            for task in tasks.values()
        ),
        agents=tuple(
            AgentSummary(label=a.label, harness=harnesses.get(a.label, a.name), model=a.model) for a in spec.agents
        ),
        environment=spec.environment.type,
        generated_from={
            "planned": planned,
            "runs": len(runs),
            "scored_states": sum(row.score is not None for run in runs for row in run.rows),
        },
        warnings=tuple(warnings),
    )


__all__ = ["Analysis", "RecordError", "StudyError", "StudySummary", "analyze"]
