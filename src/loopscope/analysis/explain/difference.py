"""How the difference of two agents, its interval and its test came about: tasks, runs, error; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from loopscope.analysis.explain.number import (
    check_name,
    known,
    made_of,
    rows_of,
    runs_of,
    stale,
    told_run,
    value_of,
)
from loopscope.analysis.explain.number_model import DifferenceTold, TaskOfDifference
from loopscope.analysis.intervals.samples import BEST_AT_K, Sample, sample_of
from loopscope.analysis.quantities import Amount
from loopscope.measures.uncertainty import AVG, Estimator
from loopscope.measures.uncertainty.cells import cell_values
from loopscope.measures.uncertainty.differences import paired
from loopscope.models.interval_rows import ComparisonRow
from loopscope.models.standing import seen_from
from loopscope.models.tables import OVERALL
from loopscope.records import RecordError, StudyStore

_TESTS = {
    "random tasks": "share of the signs of the common tasks' differences with a mean at least as far from 0: all up to "
    "26 tasks, else drawn",
    "fixed tasks": "share of the ways to say which agent a run was of, task by task, at least as far from 0: all where "
    "they are few, else drawn",
}


def explain_difference(
    directory: Path, measure: str, first: str, second: str, category: str = OVERALL, reading: str = "random tasks"
) -> DifferenceTold:
    """How a difference of `comparisons` came about, seen from the first agent.

    Interval and test are those of the study's tables; the runs behind them are measured anew, as `explain_run` does.

    Raises:
        RecordError: there is no study, its tables do not hold such a comparison, or a record cannot be read.
    """
    store = StudyStore.open(directory)
    row = _row(store, {"measure": measure, "category": category, "reading": reading}, first, second)
    names = runs_of(store, (first, second), category)
    values = {r["run_id"]: value_of(store, r["run_id"], measure) for r in names}
    sample = sample_of(((r["agent"], r["task"], values[r["run_id"]]) for r in names), _categories(names))
    if sample is None:
        raise RecordError(f"{store.path}: holds no run of {first} and {second} any more")
    estimator = Estimator(max(1, row.k)) if measure == BEST_AT_K else AVG
    both = first in sample.panel.models and second in sample.panel.models
    numbers = paired(sample.panel, first, second, estimator, None, "task")[0] if both else None
    return DifferenceTold(
        **{name: value for name, value in asdict(row).items() if name in DifferenceTold.model_fields},
        **made_of(numbers, reading, row.method, row.level),
        p_formula=_TESTS[reading],
        tasks=_tasks(sample, (first, second), estimator, names, values),
        warnings=stale(store, row.difference, numbers),
    )


def _row(store: StudyStore, wanted: Mapping[str, str | None], first: str, second: str) -> ComparisonRow:
    rows = [ComparisonRow(**row) for row in rows_of(store, "comparisons", wanted).to_dicts()]
    agents = sorted({name for row in rows for name in (row.first, row.second)})
    for name in (first, second):
        check_name(store, "comparison", "agent", name, agents)
    found = [row for row in rows if {row.first, row.second} == {first, second}]
    if not found:
        raise RecordError(f"{store.path}: {first} is not held against {second}; name two different agents")
    return seen_from(found[0], first)


def _categories(names: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {row["task"]: row["category"] for row in names}


def _tasks(
    sample: Sample,
    agents: tuple[str, str],
    estimator: Estimator,
    names: Sequence[Mapping[str, Any]],
    values: Mapping[str, Amount],
) -> tuple[TaskOfDifference, ...]:
    panel = sample.panel
    cells = cell_values(np.sort(panel.scores, axis=2), estimator)
    told = []
    for at, (task, category) in enumerate(zip(panel.tasks, panel.categories, strict=True)):
        one, other = (cells[panel.of(agent), at] if agent in panel.models else np.nan for agent in agents)
        runs = [
            tuple(told_run(r, values[r["run_id"]]) for r in names if (r["task"], r["agent"]) == (task, agent))
            for agent in agents
        ]
        told.append(
            TaskOfDifference(
                task=task,
                category=category,
                first=known(one),
                second=known(other),
                difference=known(one - other),
                first_runs=runs[0],
                second_runs=runs[1],
            )
        )
    return tuple(told)
