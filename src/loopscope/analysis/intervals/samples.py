"""One number of every rollout of a study, as arrays: what intervals and comparisons of it are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from loopscope.analysis.finals import Categories, FinalScore
from loopscope.analysis.quantities import DIAGNOSTICS, PROCESS, RESOURCES, Amount
from loopscope.analysis.tabled import TabledRun
from loopscope.measures.uncertainty import AVG, UNIT, Bounds, Estimator, Panel, Run, panel
from loopscope.measures.uncertainty.cells import cell_values, seed_variance
from loopscope.measures.uncertainty.levels import TaskNumbers
from loopscope.measures.uncertainty.panel import Bools, Floats, Ints, observed
from loopscope.models.tables import OVERALL

AVG_AT_K, BEST_AT_K = "avg_at_k", "best_at_k"
OUTCOMES = (AVG_AT_K, BEST_AT_K)
ROUNDING = 1e-12
"""Below the step of any score or share."""

_UNBOUNDED = frozenset(
    {
        *RESOURCES,
        *("builds_per_round", "builds_per_round_by_state", "rounds", "jumps", "suspicious"),
        *("plan_calls", "failed_calls", "failed_then_changed", "compactions", "resumes", "subagents", "background"),
    }
)
"""Counts and amounts: from 0 on, without an end."""
_SIGNED = frozenset({"claim_gap", "left_behind"})
"""Differences of two scores."""


def bounds_of(measure: str) -> Bounds:
    """What a measure can be at all; None for counts and amounts."""
    if measure in _UNBOUNDED:
        return None
    return (-1.0, 1.0) if measure in _SIGNED else UNIT


@dataclass(frozen=True, eq=False)
class Sample:
    """The rollouts with one number of each."""

    panel: Panel
    """Rollouts of an (agent, task) by their order, not their seed: a run that is there twice counts twice."""
    rollouts: Bools
    """(agent, task, rollout): planned or done, with a number or without."""

    @cached_property
    def averages(self) -> Cells:
        """The mean of each cell."""
        return _averages(self.panel.packed())

    @cached_property
    def bests(self) -> Cells:
        """The best of the rollouts that a cell has, as in `outcome`: of fewer than k where some are missing."""
        return _bests(self.panel.packed())

    def tasks_of(self, agent: int, category: str) -> Ints:
        """Where the tasks of a category stand that the agent has rollouts of."""
        return np.flatnonzero(self.rollouts[agent].any(axis=1) & self._within(category))

    def tasks_in(self, category: str) -> bytes:
        """Which tasks are of a category; the same for two categories of the same tasks."""
        return self._within(category).tobytes()

    def k(self, category: str) -> int:
        """The most rollouts that any (agent, task) of the category has."""
        return int(self.rollouts[:, self._within(category)].sum(axis=2).max(initial=0))

    def open(self, agent: int, category: str, ends: Ends) -> bool:
        """Whether some number of the agent is known only within a range."""
        at = self._within(category)
        low, high = (end.panel.scores[agent, at] for end in ends)
        return bool((np.nan_to_num(high - low) > ROUNDING).any())

    def unobserved(self, agent: int, category: str) -> int:
        """Rollouts of an agent without a number."""
        lacking = self.rollouts[agent] & np.isnan(self.panel.scores[agent])
        return int(lacking[self._within(category)].sum())

    def filled(self, agent: int, value: float) -> Floats:
        """(task, rollout): the agent's numbers, with this one where a rollout has none."""
        scores = self.panel.scores[agent]
        return np.where(self.rollouts[agent] & np.isnan(scores), value, scores)

    @cached_property
    def at_worst(self) -> Sample:
        """With 0 where a rollout has no number."""
        return self._completed(0.0)

    @cached_property
    def at_best(self) -> Sample:
        """With 1 there."""
        return self._completed(1.0)

    def _completed(self, value: float) -> Sample:
        scores = np.stack([self.filled(agent, value) for agent in range(len(self.panel.models))])
        return replace(self, panel=replace(self.panel, scores=scores))

    def part(self, category: str, agents: Sequence[int]) -> Panel:
        """The panel of a category and some agents; what is missing there is for the caller to count."""
        at = np.flatnonzero(self._within(category))
        whole = self.panel
        return replace(
            whole,
            models=tuple(whole.models[i] for i in agents),
            tasks=tuple(whole.tasks[i] for i in at),
            categories=tuple(whole.categories[i] for i in at),
            scores=whole.scores[np.ix_(agents, at)],
            k=0,
        )

    def _within(self, category: str) -> Bools:
        return self._members.get(category, np.zeros(len(self.panel.tasks), dtype=bool))

    @cached_property
    def _members(self) -> dict[str, Bools]:
        """Category -> which tasks are of it."""
        names = np.array(self.panel.categories)
        return {name: names == name for name in set(self.panel.categories)} | {OVERALL: np.ones(len(names), dtype=bool)}


type Ends = tuple[Sample, Sample]
"""The sample with every number at the least, and at the most, that it can be."""


def ends_of(samples: Mapping[str, Sample], measure: str) -> Ends | None:
    """What is missing at its worst and at its best, the other numbers as they are; None where nothing is known of it.

    Final scores lie between 0 and 1; a run's C2 between its `c2_low` and its `c2_high`, whatever was not seen.
    """
    sample = samples.get(measure)
    if sample is None:
        return None
    if measure in OUTCOMES:
        return sample.at_worst, sample.at_best
    low, high = samples.get(f"{measure}_low"), samples.get(f"{measure}_high")
    return None if low is None or high is None else (low, high)


@dataclass(frozen=True, eq=False)
class Cells:
    """One number per (agent, task), NaN where there is none."""

    values: Floats
    variances: Floats
    """Over seeds, of each number."""
    count: Ints
    """Rollouts behind each."""


def task_numbers(sample: Sample, agent: int, category: str, *, best: bool, k: int, missing: int) -> TaskNumbers:
    """What an agent's number of each task is, and how far other seeds would move it."""
    at = sample.tasks_of(agent, category)
    cells = sample.bests if best else sample.averages
    values, variances, count = cells.values[agent, at], cells.variances[agent, at], cells.count[agent, at]
    return TaskNumbers(values, variances, count - 1, count, tuple(sample.panel.categories[i] for i in at), k, missing)


def _averages(scores: Floats) -> Cells:
    return Cells(cell_values(scores, AVG), seed_variance(scores, AVG), observed(scores))


def _bests(scores: Floats) -> Cells:
    count = observed(scores)
    values, variances = np.full(count.shape, np.nan), np.full(count.shape, np.nan)
    for n in np.unique(count[count > 0]):
        at, estimator = count == n, Estimator(int(n))
        values[at], variances[at] = cell_values(scores[at], estimator), seed_variance(scores[at], estimator)
    return Cells(values, variances, count)


def score_sample(finals: Sequence[FinalScore], categories: Categories) -> Sample | None:
    """The final scores; None without a rollout."""
    return sample_of(((final.agent, final.task, final.value) for final in finals), categories)


def run_sample(runs: Sequence[TabledRun], measure: str, categories: Categories) -> Sample | None:
    """A measure of process or diagnostics, or a resource; None without a run."""
    return sample_of(((run.run.agent, run.run.task, run.quantities[measure]) for run in runs), categories)


def sample_of(rows: Iterable[tuple[str, str, Amount]], categories: Categories) -> Sample | None:
    """From (agent, task, number) of every rollout; None without one."""
    seen: Counter[tuple[str, str]] = Counter()
    runs = []
    for agent, task, value in rows:
        seen[agent, task] += 1
        runs.append(Run(agent, task, f"{seen[agent, task]:06}", value))
    if not runs:
        return None
    made = panel(runs, categories)
    there = np.array([[seen[agent, task] for task in made.tasks] for agent in made.models])
    return Sample(made, np.arange(len(made.seeds)) < there[:, :, None])


MEASURES = (*PROCESS, *DIAGNOSTICS, *RESOURCES)
"""Every measure of a run that has a mean in some table."""
