"""How large a difference a study can find, and what would halve that."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from loopscope.measures.uncertainty.cells import AVG, Estimator, cell_values, seed_variance
from loopscope.measures.uncertainty.clustered import strata
from loopscope.measures.uncertainty.distributions import t_cdf, t_quantile
from loopscope.measures.uncertainty.interval import Reading, check_level
from loopscope.measures.uncertainty.panel import Floats, Ints, Panel, observed
from loopscope.measures.uncertainty.precision import NOTHING, factors, known_by_seeds, known_by_tasks

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
    within: float | None
    """Variance over seeds of the difference of one run each: the sum of the models' seed variances. None: one seed does
    not tell it apart, and `between` holds both."""
    reading: Reading = "random tasks"
    known: float | None = None
    """Degrees of freedom that the variance of the whole is estimated with; None: it is assumed, or nothing tells."""

    def __post_init__(self) -> None:
        within = 0.0 if self.within is None else self.within
        if min(self.tasks, self.seeds, self.families) < 1 or not (self.between >= 0 and within >= 0):
            raise ValueError("a plan needs at least one task, seed and family, and variances from 0 on")
        if self.within is None and (self.seeds > 1 or self.reading == "fixed tasks"):
            raise ValueError("without a seed variance there is a plan only for random tasks with one seed")

    @property
    def df(self) -> int:
        """Degrees of freedom of the standard error: tasks less families, or runs less cells."""
        if self.reading == "random tasks":
            return self.tasks - self.families
        return 2 * self.tasks * (self.seeds - 1)

    @property
    def se(self) -> float:
        """sqrt((between + within / seeds) / tasks)."""
        return math.sqrt((self.between + (self.within or 0.0) / self.seeds) / self.tasks)

    @property
    def least(self) -> float:
        """The smallest p that the test of a difference can give, however large that is, drawn often enough."""
        if self.reading == "random tasks":
            return 2.0 ** (1 - self.tasks) if self.tasks < 1000 else 0.0
        ways = self.tasks * (math.lgamma(2 * self.seeds + 1) - 2 * math.lgamma(self.seeds + 1))
        return min(1.0, 2 * math.exp(-ways))


@dataclass(frozen=True)
class Change:
    """A larger study."""

    tasks: int
    seeds: int
    runs_added: int
    """Of both models together."""


@dataclass(frozen=True)
class Power:
    """What a plan can find."""

    plan: Plan
    detectable: float | None
    """The smallest true difference found with probability `power` at level `alpha`; None where none is ever found
    (`obstacle`). 0: nothing differs in what the variances were taken from, which promises nothing."""
    alpha: float
    power: float
    more_seeds: Change | None
    """None: no number of seeds halves it, as the tasks themselves differ too much, or it is not known."""
    more_tasks: Change | None
    """With families in the same proportions; None for fixed tasks, which are not to be changed."""


@dataclass(frozen=True)
class Finding:
    """What it takes to find a difference of a given size."""

    effect: float
    chance: float | None
    """That the plan as it is finds it; None where it finds nothing."""
    chance_range: tuple[float, float] | None
    """With the error at its ends (`scale_range`); None where it has none, and where `chance` is None."""
    more_seeds: Change | None
    """None: no number of seeds, or none needed."""
    more_tasks: Change | None


def plan_of(
    panel: Panel,
    first: str,
    second: str,
    category: str | None = None,
    reading: Reading = "random tasks",
    estimator: Estimator = AVG,
) -> Plan:
    """The variances of a comparison, from the study itself, by the method of moments.

    between = max(0, variance of the tasks' differences within families - mean seed variance of such a difference).
    best@k: its seed variance is taken to fall with the number of seeds as that of a mean does. It falls at least so
    fast (Hoeffding 1948, theorem 5.2): more seeds are never promised too much.
    ValueError where one task (random) or one seed (fixed) says nothing of the spread, and where no task has both.
    """
    a, b, at = panel.of(first), panel.of(second), panel.within(category)
    packed = panel.packed()[:, at]
    apart = cell_values(packed[a], estimator) - cell_values(packed[b], estimator)
    there = ~np.isnan(apart)
    n = int(there.sum())
    if n == 0:
        raise ValueError(f"no task has a score of both for {estimator}")
    if n == 1 and reading == "random tasks":
        raise ValueError("one task: nothing says how tasks differ")
    one, other = (_run_variances(packed[row][there], estimator) for row in (a, b))
    labels = strata([panel.categories[i] for i in at[there]])
    families = int(labels.max()) + 1
    if one is None or other is None:
        if reading == "fixed tasks":
            raise ValueError("one seed per task: nothing says how seeds differ")
        if panel.k > 1:
            raise ValueError("no task has two scores of each: nothing says how seeds differ")
        return Plan(n, 1, families, _spread(apart[there], labels), None, reading, known_by_tasks(apart[there], labels))
    within = float((one + other).mean())
    if reading == "fixed tasks":
        counts = observed(packed[a][there]) + observed(packed[b][there]) - 2
        return Plan(n, panel.k, families, 0.0, within, reading, known_by_seeds(one + other, counts))
    of_mean = one / observed(packed[a][there]) + other / observed(packed[b][there])
    left = 1 - 1 / np.bincount(labels)[labels]  # of a task's variance, where its family's mean is taken off
    between = max(0.0, _spread(apart[there], labels) - float((left * of_mean).sum()) / (n - families))
    return Plan(n, panel.k, families, between, within, reading, known_by_tasks(apart[there], labels))


def scale_range(plan: Plan, level: float = 0.95) -> tuple[float, float] | None:
    """By which factors the error of a plan may be smaller and larger than told; None where nothing says it."""
    check_level(level)
    return None if plan.known is None else factors(plan.known, level)


def pooled(plans: Sequence[Plan]) -> Plan:
    """The middle pair of several of one study: mean variances, and the smallest of the designs.

    The pairs share agents, so their mean is taken to be no better known than the least known of them.

    ValueError of none, or of plans with different readings.
    """
    if not plans or len({plan.reading for plan in plans}) > 1:
        raise ValueError("pooling needs plans of one reading")
    told = [plan for plan in plans if plan.within is not None] or list(plans)
    smallest = min(told, key=lambda plan: (plan.tasks, -plan.families, plan.seeds))
    within = [plan.within for plan in told if plan.within is not None]
    between = sum(plan.between for plan in told) / len(told)
    pooled_within = sum(within) / len(within) if within else None
    known = [plan.known for plan in told if plan.known is not None]
    return replace(smallest, between=between, within=pooled_within, known=min(known, default=None))


def power_of(plan: Plan, alpha: float = 0.05, power: float = 0.8) -> Power:
    """The smallest detectable difference, and how many seeds or tasks would halve it.

    (t_{1-alpha/2, df} + t_{power, df}) se: the usual approximation to the noncentral t. ValueError for alpha or power
    outside (0, 1).
    """
    now = detectable(plan, alpha, power)
    if not now:
        return Power(plan, now, alpha, power, None, None)
    return Power(plan, now, alpha, power, *_changes(plan, now / 2, alpha, power))


def to_find(plan: Plan, effect: float, alpha: float = 0.05, power: float = 0.8) -> Finding:
    """How likely the plan finds a true difference, and how many seeds or tasks find it with probability `power`.

    ValueError for an effect that is no finite number above 0.
    """
    if not 0 < effect < np.inf:
        raise ValueError(f"an effect is a finite number above 0, not {effect}")
    chance = ends = None
    if (found := detectable(plan, alpha, power)) is not None:
        reach = t_quantile(1 - alpha / 2, plan.df)
        chance = t_cdf(effect / plan.se - reach, plan.df) if plan.se else 1.0
        if plan.se and (factors := scale_range(plan)):
            low, high = (t_cdf(effect / (factor * plan.se) - reach, plan.df) for factor in reversed(factors))
            ends = low, high
        if found <= effect:
            return Finding(effect, chance, ends, None, None)
    return Finding(effect, chance, ends, *_changes(plan, effect, alpha, power))


def detectable(plan: Plan, alpha: float, power: float) -> float | None:
    """The smallest detectable difference of a plan; None where it finds none at all."""
    check_level(alpha)
    check_level(power)
    if obstacle(plan, alpha) is not None:
        return None
    reach = t_quantile(1 - alpha / 2, plan.df) + t_quantile(power, plan.df)
    return max(0.0, reach * plan.se)


def obstacle(plan: Plan, alpha: float) -> str | None:
    """Why no difference, however large, is found; None where one is."""
    if plan.df < 1:
        what = "one task: nothing says how tasks differ"
        return what if plan.reading == "random tasks" else "one seed per task: two are the fewest"
    if plan.least > alpha:
        tasks = f"{plan.tasks} {'task' if plan.tasks == 1 else 'tasks'}"
        of, fewest = f"{tasks} with {plan.seeds} seeds", "more seeds can"
        if plan.reading == "random tasks":
            of, fewest = tasks, f"{1 + math.ceil(-math.log2(alpha))} tasks are the fewest"
        return f"no result of {of} can have a p below {plan.least:.2g}, however large the difference; {fewest}"
    return None


def _run_variances(scores: Floats, estimator: Estimator) -> Floats | None:
    """Per task the seed variance of one run's share in its number; the mean of the others where it has one run."""
    found = seed_variance(scores, estimator) * observed(scores)
    known = found[~np.isnan(found)]
    if not known.size:
        return None
    found = np.where(np.isnan(found), known.mean(), found)
    return np.where(found < NOTHING, 0.0, found)


def _spread(values: Floats, labels: Ints) -> float:
    """Variance of the tasks' numbers within families."""
    centres = np.bincount(labels, values) / np.bincount(labels)
    found = float(((values - centres[labels]) ** 2).sum()) / (len(values) - int(labels.max()) - 1)
    return 0.0 if found < NOTHING else found


def _changes(plan: Plan, wanted: float, alpha: float, power: float) -> tuple[Change | None, Change | None]:
    """The fewest seeds, and the fewest tasks, that find a difference of this size."""

    def change(vary: Callable[[int], Plan], start: int, most: int) -> Change | None:
        number = _smallest(lambda n: (d := detectable(vary(n), alpha, power)) is not None and d <= wanted, start, most)
        if number is None:
            return None
        found = vary(number)
        return Change(found.tasks, found.seeds, 2 * (found.tasks * found.seeds - plan.tasks * plan.seeds))

    seeds = None
    if plan.within is not None:
        seeds = change(lambda n: replace(plan, seeds=n), plan.seeds, MOST_SEEDS)
    fixed = plan.reading == "fixed tasks"
    tasks = None if fixed else change(lambda n: replace(plan, tasks=n), plan.tasks, MOST_TASKS)
    return seeds, tasks


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
