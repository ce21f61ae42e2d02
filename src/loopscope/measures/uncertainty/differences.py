"""Two models on the same tasks: how far apart, how sure, and in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from loopscope.measures.uncertainty.cells import AVG, Estimator, cell_values, seed_variance
from loopscope.measures.uncertainty.interval import SATURATED, Interval
from loopscope.measures.uncertainty.levels import DEFAULT, Settings, TaskNumbers, mean_of, noted
from loopscope.measures.uncertainty.multiplicity import Correction, adjusted
from loopscope.measures.uncertainty.panel import Floats, Ints, Panel, observed
from loopscope.measures.uncertainty.permutation import (
    Signs,
    TestResult,
    label_shuffles,
    pair_flips,
    sign_flips_of,
    sign_test,
)

type Pairing = Literal["task", "seed"]
"""Task: the models share tasks, and their seeds are their own. Seed: runs of one name are a pair, as two arms of one
branch are; a run whose partner has no score is left out."""

NO_EVIDENCE = "no evidence of a difference"
BY_TEST_ALONE = "by the test alone: nothing differs that would tell how far it spreads"
"""What is said of a difference whose interval holds 0 because no task or seed differs from another."""


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
    pairs = [(first, second)]
    return differences(panel, pairs, estimator, category, settings, pairing=pairing, tie=tie, correction="none")[0]


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
    numbers = _numbers(panel, chosen, estimator, category, pairing)
    tests = _tests(numbers, estimator, settings, pairing)
    ps = adjusted([test.p if test else None for test in tests], correction)
    of_differences = _of_differences(settings)
    return tuple(
        _difference(pair, of, estimator, of_differences, tie, test, (p, correction))
        for pair, of, test, p in zip(chosen, numbers, tests, ps, strict=True)
    )


def intervals_between(
    panel: Panel,
    pairs: Sequence[tuple[str, str]],
    estimator: Estimator = AVG,
    category: str | None = None,
    settings: Settings = DEFAULT,
) -> tuple[Interval, ...]:
    """The intervals of `differences` alone, without a test."""
    numbers = _numbers(panel, pairs, estimator, category, "task")
    return tuple(mean_of(of.numbers, _of_differences(settings)) for of in numbers)


def _numbers(
    panel: Panel, pairs: Sequence[tuple[str, str]], estimator: Estimator, category: str | None, pairing: Pairing
) -> list[_Paired]:
    sides = _sides(panel, {name for pair in pairs for name in pair}, estimator, category)
    return [_between(panel, sides, pair, estimator, category, pairing) for pair in pairs]


def _of_differences(settings: Settings) -> Settings:
    """With the bounds of a difference in the place of those of the scores."""
    bounds = settings.bounds
    return replace(settings, bounds=None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0]))


def _tests(
    numbers: Sequence[_Paired], estimator: Estimator, settings: Settings, pairing: Pairing
) -> Sequence[TestResult | None]:
    if settings.reading == "random tasks":
        values = [of.numbers.values for of in numbers]
        return sign_flips_of(np.array(values), settings.draws, settings.seed) if values else []
    test = label_shuffles if pairing == "task" else pair_flips
    return [test(of.one, of.other, settings.draws, settings.seed, estimator) for of in numbers]


def _difference(
    pair: tuple[str, str],
    of: _Paired,
    estimator: Estimator,
    settings: Settings,
    tie: float,
    test: TestResult | None,
    p: tuple[float | None, Correction],
) -> Difference:
    """A pair's, with the settings' bounds those of a difference."""
    values = of.numbers.values
    interval = _tied(mean_of(of.numbers, settings), values)
    if estimator.best is not None:
        fewer = np.minimum(observed(of.one), observed(of.other))
        if short := int((fewer < estimator.best).sum()):
            lack = f"{short} of {len(fewer)} tasks have fewer than {estimator.best} scores of one and no {estimator}"
            interval = noted(interval, lack)
    signs = sign_test(values, tie)
    words = _verdict(pair, interval, test, p[0], 1 - settings.level)
    return Difference(pair[0], pair[1], interval, test, signs, _effect(values, signs), *p, words)


def verdict(found: Difference, alpha: float) -> str:
    """What may be said. A difference is one only if both the adjusted p and the interval say so.

    Where no task (random) or seed (fixed) differs from another, the interval is what so few can have left unseen: it
    reaches to both sides whatever was seen, so the test, which is exact, decides alone, and the words say so. Where no
    difference could have been found with so few tasks, that is said instead of passing for a finding.
    """
    return _verdict((found.first, found.second), found.interval, found.test, found.p_adjusted, alpha)


def _verdict(pair: tuple[str, str], interval: Interval, test: TestResult | None, p: float | None, alpha: float) -> str:
    low, high = interval.low, interval.high
    if interval.estimate is None:
        return "nothing to compare: no task has a number of both"
    if low is None or high is None:
        return f"{NO_EVIDENCE}: {interval.guard}"
    if test is not None and test.least > alpha:
        few = "tasks" if interval.reading == "random tasks" else "runs"
        return f"{NO_EVIDENCE}, and none was possible: with so few {few} p is at least {test.least:.2g}"
    by_test, holds_0 = p is not None and p <= alpha, low <= 0 <= high
    if not by_test or (holds_0 and not interval.unseen):
        return f"{NO_EVIDENCE}: the test alone finds one, and the interval holds 0" if by_test else NO_EVIDENCE
    found = f"{pair[0]} is {'higher' if interval.estimate > 0 else 'lower'} than {pair[1]}"
    return f"{found}, {BY_TEST_ALONE}" if holds_0 else found


@dataclass(frozen=True, eq=False)
class _Side:
    """One model on the tasks: its scores as they are, its number of each task, and how other seeds would move it."""

    scores: Floats
    values: Floats
    variances: Floats
    count: Ints


@dataclass(frozen=True, eq=False)
class _Paired:
    """Two models: the tasks' differences, and the (task, seed) scores of each that they rest on."""

    numbers: TaskNumbers
    one: Floats
    other: Floats


def _sides(panel: Panel, models: Collection[str], estimator: Estimator, category: str | None) -> dict[str, _Side]:
    """Each model once, whatever the number of its comparisons."""
    names = [name for name in panel.models if name in models]
    for name in models:
        panel.of(name)
    scores = panel.scores[np.ix_([panel.of(name) for name in names], panel.within(category))]
    ascending = np.sort(scores, axis=2)
    values, variances, count = cell_values(ascending, estimator), seed_variance(ascending, estimator), observed(scores)
    return {name: _Side(scores[i], values[i], variances[i], count[i]) for i, name in enumerate(names)}


def paired(
    panel: Panel, first: str, second: str, estimator: Estimator, category: str | None, pairing: Pairing
) -> tuple[TaskNumbers, Floats, Floats]:
    """The tasks' differences, and the (task, seed) scores of each that they rest on."""
    sides = _sides(panel, {first, second}, estimator, category)
    found = _between(panel, sides, (first, second), estimator, category, pairing)
    return found.numbers, found.one, found.other


def _between(
    panel: Panel,
    sides: Mapping[str, _Side],
    pair: tuple[str, str],
    estimator: Estimator,
    category: str | None,
    pairing: Pairing,
) -> _Paired:
    a, b = (sides[name] for name in pair)
    if pairing == "seed":
        a, b = _by_seed(a, b, estimator)
    values, fewer = a.values - b.values, np.minimum(a.count, b.count)
    if pairing == "seed" and estimator.best is None:
        variances, df = seed_variance(np.sort(a.scores - b.scores, axis=1), estimator), a.count - 1
    else:
        variances, df = a.variances + b.variances, a.count + b.count - 2
    categories = panel.categories if category is None else (category,) * len(values)
    rollouts = np.where(np.isnan(values), 0, fewer)
    missing = int((2 * panel.k - a.count - b.count).clip(min=0).sum())
    return _Paired(TaskNumbers(values, variances, df, rollouts, categories, panel.k, missing), a.scores, b.scores)


def _by_seed(a: _Side, b: _Side, estimator: Estimator) -> tuple[_Side, _Side]:
    """With those runs alone whose partner has a score."""
    both = ~np.isnan(a.scores) & ~np.isnan(b.scores)

    def kept(side: _Side) -> _Side:
        scores = np.where(both, side.scores, np.nan)
        ascending = np.sort(scores, axis=1)
        return _Side(scores, cell_values(ascending, estimator), seed_variance(ascending, estimator), observed(scores))

    return kept(a), kept(b)


def _tied(interval: Interval, values: Floats) -> Interval:
    """With a guard where half of the tasks do not differ at all, as where both models solve them: see SATURATED."""
    equal, n = int((values == 0).sum()), int((~np.isnan(values)).sum())
    if not 0 < SATURATED * n <= equal < n:
        return interval
    return noted(interval, f"{equal} of {n} tasks do not differ at all: rare exceptions may be unseen")


def _effect(differences: Floats, signs: Signs) -> Effect | None:
    values = differences[~np.isnan(differences)]
    if not values.size:
        return None
    n = len(values)
    spread = float(values.std(ddof=1)) if n > 2 else 0.0
    d_z = float(values.mean()) / spread * (1 - 3 / (4 * (n - 1) - 1)) if spread > 1e-12 else None
    return Effect(d_z, (signs.positive + signs.tie / 2) / n)
