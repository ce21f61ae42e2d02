"""Small made-up studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from loopscope.measures.exact import Score
from loopscope.measures.uncertainty import Panel, Run, panel

FAMILIES = {"a": 7, "b": 15, "c": 10, "d": 4}


def study(
    scores: Mapping[str, Mapping[str, Sequence[Score]]],
    categories: Mapping[str, str] | None = None,
    planned: int | None = None,
) -> Panel:
    """Model -> task -> scores of seeds 0, 1, ...; one category unless told."""
    runs = [
        Run(model, task, str(seed), score)
        for model, tasks in scores.items()
        for task, values in tasks.items()
        for seed, score in enumerate(values)
    ]
    return panel(runs, categories or {run.task: "all" for run in runs}, planned)


def paper_sized(models: int = 2, seed: int = 0, seeds: int = 3, lead: float = 0.0) -> Panel:
    """36 tasks in the paper's families, scores between 0 and 1 with both among them; each model leads the one before."""
    rng = np.random.default_rng(seed)
    categories = tuple(name for name, size in FAMILIES.items() for _ in range(size))
    shape = (models, len(categories), seeds)
    middle = rng.normal(0.6, 0.3, (1, len(categories), 1)) + lead * np.arange(models)[:, None, None]
    scores: NDArray[np.float64] = np.clip(middle + rng.normal(0, 0.15, shape), 0, 1)
    names = [tuple(f"{letter}{i:02d}" for i in range(n)) for letter, n in zip("mts", shape, strict=True)]
    return Panel(names[0], names[1], categories, names[2], scores, seeds)
