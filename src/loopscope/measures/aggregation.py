"""From runs to models: seeds within a task first, then tasks with equal weight (Appendix C.5).

No rescaling, no shrinkage. A missing value leaves its run out, and a task with no valid run leaves the mean; that is
also what a quantity conditional on a dip needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from loopscope.measures.exact import Score, exact, mean

type Row = tuple[str, str, Score]
"""(model, task, value) of one run."""


@dataclass(frozen=True)
class Aggregate:
    """A mean over tasks of means over runs, and how much stands behind it."""

    value: Fraction | None
    """None when no run has a value."""
    by_task: Mapping[str, Fraction]
    """Mean over the valid runs of each task that has one."""
    runs: int
    """Valid runs."""
    runs_left_out: int
    tasks_left_out: int

    @property
    def tasks(self) -> int:
        """Tasks in the mean."""
        return len(self.by_task)


def two_level(rows: Iterable[Row]) -> dict[str, Aggregate]:
    """Each model's value: the mean over its tasks of the mean over the valid runs of the task. Sorted by model."""
    grouped = group(rows)
    return {model: task_balanced(tasks) for model, tasks in sorted(grouped.items())}


def group(rows: Iterable[Row]) -> dict[str, dict[str, list[Fraction | None]]]:
    """Model -> task -> one value per run, missing ones kept."""
    grouped: dict[str, dict[str, list[Fraction | None]]] = {}
    for model, task, value in rows:
        grouped.setdefault(model, {}).setdefault(task, []).append(exact(value))
    return grouped


def task_balanced(tasks: Mapping[str, Iterable[Score]]) -> Aggregate:
    """The mean over tasks of the mean over runs, for the runs of one model."""
    by_task: dict[str, Fraction] = {}
    runs = left_out = 0
    for task, values in sorted(tasks.items()):
        given = [exact(value) for value in values]
        valid = [value for value in given if value is not None]
        runs, left_out = runs + len(valid), left_out + len(given) - len(valid)
        if (task_mean := mean(valid)) is not None:
            by_task[task] = task_mean
    return Aggregate(mean(by_task.values()), by_task, runs, left_out, len(tasks) - len(by_task))


def by_model_and_category(rows: Iterable[Row], categories: Mapping[str, str]) -> dict[tuple[str, str], Aggregate]:
    """(model, category) -> its value: tasks weigh equally within the category. `categories` maps task to category."""
    split = split_by_category(rows, categories)
    return {(model, name): found for name, part in split.items() for model, found in two_level(part).items()}


def by_category(rows: Iterable[Row], categories: Mapping[str, str]) -> dict[str, Fraction | None]:
    """Category -> tasks equally within the category, then models equally; models without a value there stay out."""
    found: dict[str, list[Fraction]] = {}
    for (_, category), aggregate in by_model_and_category(rows, categories).items():
        values = found.setdefault(category, [])
        if aggregate.value is not None:
            values.append(aggregate.value)
    return {category: mean(values) for category, values in found.items()}


def split_by_category(rows: Iterable[Row], categories: Mapping[str, str]) -> dict[str, list[Row]]:
    """Category -> its rows, sorted by category. ValueError for a task without one."""
    split: dict[str, list[Row]] = {}
    for row in rows:
        if row[1] not in categories:
            raise ValueError(f"task {row[1]!r} has no category; add it to `categories`")
        split.setdefault(categories[row[1]], []).append(row)
    return dict(sorted(split.items()))
