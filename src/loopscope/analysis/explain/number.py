"""How one number of a study's tables and its interval came about: tasks, runs, error, method; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from loopscope.analysis.explain.finding import analysed
from loopscope.analysis.explain.number_model import NumberTold, RunOfNumber, TaskOfNumber
from loopscope.analysis.intervals.further import over_agents
from loopscope.analysis.intervals.samples import BEST_AT_K, OUTCOMES, sample_of, task_numbers
from loopscope.analysis.paired import pairings_of
from loopscope.analysis.quantities import DIAGNOSTICS, PROCESS, RESOURCES, Amount, number
from loopscope.measures.uncertainty.clustered import seed_moments, strata, task_moments
from loopscope.measures.uncertainty.distributions import t_quantile
from loopscope.measures.uncertainty.interval import Moments
from loopscope.measures.uncertainty.levels import TaskNumbers
from loopscope.models.interval_rows import COMMON_AVG, COMMON_BEST, EVERYONE, PAIRED_AVG, PAIRED_BEST
from loopscope.models.tables import OVERALL
from loopscope.records import RecordError, StudyStore
from loopscope.records.settled import settled

_VALUES = {
    "avg_at_k": "mean over tasks of the mean over the task's scored runs",
    "best_at_k": "mean over tasks of the best of the task's scored runs",
}
_VALUE = "mean over tasks of the mean over the task's runs that have a value"
_COMMON = {COMMON_AVG: "avg_at_k", COMMON_BEST: "best_at_k"}
_PAIRED = {PAIRED_AVG: "avg_at_k", PAIRED_BEST: "best_at_k"}
_OF_PAIRED = ", of the paired rewards, over the calibrated tasks"
_ON_COMMON = ", over the tasks that all agents with a score have one on"
_OF_ALL = (
    "mean over agents of each one's mean over tasks of the mean over the task's runs that have a value; a task's "
    "number below is what it adds to that, so that their mean is the value"
)
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
    """How a number of `outcome`, `process`, `process_by_category`, `diagnostics` or `resources` came about.

    The interval is that of the study's tables; the runs behind it are measured anew, as `explain_run` does.

    Args:
        directory: the study.
        measure: as in the table `intervals`.
        agent: its label, or `all agents`. None: the only one.
        category: a family of tasks, or `overall`.
        reading: `random tasks` or `fixed tasks`.

    Raises:
        RecordError: there is no study, its tables do not hold such a number, or a record cannot be read.
    """
    store = StudyStore.open(directory)
    wanted = {"measure": measure, "agent": agent, "category": category, "reading": reading}
    row = rows_of(store, "intervals", wanted).to_dicts()[0]
    made_by = (_COMMON | _PAIRED).get(measure, measure)
    names = runs_of(store, None if row["agent"] == EVERYONE else (row["agent"],), category)
    if measure in _COMMON:
        common = _common_tasks(runs_of(store, None, category))
        names = [r for r in names if r["task"] in common]
    if measure in _PAIRED:
        calibrated = {r["task"] for r in runs_of(store, None, category) if r["final_paired"] is not None}
        names = [r for r in names if r["task"] in calibrated]
    values = (
        _paired_values(store, [r["run_id"] for r in names])
        if measure in _PAIRED
        else {r["run_id"]: value_of(store, r["run_id"], made_by) for r in names}
    )
    numbers, tasks = _of_everyone(names, values, row) if row["agent"] == EVERYONE else _tasks(names, values, made_by)
    formula = _OF_ALL if row["agent"] == EVERYONE else _VALUES.get(made_by, _VALUE)
    return NumberTold(
        **{name: row[name] for name in NumberTold.model_fields.keys() & row.keys()},
        **made_of(numbers, reading, row["method"], row["level"]),
        **_places(store, row),
        value_formula=formula + (_ON_COMMON if measure in _COMMON else _OF_PAIRED if measure in _PAIRED else ""),
        tasks=tasks,
        warnings=stale(store, row["value"], numbers),
    )


def _common_tasks(runs: Sequence[Mapping[str, Any]]) -> set[str]:
    """The tasks on which every agent with a final score has one."""
    scored: dict[str, set[str]] = {}
    for row in runs:
        if row["final_score"] is not None:
            scored.setdefault(row["agent"], set()).add(row["task"])
    return set.intersection(*scored.values()) if scored else set()


def _places(store: StudyStore, row: Mapping[str, Any]) -> dict[str, int | None]:
    """Best and worst place that the number can have; None, both, where `rankings` does not tell it."""
    found = table_of(store, "rankings")
    for name in ("measure", "agent", "category", "reading"):
        found = found.filter(pl.col(name) == row[name])
    told: dict[str, Any] = next(iter(found.to_dicts()), {})
    return {name: told.get(name) for name in ("best_place", "worst_place")}


def table_of(store: StudyStore, name: str) -> pl.DataFrame:
    """A table of the study; RecordError where it is not there or cannot be read."""
    path = store.tables / f"{name}.parquet"
    remedy = f"`loopscope analyze {store.path}` makes it"
    if not path.is_file():
        raise RecordError(f"{path}: is not there; {remedy}")
    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise RecordError(f"{path}: cannot be read ({type(error).__name__}); {remedy} anew") from None


def rows_of(store: StudyStore, table: str, wanted: Mapping[str, str | None]) -> pl.DataFrame:
    """The rows of a table with these values; an error says what there is instead of the first that is not there."""
    found = table_of(store, table)
    if table == "intervals" and wanted.get("agent") is None:  # unless asked for, all of them are no agent
        found = found.filter(pl.col("agent") != EVERYONE)
    for column, value in wanted.items():
        names = found[column].unique().sort().to_list()
        if value is None and len(names) != 1:
            raise RecordError(f"{store.path}: has {len(names)} {column}s; name one of them: {some_of(names)}")
        if value is not None:
            check_name(store, "number" if table == "intervals" else "comparison", column, value, names)
            found = found.filter(pl.col(column) == value)
    return found


def check_name(store: StudyStore, what: str, column: str, value: str, names: Sequence[str]) -> None:
    """RecordError, with what is near to it, for a value that no number (or comparison) has."""
    if value in names:
        return
    near = get_close_matches(value, names, _NEAR, 0.5)
    offer = f"near to it: {', '.join(near)}" if near else f"there are {some_of(names)}"
    raise RecordError(f"{store.path}: no {what} has the {column} {value[:_SHOWN]!r}; {offer}")


def some_of(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    if not names:
        return "none, as nothing was analysed"
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def runs_of(store: StudyStore, agents: Sequence[str] | None, category: str) -> list[dict[str, Any]]:
    """Rows of `runs`, by id; None: of all agents."""
    table = table_of(store, "runs").sort("run_id")
    if agents is not None:
        table = table.filter(pl.col("agent").is_in(agents))
    return [row for row in table.to_dicts() if category in (OVERALL, row["category"])]


def value_of(store: StudyStore, run_id: str, measure: str) -> Amount:
    """The measure of a run, from its records."""
    run = analysed(store, store.run(run_id))
    return run.final_value if measure in OUTCOMES else {**PROCESS, **DIAGNOSTICS, **RESOURCES}[measure](run)


def _paired_values(store: StudyStore, run_ids: Sequence[str]) -> dict[str, Amount]:
    """Run -> its paired reward, from its records and the calibration."""
    spec = settled(store.path).spec
    by_task = pairings_of(store, store.tasks(), spec.environment.type if spec else None).by_task
    runs = ((run_id, analysed(store, store.run(run_id))) for run_id in run_ids)
    return {i: replace(run, pairing=by_task.get(run.record.task)).paired(run.final) for i, run in runs}


def made_of(numbers: TaskNumbers | None, reading: str, method: str | None, level: float) -> dict[str, Any]:
    """Error, degrees of freedom, quantile and formulas of an interval, as the fields of what is told."""
    moments = _moments(numbers, reading)
    return {
        "se": moments.se if moments else None,
        "se_formula": _ERRORS[reading],
        "df": moments.df if moments else None,
        "t": t_quantile((1 + level) / 2, moments.df) if moments and moments.se else None,
        "interval_formula": _UNSEEN if method and moments and not moments.se else _METHODS.get(method or ""),
    }


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
        runs = tuple(told_run(r, values[r["run_id"]]) for r in names if r["task"] == task)
        told.append(
            TaskOfNumber(
                task=task, category=categories[task], value=known(value), seed_variance=known(variance), runs=runs
            )
        )
    return numbers, tuple(told)


def _of_everyone(
    names: Sequence[Mapping[str, Any]], values: Mapping[str, Amount], row: Mapping[str, Any]
) -> tuple[TaskNumbers | None, tuple[TaskOfNumber, ...]]:
    """The same of the mean over all agents, each alike."""
    categories = {r["task"]: r["category"] for r in names}
    sample = sample_of(((r["agent"], r["task"], values[r["run_id"]]) for r in names), categories)
    if sample is None:
        return None, ()
    numbers = over_agents(sample, row["category"], row["k"])
    there = (~np.isnan(sample.averages.values)).any(axis=0)
    shown = {t: i for i, t in enumerate(t for t, has in zip(sample.panel.tasks, there, strict=True) if has)}
    told = [
        TaskOfNumber(
            task=task,
            category=categories[task],
            value=known(numbers.values[shown[task]]) if task in shown else None,
            seed_variance=known(numbers.variances[shown[task]]) if task in shown else None,
            runs=tuple(told_run(r, values[r["run_id"]]) for r in names if r["task"] == task),
        )
        for task in sample.panel.tasks
    ]
    return numbers, tuple(told)


def told_run(row: Mapping[str, Any], value: Amount) -> RunOfNumber:
    """A run with its value."""
    return RunOfNumber(run_id=row["run_id"], seed=row["seed"], value=number(value), source=row["final_source"])


def _moments(numbers: TaskNumbers | None, reading: str) -> Moments | None:
    """Error and degrees of freedom, as `levels.mean_of` takes them."""
    if numbers is None or not (there := ~np.isnan(numbers.values)).any():
        return None
    values = numbers.values[there]
    if reading == "random tasks":
        return task_moments(values, strata([c for c, t in zip(numbers.categories, there, strict=True) if t]))
    return seed_moments(values, numbers.variances[there], numbers.df[there], int(numbers.rollouts[there].sum()))


def stale(store: StudyStore, value: float | None, numbers: TaskNumbers | None) -> tuple[str, ...]:
    """Where the table says another value than the records do."""
    there = numbers.values[~np.isnan(numbers.values)] if numbers is not None else np.empty(0)
    found = float(there.mean()) if there.size else None
    same = found == value if found is None or value is None else abs(found - value) <= 1e-9 * max(1.0, abs(value))
    made = f"`loopscope analyze {store.path}` makes them anew"
    return () if same else (f"the study's tables were made before something changed: the records give {found}; {made}",)


def known(value: float) -> float | None:
    """None for NaN."""
    return None if np.isnan(value) else float(value)
