"""Find one run of a study by what a person types, and analyse it alone; nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from loopscope.analysis.explain.build import explain
from loopscope.analysis.explain.model import Explanation
from loopscope.analysis.explain.told import CheckpointTold, Step
from loopscope.analysis.explain.walk import steps_of
from loopscope.analysis.runs import RunAnalysis, measured
from loopscope.evidence.build import run_evidence
from loopscope.evidence.evaluator import completed, evaluator_for
from loopscope.evidence.prepared import prepared_paths
from loopscope.records import RecordError, RunDir, StudyStore

_NAMED = 8
"""Runs or commits that an error lists."""
_DIGITS = 9
"""Of a commit's position; what has more is the beginning of an id at most."""
_SHOWN = 80
"""Characters that an error repeats of what was typed."""


def explain_run(directory: Path, run: str | None = None) -> Explanation:
    """How the numbers of one run of a study came about.

    Args:
        directory: the study; or, without `run`, a run's own directory in it.
        run: its id, or the beginning or another part of it that fits no other run's. None: the only one.

    Raises:
        RecordError: there is no study or no such run, several fit, or its records cannot be read.
    """
    if run is None and directory.parent.name == "runs" and (directory / "record.json").is_file():
        directory, run = directory.parent.parent, directory.name
    store = StudyStore.open(directory)
    found = find_run(store, run)
    record = found.record
    evaluator = evaluator_for(record.task, store.evaluators)
    told = explain(analysed(store, found), evaluator)
    return told.model_copy(update={"warnings": (*told.warnings, *stale(store, told))})


def analysed(store: StudyStore, run: RunDir) -> RunAnalysis:
    """One run with its measures, as `analyze` makes them, but nothing is written.

    Raises:
        RecordError: its records cannot be read, or a file is not as it was published.
    """
    run.check_inputs()
    evaluator = evaluator_for(run.record.task, store.evaluators)
    facts = completed(store.facts(run.record), evaluator)
    try:
        prepared = prepared_paths(store, run.record.task)
    except RecordError:  # `analyze` warns of it, and goes by patterns alone
        prepared = frozenset()
    return measured(run.record, facts, run_evidence(run, facts, prepared, store.evaluators), run.scores())


def find_run(store: StudyStore, wanted: str | None) -> RunDir:
    """A run by its id or the beginning of it; else by any part of it that no other run's has.

    Raises:
        RecordError: none or several fit; names them.
    """
    runs = list(store.runs())
    fitting = [run for run in runs if run.run_id.startswith(wanted or "")]
    fitting = fitting or [run for run in runs if wanted and wanted in run.run_id]
    exact = [run for run in fitting if run.run_id == wanted]
    if exact or len(fitting) == 1:
        return (exact or fitting)[0]
    if not runs:
        raise RecordError(f"{store.path}: holds no finished run yet; `loopscope status {store.path}` says what is done")
    if wanted is None:
        raise RecordError(f"{store.path}: holds {len(runs)} runs; name one of them: {_some(runs)}")
    if not fitting:
        raise RecordError(f"{store.path}: no run's name has {wanted!r} in it; there are {_some(runs)}")
    raise RecordError(f"{store.path}: {wanted!r} fits {len(fitting)} runs; give more of the name: {_some(fitting)}")


def _some(runs: Sequence[RunDir]) -> str:
    names = [run.run_id for run in runs]
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def find_checkpoint(told: Explanation, wanted: str) -> CheckpointTold:
    """A commit by its position (from 0, as in the tables) or by the beginning of its id.

    Raises:
        RecordError: none or several fit.
    """
    commits = told.checkpoints or ()
    if len(wanted) <= _DIGITS and wanted.isascii() and wanted.isdecimal() and int(wanted) < len(commits):
        return commits[int(wanted)]
    fitting = [commit for commit in commits if wanted and commit.sha.startswith(wanted.lower())]
    if len(fitting) == 1:
        return fitting[0]
    if not commits:
        raise RecordError(f"{told.run_id}: has no commit")
    what = "no commit" if not fitting else f"{len(fitting)} commits"
    remedy = f"give a position from 0 to {len(commits) - 1}, or more of a commit's id"
    raise RecordError(f"{told.run_id}: {wanted[:_SHOWN]!r} fits {what}; {remedy}")


def stale(store: StudyStore, told: Explanation) -> list[str]:
    """Where the study's tables say something else: they were made before something changed."""
    path = store.tables / "runs.parquet"
    if not path.is_file():
        return []
    try:
        rows = pl.read_parquet(path).filter(pl.col("run_id") == told.run_id).to_dicts()
    except (pl.exceptions.PolarsError, OSError) as error:
        return [f"{path}: cannot be read ({type(error).__name__}); `loopscope analyze {store.path}` makes it anew"]
    if not rows:
        return [f"{path}: does not hold this run yet; `loopscope analyze {store.path}` adds it"]
    steps = [step for step in steps_of(told) if step.table == "runs" and not _agrees(step, rows[0])]
    names = ", ".join(step.name for step in steps)
    made = f"`loopscope analyze {store.path}` makes them anew"
    return [f"the study's tables were made before something changed, and differ in {names}; {made}"] if steps else []


def _agrees(step: Step, row: dict[str, object]) -> bool:
    return step.name in row and row[step.name] == step.value
