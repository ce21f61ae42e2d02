"""How one number of a study's tables and its interval came about: tasks, runs, error, method; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
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
    "score": "Wilson's interval at the effective size p (1 - p) / se^2, with t; p and se in shares of the way between "
    "the bounds; where half of random tasks stand at a bound, a size of at most 5 per task",
    "t": "value -+ t * se, cut at the bounds",
    "bca": "bias-corrected and accelerated percentiles of 10,000 resamples of the tasks, with t; not below 0",
}
_UNSEEN = (
    "u of the way to either bound, (1 - u)^m = (1 - level) / 2: what m equal tasks (random) or runs can leave unseen"
)
_SHOWN = 80
"""Characters that an error repeats of what was typed."""
_NAMED = 8
"""Names that an error lists."""
_NEAR = 5
"""Names that an error offers for one that is not there."""


def explain_number(
    directory: Path, measure: str, agent: str | None = None, category: str = OVERALL, reading: str = "random tasks"
) -> NumberTold:
    """How a number of `outcome`, `process`, `diagnostics` or `resources` and its interval came about.

    The interval is that of the study's tables; the runs behind it are measured anew, as `explain_run` does.

    Args:
        directory: the study.
        measure: as in the table `intervals`.
        agent: its label. None: the only one.
        category: a family of tasks, or `overall`.
        reading: `random tasks` or `fixed tasks`.

    Raises:
        RecordError: there is no study, its tables do not hold such a number, or a record cannot be read.
    """
    store = StudyStore.open(directory)
    row = _row(store, {"measure": measure, "agent": agent, "category": category, "reading": reading})
    agent = str(row["agent"])
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
        interval_formula=_UNSEEN if row["method"] and moments and not moments.se else _METHODS.get(row["method"] or ""),
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


def _row(store: StudyStore, wanted: Mapping[str, str | None]) -> dict[str, Any]:
    """The row of `intervals`; an error names what there is of the first thing that is not, or what is near to it."""
    table = _table(store, "intervals")
    for column, value in wanted.items():
        names = table[column].unique().sort().to_list()
        if value is None and len(names) == 1:
            continue
        if value is None:
            raise RecordError(f"{store.path}: has {len(names)} {column}s; name one of them: {_some(names)}")
        if value not in names:
            near = get_close_matches(value, names, _NEAR, 0.5)
            offer = f"near to it: {', '.join(near)}" if near else f"there are {_some(names)}"
            raise RecordError(f"{store.path}: no number has the {column} {value[:_SHOWN]!r}; {offer}")
        table = table.filter(pl.col(column) == value)
    return table.to_dicts()[0]


def _some(names: Sequence[str]) -> str:
    if not names:
        return "none, as nothing was analysed"
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


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
