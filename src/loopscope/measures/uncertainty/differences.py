"""Two models on the same tasks: how far apart, how sure, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from loopscope.measures.uncertainty.cells import AVG, Estimator, cell_values, seed_variance
from loopscope.measures.uncertainty.interval import SATURATED, Interval
from loopscope.measures.uncertainty.levels import DEFAULT, Settings, TaskNumbers, mean_of, noted
from loopscope.measures.uncertainty.multiplicity import Correction, adjusted
from loopscope.measures.uncertainty.panel import Floats, Panel, observed
from loopscope.measures.uncertainty.permutation import (
    Signs,
    TestResult,
    label_shuffles,
    pair_flips,
    sign_flips,
    sign_test,
)

type Pairing = Literal["task", "seed"]
"""Task: the models share tasks, and their seeds are their own. Seed: runs of one name are a pair, as two arms of one
branch are; a run whose partner has no score is left out."""

NO_EVIDENCE = "no evidence of a difference"


@dataclass(frozen=True)
class Effect:
    """How large, without units."""

    d_z: float | None
    """Mean over standard deviation of the tasks' differences, times Hedges' correction 1 - 3/(4(n-1) - 1); None where
    nothing differs or there are fewer than three tasks."""
    superiority: float
    """Share of tasks where the first is better, ties half."""


@dataclass(frozen=True)
class Difference:
    """First minus second."""

    first: str
    second: str
    interval: Interval
    test: TestResult | None
    """Sign flips (random tasks); shuffled labels or swapped pairs (fixed tasks). None without a task that both have."""
    signs: Signs
    effect: Effect | None
    p_adjusted: float | None
    """For the family of comparisons that it was made in; alone it is the test's own."""
    correction: Correction
    verdict: str


def difference(
    panel: Panel,
    first: str,
    second: str,
    estimator: Estimator = AVG,
    category: str | None = None,
    settings: Settings = DEFAULT,
    *,
    pairing: Pairing = "task",
    tie: float = 0.0,
) -> Difference:
    """Compare two models over the tasks that both have a number on; `tie` is how near counts as a tie of a task.

    The bounds of the settings are those of the scores. ValueError for a model or category that is not there.
    """
    numbers, one, other = paired(panel, first, second, estimator, category, pairing)
    bounds = settings.bounds
    spread = None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])
    interval = _tied(mean_of(numbers, replace(settings, bounds=spread)), numbers.values)
    fewer = np.minimum(observed(one), observed(other))
    if estimator.best is not None and (short := int((fewer < estimator.best).sum())):
        lack = f"{short} of {len(fewer)} tasks have fewer than {estimator.best} scores of one and no {estimator}"
        interval = noted(interval, lack)
    if settings.reading == "random tasks":
        test = sign_flips(numbers.values, settings.draws, settings.seed)
    elif pairing == "task":
        test = label_shuffles(one, other, settings.draws, settings.seed, estimator)
    else:
        test = pair_flips(one, other, settings.draws, settings.seed, estimator)
    found = Difference(
        first,
        second,
        interval,
        test,
        sign_test(numbers.values, tie),
        _effect(numbers.values, tie),
        test.p if test else None,
        "none",
        "",
    )
    return replace(found, verdict=verdict(found, 1 - settings.level))


def differences(
    panel: Panel,
    pairs: Sequence[tuple[str, str]] | None = None,
    estimator: Estimator = AVG,
    category: str | None = None,
    settings: Settings = DEFAULT,
    *,
    pairing: Pairing = "task",
    tie: float = 0.0,
    correction: Correction = "holm",
) -> tuple[Difference, ...]:
    """A family of comparisons, all pairs of models unless named, with p values and verdicts for the family."""
    chosen = list(combinations(panel.models, 2)) if pairs is None else pairs
    found = [difference(panel, a, b, estimator, category, settings, pairing=pairing, tie=tie) for a, b in chosen]
    ps = adjusted([d.test.p if d.test else None for d in found], correction)
    family = [replace(d, p_adjusted=p, correction=correction) for d, p in zip(found, ps, strict=True)]
    return tuple(replace(d, verdict=verdict(d, 1 - settings.level)) for d in family)


def verdict(found: Difference, alpha: float) -> str:
    """What may be said. A difference is one only if both the adjusted p and the interval say so.

    Where no difference could have been found with so few tasks, that is said instead of passing for a finding.
    """
    low, high, p = found.interval.low, found.interval.high, found.p_adjusted
    if found.interval.estimate is None:
        return "nothing to compare: no task has a number of both"
    if low is None or high is None:
        return f"{NO_EVIDENCE}: {found.interval.guard}"
    if found.test is not None and found.test.least > alpha:
        return f"{NO_EVIDENCE}, and none was possible: with so few tasks p is at least {found.test.least:.2g}"
    if low <= 0 <= high or (p is not None and p > alpha):
        return NO_EVIDENCE
    return f"{found.first} is {'higher' if low > 0 else 'lower'} than {found.second}"


def paired(
    panel: Panel, first: str, second: str, estimator: Estimator, category: str | None, pairing: Pairing
) -> tuple[TaskNumbers, Floats, Floats]:
    """The tasks' differences, and the (task, seed) scores of each that they rest on."""
    a, b, at = panel.of(first), panel.of(second), panel.within(category)
    one, other = panel.scores[a, at], panel.scores[b, at]
    if pairing == "seed":
        both = ~np.isnan(one) & ~np.isnan(other)
        one, other = np.where(both, one, np.nan), np.where(both, other, np.nan)
    sorted_one, sorted_other = np.sort(one, axis=1), np.sort(other, axis=1)
    values = cell_values(sorted_one, estimator) - cell_values(sorted_other, estimator)
    if pairing == "seed" and estimator.best is None:
        variances, df = seed_variance(np.sort(one - other, axis=1), estimator), observed(one) - 1
    else:
        variances = seed_variance(sorted_one, estimator) + seed_variance(sorted_other, estimator)
        df = observed(one) + observed(other) - 2
    categories = tuple(panel.categories[i] for i in at)
    rollouts = np.where(np.isnan(values), 0, np.minimum(observed(one), observed(other)))
    missing = int((2 * panel.k - observed(one) - observed(other)).clip(min=0).sum())
    return TaskNumbers(values, variances, df, rollouts, categories, panel.k, missing), one, other


def _tied(interval: Interval, values: Floats) -> Interval:
    """With a guard where half of the tasks do not differ at all, as where both models solve them: see SATURATED."""
    equal, n = int((values == 0).sum()), int((~np.isnan(values)).sum())
    if not 0 < SATURATED * n <= equal < n:
        return interval
    return noted(interval, f"{equal} of {n} tasks do not differ at all: rare exceptions may be unseen")


def _effect(differences: Floats, tie: float) -> Effect | None:
    values = differences[~np.isnan(differences)]
    if not values.size:
        return None
    signs = sign_test(values, tie)
    n = len(values)
    spread = float(values.std(ddof=1)) if n > 2 else 0.0
    d_z = float(values.mean()) / spread * (1 - 3 / (4 * (n - 1) - 1)) if spread > 1e-12 else None
    return Effect(d_z, (signs.positive + signs.tie / 2) / n)
