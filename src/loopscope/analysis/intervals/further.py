"""Intervals of averages over common or calibrated tasks, of a category's mean over agents, and of one task's number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from loopscope.analysis.commits import ScoreSource
from loopscope.analysis.finals import Categories, FinalScore
from loopscope.analysis.intervals.figures import Figure
from loopscope.analysis.intervals.levels import interval_row, interval_rows, intervals_of, missing_ends
from loopscope.analysis.intervals.places import LEVEL, Ends
from loopscope.analysis.intervals.samples import AVG_AT_K, BEST_AT_K, Sample, score_sample
from loopscope.measures.uncertainty.clustered import filled, seed_moments
from loopscope.measures.uncertainty.interval import score_interval
from loopscope.measures.uncertainty.levels import TaskNumbers
from loopscope.measures.uncertainty.panel import Bools, Floats
from loopscope.models.interval_rows import COMMON_AVG, COMMON_BEST, PAIRED_AVG, PAIRED_BEST, IntervalRow
from loopscope.models.tables import OVERALL

COMMON = {COMMON_AVG: AVG_AT_K, COMMON_BEST: BEST_AT_K}
PAIRED = {PAIRED_AVG: AVG_AT_K, PAIRED_BEST: BEST_AT_K}


def common_rows(
    figures: Sequence[Figure], finals: Sequence[FinalScore], categories: Categories, seed: int
) -> Iterator[IntervalRow]:
    """Rows of avg@k and best@k over the tasks that all scored agents of a category share.

    Args:
        figures: those of `COMMON`; what is counted beside them is counted here, on the common tasks alone.
        finals: all final scores.
        categories: of every task.
        seed: of the draws.
    """
    return _rows_of_part(figures, COMMON, _on_common_tasks, finals, categories, seed)


def paired_rows(
    figures: Sequence[Figure], finals: Sequence[FinalScore], categories: Categories, seed: int
) -> Iterator[IntervalRow]:
    """Rows of avg@k and best@k of the paired rewards, over the calibrated tasks; a rollout without one is missing.

    Args:
        figures: those of `PAIRED`; what is counted beside them is counted here, on the calibrated tasks alone.
        finals: all final scores.
        categories: of every task.
        seed: of the draws.
    """
    return _rows_of_part(figures, PAIRED, paired_finals, finals, categories, seed)


def _rows_of_part(
    figures: Sequence[Figure],
    measures: Mapping[str, str],
    part_of: Callable[[Sequence[FinalScore]], list[FinalScore]],
    finals: Sequence[FinalScore],
    categories: Categories,
    seed: int,
) -> Iterator[IntervalRow]:
    names = {measure: name for name, measure in measures.items()}
    for category in sorted({figure.category for figure in figures}):
        part = part_of([f for f in finals if category in (OVERALL, categories[f.task])])
        sample = score_sample(part, categories)
        if sample is None:
            continue
        own = [_counted(figure, measures, part) for figure in figures if figure.category == category]
        made = interval_rows(own, dict.fromkeys(names, sample), missing_ends(part, categories), seed)
        yield from (replace(row, measure=names[row.measure]) for row in made)


def paired_finals(finals: Sequence[FinalScore]) -> list[FinalScore]:
    """The rollouts of the calibrated tasks with their paired rewards for scores; None where a rollout has none."""
    calibrated = {final.task for final in finals if final.paired is not None}
    return [
        replace(final, value=final.paired, source=final.source if final.paired is not None else None)
        for final in finals
        if final.task in calibrated
    ]


def _on_common_tasks(finals: Sequence[FinalScore]) -> list[FinalScore]:
    scored: dict[str, set[str]] = {}
    for final in finals:
        if final.value is not None:
            scored.setdefault(final.agent, set()).add(final.task)
    common = set.intersection(*scored.values()) if scored else set[str]()
    return [final for final in finals if final.agent in scored and final.task in common]


def _counted(figure: Figure, measures: Mapping[str, str], finals: Sequence[FinalScore]) -> Figure:
    own = [final for final in finals if final.agent == figure.agent]
    return replace(
        figure,
        measure=measures[figure.measure],
        k=max(Counter(final.task for final in own).values(), default=0),
        n_missing=sum(final.value is None for final in own),
        n_reconstructed=sum(final.source == ScoreSource.RECONSTRUCTED for final in own),
        n_reported=sum(final.source == ScoreSource.REPORTED for final in own),
    )


def everyone_rows(figures: Sequence[Figure], samples: Mapping[str, Sample], seed: int) -> Iterator[IntervalRow]:
    """Rows of a measure in a category over all agents, each of them alike."""
    for figure in figures:
        if (sample := samples.get(figure.measure)) is not None:
            for found in intervals_of(figure, over_agents(sample, figure.category, figure.k), seed):
                yield interval_row(figure, found)


def over_agents(sample: Sample, category: str, k: int) -> TaskNumbers:
    """What each task does to the mean over agents of each agent's mean over its own tasks.

    A task's number is the mean plus n times the sum over agents of (its value - the agent's mean) / (agents x the
    agent's tasks): where all agents have all tasks, the mean over agents of its values. Else it is the linear part of
    the mean (Cochran 1977, 6.3), about which the tasks differ. The agents are as they are; none stands for others.
    """
    at = np.flatnonzero(np.array(sample.panel.categories) == category)
    known = ~np.isnan(sample.averages.values[:, at])
    cells = np.ix_(known.any(axis=1), at[known.any(axis=0)])
    values, variances = sample.averages.values[cells], sample.averages.variances[cells]
    count, there = sample.averages.count[cells], ~np.isnan(values)
    n = there.shape[1]
    weight = np.where(there, n / np.maximum(there.sum(axis=1), 1)[:, None] / max(1, len(there)), 0.0)
    zeroed = np.where(there, values, 0.0)
    means = zeroed.sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    numbers = np.asarray((weight * (zeroed - means[:, None])).sum(axis=0) + (means.mean() if means.size else np.nan))
    return TaskNumbers(
        numbers,
        _summed(weight, variances, there),
        np.where(there, np.maximum(count - 1, 0), 0).sum(axis=0),
        count.sum(axis=0),
        (category,) * n,
        k,
        0,
    )


def _summed(weight: Floats, variances: Floats, there: Bools) -> Floats:
    """Seed variance of each task's number; an agent's run without another of its task borrows the mean of the others.

    NaN where no agent has two runs of the task.
    """
    known = np.where(there, variances, np.nan)
    spread = filled(known.ravel()).reshape(known.shape)
    total = (weight**2 * np.where(there, spread, 0.0)).sum(axis=0)
    return np.asarray(np.where((~np.isnan(known)).any(axis=0), total, np.nan))


def task_ends(sample: Sample | None) -> dict[tuple[str, str, str], Ends]:
    """(agent, task, measure) -> ends of avg@k and best@k of one task with other seeds; left out with one seed."""
    if sample is None:
        return {}
    found: dict[tuple[str, str, str], Ends] = {}
    for measure, cells in ((AVG_AT_K, sample.averages), (BEST_AT_K, sample.bests)):
        for agent, task in np.argwhere(cells.count > 1):
            value, variance = cells.values[agent, task], cells.variances[agent, task]
            runs = cells.count[agent, task]
            moments = seed_moments(value[None], variance[None], runs[None] - 1, int(runs))
            if moments is not None and 0 <= value <= 1:
                name = sample.panel.models[agent], sample.panel.tasks[task], measure
                found[name] = score_interval(moments, LEVEL, (0.0, 1.0))
    return found
