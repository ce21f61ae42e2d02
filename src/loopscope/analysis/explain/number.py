"""How one number of a study's tables and its interval came about: tasks, runs, error, method; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from loopscope.analysis.explain.finding import analysed
from loopscope.analysis.explain.number_model import NumberTold, RunOfNumber, TaskOfNumber
from loopscope.analysis.intervals.samples import BEST_AT_K, OUTCOMES, sample_of, task_numbers
from loopscope.analysis.quantities import DIAGNOSTICS, PROCESS, RESOURCES, Amount, number
from loopscope.measures.uncertainty.clustered import seed_moments, strata, task_moments
from loopscope.measures.uncertainty.distributions import t_quantile
from loopscope.measures.uncertainty.interval import Moments
from loopscope.measures.uncertainty.levels import TaskNumbers
from loopscope.models.tables import OVERALL
from loopscope.records import RecordError, StudyStore

_VALUES = {
    "avg_at_k": "mean over tasks of the mean over the task's scored runs",
    "best_at_k": "mean over tasks of the best of the task's scored runs",
}
_VALUE = "mean over tasks of the mean over the task's runs that have a value"
_ERRORS = {
    "random tasks": "se^2 = sum over families c of (n_c/n)^2 s_c^2/n_c, s_c^2 the variance of the tasks' values in c",
    "fixed tasks": "se^2 = sum over tasks of the variance of the task's value over seeds / n^2",
}
_METHODS = {
    "score": "Wilson's interval within the bounds, at the effective size value (1 - value) / se^2, with t",
    "t": "value -+ t * se, cut at the bounds",
    "bca": "bias-corrected and accelerated percentiles of 10,000 resamples of the tasks, with t",
}


def explain_number(
    directory: Path, measure: str, agent: str, category: str = OVERALL, reading: str = "random tasks"
) -> NumberTold:
    """How a number of `outcome`, `process`, `diagnostics` or `resources` and its interval came about.

    The interval is that of the study's tables; the runs behind it are measured anew, as `explain_run` does.

    Raises:
        RecordError: there is no study, its tables do not hold such a number, or a record cannot be read.
    """
    store = StudyStore.open(directory)
    row = _row(store, {"measure": measure, "agent": agent, "category": category, "reading": reading})
    table = _table(store, "runs").filter(pl.col("agent") == agent).sort("run_id")
    names = [r for r in table.to_dicts() if category in (OVERALL, r["category"])]
    values = {r["run_id"]: _value(store, r["run_id"], measure) for r in names}
    numbers, tasks = _tasks(names, values, measure)
    moments = _moments(numbers, reading)
    return NumberTold(
        **{name: row[name] for name in NumberTold.model_fields.keys() & row.keys()},
        value_formula=_VALUES.get(measure, _VALUE),
        se=moments.se if moments else None,
        se_formula=_ERRORS[reading],
        df=moments.df if moments else None,
        t=t_quantile((1 + row["level"]) / 2, moments.df) if moments and moments.se else None,
        interval_formula=_METHODS.get(row["method"] or ""),
        tasks=tasks,
        warnings=_stale(store, row["value"], numbers),
    )


def _table(store: StudyStore, name: str) -> pl.DataFrame:
    path = store.tables / f"{name}.parquet"
    remedy = f"`loopscope analyze {store.path}` makes it"
    if not path.is_file():
        raise RecordError(f"{path}: is not there; {remedy}")
    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise RecordError(f"{path}: cannot be read ({type(error).__name__}); {remedy} anew") from None


def _row(store: StudyStore, wanted: Mapping[str, str]) -> dict[str, Any]:
    """The row of `intervals`; an error names what there is of the first thing that is not."""
    table = _table(store, "intervals")
    for column, value in wanted.items():
        names = table[column].unique().sort().to_list()
        if value not in names:
            raise RecordError(f"{store.path}: no number has the {column} {value!r}; there are {', '.join(names)}")
        table = table.filter(pl.col(column) == value)
    return table.to_dicts()[0]


def _value(store: StudyStore, run_id: str, measure: str) -> Amount:
    run = analysed(store, store.run(run_id))
    return run.final_value if measure in OUTCOMES else {**PROCESS, **DIAGNOSTICS, **RESOURCES}[measure](run)


def _tasks(
    names: Sequence[Mapping[str, Any]], values: Mapping[str, Amount], measure: str
) -> tuple[TaskNumbers | None, tuple[TaskOfNumber, ...]]:
    """What the interval is made of, and the same task by task."""
    categories = {r["task"]: r["category"] for r in names}
    sample = sample_of(((r["agent"], r["task"], values[r["run_id"]]) for r in names), categories)
    if sample is None:
        return None, ()
    k = sample.k(OVERALL)
    numbers = task_numbers(sample, 0, OVERALL, best=measure == BEST_AT_K, k=k, missing=0)
    told = []
    for task, value, variance in zip(sample.panel.tasks, numbers.values, numbers.variances, strict=True):
        runs = tuple(
            RunOfNumber(run_id=r["run_id"], seed=r["seed"], value=number(values[r["run_id"]]), source=r["final_source"])
            for r in names
            if r["task"] == task
        )
        told.append(
            TaskOfNumber(
                task=task, category=categories[task], value=_known(value), seed_variance=_known(variance), runs=runs
            )
        )
    return numbers, tuple(told)


def _moments(numbers: TaskNumbers | None, reading: str) -> Moments | None:
    """Error and degrees of freedom, as `levels.mean_of` takes them."""
    if numbers is None or not (there := ~np.isnan(numbers.values)).any():
        return None
    values = numbers.values[there]
    if reading == "random tasks":
        return task_moments(values, strata([c for c, t in zip(numbers.categories, there, strict=True) if t]))
    return seed_moments(values, numbers.variances[there], numbers.df[there], int(numbers.rollouts[there].sum()))


def _stale(store: StudyStore, value: float | None, numbers: TaskNumbers | None) -> tuple[str, ...]:
    """Where the table says another value than the records do."""
    there = numbers.values[~np.isnan(numbers.values)] if numbers is not None else np.empty(0)
    found = float(there.mean()) if there.size else None
    same = found == value if found is None or value is None else abs(found - value) <= 1e-9 * max(1.0, abs(value))
    made = f"`loopscope analyze {store.path}` makes them anew"
    return () if same else (f"the study's tables were made before something changed: the records give {found}; {made}",)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
