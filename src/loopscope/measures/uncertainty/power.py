"""How large a difference a study can find, and what would halve that."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from loopscope.measures.uncertainty.cells import AVG, cell_values, seed_variance
from loopscope.measures.uncertainty.clustered import strata
from loopscope.measures.uncertainty.distributions import t_quantile
from loopscope.measures.uncertainty.interval import Reading, check_level
from loopscope.measures.uncertainty.panel import Panel, observed

MOST_SEEDS = 10_000
MOST_TASKS = 1_000_000


@dataclass(frozen=True)
class Plan:
    """A comparison of two models on the same tasks."""

    tasks: int
    seeds: int
    """Of each model on each task."""
    families: int
    between: float
    """Variance between tasks of the true difference, within families; 0 for fixed tasks."""
    within: float
    """Variance over seeds of the difference of one run each: the sum of the models' seed variances."""
    reading: Reading = "random tasks"

    def __post_init__(self) -> None:
        if min(self.tasks, self.seeds, self.families) < 1 or not (self.between >= 0 and self.within >= 0):
            raise ValueError("a plan needs at least one task, seed and family, and variances from 0 on")

    @property
    def df(self) -> int:
        """Degrees of freedom of the standard error: tasks less families, or runs less cells."""
        if self.reading == "random tasks":
            return self.tasks - self.families
        return 2 * self.tasks * (self.seeds - 1)

    @property
    def se(self) -> float:
        """sqrt((between + within / seeds) / tasks)."""
        return math.sqrt((self.between + self.within / self.seeds) / self.tasks)


@dataclass(frozen=True)
class Change:
    """One way to halve the detectable difference."""

    tasks: int
    seeds: int
    runs_added: int
    price: float | None
    """Of the added runs, in the unit of the costs; None where no cost is known."""


@dataclass(frozen=True)
class Power:
    """What a plan can find."""

    plan: Plan
    detectable: float | None
    """The smallest true difference found with probability `power` at level `alpha`; None where the plan has no degrees
    of freedom (a single task or seed)."""
    alpha: float
    power: float
    more_seeds: Change | None
    """None: no number of seeds halves it, as the tasks themselves differ too much."""
    more_tasks: Change | None
    """With families in the same proportions; None for fixed tasks, which are not to be changed."""


def plan_of(
    panel: Panel, first: str, second: str, category: str | None = None, reading: Reading = "random tasks"
) -> Plan:
    """The variances of a comparison, from the study itself, by the method of moments.

    between = max(0, variance of the tasks' differences within families - mean seed variance of such a difference).
    ValueError where no task has two seeds of each model, or fewer than two tasks have both models.
    """
    a, b, at = panel.of(first), panel.of(second), panel.within(category)
    packed = panel.packed()[:, at]
    apart = cell_values(packed[a], AVG) - cell_values(packed[b], AVG)
    of_mean = seed_variance(packed[a], AVG) + seed_variance(packed[b], AVG)
    of_run = np.zeros(len(at))
    for row in (a, b):
        of_run += seed_variance(packed[row], AVG) * observed(packed[row])
    there, known = ~np.isnan(apart), ~np.isnan(of_mean)
    if there.sum() < 2 or not known.any():
        raise ValueError(f"{first} and {second}: power needs two tasks with both, and one with two seeds of each")
    labels = strata([panel.categories[i] for i in at[there]])
    families = int(labels.max()) + 1
    values = apart[there]
    centres = np.bincount(labels, values) / np.bincount(labels)
    raw = float(((values - centres[labels]) ** 2).sum()) / (len(values) - families)
    between = max(0.0, raw - float(of_mean[known].mean())) if reading == "random tasks" else 0.0
    return Plan(int(there.sum()), panel.k, families, between, float(of_run[known].mean()), reading)


def power_of(plan: Plan, cost_per_run: float | None = None, alpha: float = 0.05, power: float = 0.8) -> Power:
    """The smallest detectable difference, and how many seeds or tasks would halve it, at which price.

    (t_{1-alpha/2, df} + t_{power, df}) se: the usual approximation to the noncentral t. `cost_per_run` is the mean over
    both models' runs. ValueError for alpha or power outside (0, 1), or a cost that is no finite number from 0 on.
    """
    check_level(alpha)
    check_level(power)
    if cost_per_run is not None and not 0 <= cost_per_run < np.inf:
        raise ValueError(f"a cost per run is a finite number from 0 on, not {cost_per_run}")
    now = detectable(plan, alpha, power)
    if now is None or now == 0:
        return Power(plan, now, alpha, power, None, None)

    def change(vary: Callable[[int], Plan], start: int, most: int) -> Change | None:
        number = _smallest(lambda n: (d := detectable(vary(n), alpha, power)) is not None and d <= now / 2, start, most)
        if number is None:
            return None
        found = vary(number)
        added = 2 * (found.tasks * found.seeds - plan.tasks * plan.seeds)
        return Change(found.tasks, found.seeds, added, None if cost_per_run is None else added * cost_per_run)

    seeds = change(lambda n: replace(plan, seeds=n), plan.seeds, MOST_SEEDS)
    fixed = plan.reading == "fixed tasks"
    tasks = None if fixed else change(lambda n: replace(plan, tasks=n), plan.tasks, MOST_TASKS)
    return Power(plan, now, alpha, power, seeds, tasks)


def detectable(plan: Plan, alpha: float, power: float) -> float | None:
    """The smallest detectable difference of a plan; None without degrees of freedom."""
    if plan.df < 1:
        return None
    reach = t_quantile(1 - alpha / 2, plan.df) + t_quantile(power, plan.df)
    return max(0.0, reach * plan.se)


def _smallest(enough: Callable[[int], bool], start: int, most: int) -> int | None:
    """The smallest number above `start` that is enough; more is never less. None where `most` is not."""
    low, high = start, start
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
