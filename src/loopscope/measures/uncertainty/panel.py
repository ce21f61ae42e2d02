"""The scores of a study as one array: models, tasks, seeds. What is missing is NaN, and is counted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loopscope.measures.exact import Score, exact

type Floats = NDArray[np.float64]
type Ints = NDArray[np.intp]
type Bools = NDArray[np.bool_]


class Run(NamedTuple):
    """One rollout and a number of it: its final score, or any measure."""

    model: str
    task: str
    seed: str
    """Runs of one seed are a pair where a comparison pairs by seed."""
    score: Score
    """None or NaN: missing."""


@dataclass(frozen=True, eq=False)
class Panel:
    """All runs of a study."""

    models: tuple[str, ...]
    tasks: tuple[str, ...]
    categories: tuple[str, ...]
    """The family of each task, in the order of `tasks`."""
    seeds: tuple[str, ...]
    scores: Floats
    """(model, task, seed); NaN where there is no score, or no run."""
    k: int
    """Rollouts that each (model, task) should have: as planned, else the most that any has."""

    def of(self, model: str) -> int:
        """The model's row; ValueError that lists the models when there is none of this name."""
        if model not in self.models:
            raise ValueError(f"no model {model!r} among the runs; there are {', '.join(self.models)}")
        return self.models.index(model)

    def within(self, category: str | None) -> Ints:
        """Where the tasks of a category stand, or all; ValueError for a category that no task has."""
        if category is None:
            return np.arange(len(self.tasks))
        found = np.flatnonzero(np.array(self.categories) == category)
        if not found.size:
            raise ValueError(f"no task of category {category!r}; there are {', '.join(sorted(set(self.categories)))}")
        return found

    def packed(self) -> Floats:
        """Scores in ascending order within each (model, task), missing ones behind, as narrow as it goes."""
        most = int(observed(self.scores).max(initial=0))
        return np.sort(self.scores, axis=2)[:, :, : max(1, most)]

    def missing(self, model: int, tasks: Ints) -> int:
        """Rollouts that should have a score there and have none."""
        return int(np.maximum(0, self.k - observed(self.scores[model, tasks])).sum())


def observed(scores: Floats) -> Ints:
    """How many of the last axis are there."""
    return np.asarray((~np.isnan(scores)).sum(axis=-1))


def panel(runs: Iterable[Run], categories: Mapping[str, str], planned: int | None = None) -> Panel:
    """The runs as arrays, sorted by name. `categories` maps task to family; `planned` is rollouts per (model, task).

    ValueError: no runs; a run twice; an infinite score; a task without a category; fewer planned than there are.
    """
    cells: dict[tuple[str, str, str], float] = {}
    for run in runs:
        key = (run.model, run.task, run.seed)
        if key in cells:
            raise ValueError(f"model {run.model}, task {run.task}, seed {run.seed} is there twice; keep one of the two")
        cells[key] = _number(run)
    if not cells:
        raise ValueError("no runs: an interval needs at least one")
    models, tasks, seeds = (tuple(sorted({key[i] for key in cells})) for i in range(3))
    if lost := [task for task in tasks if task not in categories]:
        raise ValueError(f"task {lost[0]!r} has no category; add it to `categories`")
    scores = np.full((len(models), len(tasks), len(seeds)), np.nan)
    places = [{name: at for at, name in enumerate(names)} for names in (models, tasks, seeds)]
    present = np.zeros(scores.shape, dtype=bool)
    for key, value in cells.items():
        where = places[0][key[0]], places[1][key[1]], places[2][key[2]]
        scores[where], present[where] = value, True
    most = int(present.sum(axis=2).max())
    if planned is not None and planned < most:
        raise ValueError(f"{planned} rollouts planned, but a (model, task) has {most}; give the larger number")
    return Panel(models, tasks, tuple(categories[task] for task in tasks), seeds, scores, planned or most)


def _number(run: Run) -> float:
    if type(run.score) is float and math.isfinite(run.score):
        return run.score  # by way of its exact value it would be the same
    try:
        value = exact(run.score)
    except (TypeError, ValueError) as error:
        raise ValueError(f"model {run.model}, task {run.task}, seed {run.seed}: {error}") from None
    return np.nan if value is None else float(value)
