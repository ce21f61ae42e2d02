"""Resamples of a study: of tasks with all their seeds, or of seeds within tasks; intervals from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loopscope.measures.uncertainty.cells import (
    AVG,
    Estimator,
    bootstrap_samples,
    cell_values,
    seed_variance,
    weights,
)
from loopscope.measures.uncertainty.clustered import filled, strata
from loopscope.measures.uncertainty.distributions import normal_cdf, normal_quantile, t_quantile
from loopscope.measures.uncertainty.interval import Moments, Reading
from loopscope.measures.uncertainty.panel import Bools, Floats, Ints, Panel, observed

DRAWS = 10_000
_FEW = 100
"""Ends up to which counting takes less time than searching."""


@dataclass(frozen=True, eq=False)
class Draws:
    """What the models' numbers could have been."""

    models: tuple[str, ...]
    groups: tuple[str, ...]
    """The categories, sorted; behind them the whole, as an empty name."""
    values: Floats
    """(draw, model, group); NaN where nothing of the group is observed or its spread is unknown."""
    estimates: Floats
    """(model, group): the study as it is."""
    reading: Reading

    def of(self, category: str | None = None) -> Floats:
        """(draw, model) of one category, or of the whole."""
        return self.values[:, :, self.groups.index(category or "")]


def resample(
    panel: Panel, estimator: Estimator = AVG, reading: Reading = "random tasks", draws: int = DRAWS, seed: int = 0
) -> Draws:
    """Draw the study again so often. The models share each draw's tasks, so that their differences are paired.

    Tasks: n_c - 1 of the n_c of a family, with replacement, each with all its seeds: their mean then has the variance
    s_c^2/n_c without the factor (n_c-1)/n_c that makes plain resamples too narrow (McCarthy and Snowden 1985; Rao and
    Wu 1988). Seeds: see `_seed_draws`. ValueError for fewer than one draw.
    """
    if draws < 1:
        raise ValueError(f"resampling needs at least one draw, not {draws}")
    packed = panel.packed()
    cells = cell_values(packed, estimator)
    names = sorted(set(panel.categories))
    member = np.array([[c == name for name in names] + [True] for c in panel.categories], dtype=float)
    there = ~np.isnan(cells)
    estimates = _means(cells, there, member)
    rng = np.random.default_rng(seed)
    if reading == "random tasks":
        values = _task_draws(cells, there, member, strata(panel.categories), draws, rng)
        values = np.where(_one_task(there, member), np.nan, values)
    else:
        values = np.stack(
            [_seed_draws(*part, member, estimator, draws, rng) for part in zip(packed, cells, strict=True)], axis=1
        )
    return Draws(panel.models, (*names, ""), values, estimates, reading)


def task_counts(labels: Ints, draws: int, rng: np.random.Generator) -> Floats:
    """(draw, task): how often each task is drawn, scaled so that a family of n_c adds up to n_c."""
    counts = np.ones((draws, len(labels)))
    for label in np.unique(labels):
        at = np.flatnonzero(labels == label)
        n = len(at)
        if n > 1:
            counts[:, at] = rng.multinomial(n - 1, np.full(n, 1 / n), size=draws) * (n / (n - 1))
    return counts


def _task_draws(
    cells: Floats, there: Bools, member: Floats, labels: Ints, draws: int, rng: np.random.Generator
) -> Floats:
    counts = task_counts(labels, draws, rng)
    values = np.empty((draws, len(cells), member.shape[1]))
    zeroed = np.where(there, cells, 0.0)
    with np.errstate(invalid="ignore"):  # 0/0: none of a model's tasks of a small family was drawn
        for model, (row, known) in enumerate(zip(zeroed, there, strict=True)):
            weight = counts @ (member * known[:, None])
            values[:, model] = (counts @ (member * row[:, None])) / weight
    return values


def _one_task(there: Bools, member: Floats) -> Bools:
    """(model, group): a single task is no sample of tasks."""
    return np.asarray(there.astype(float) @ member < 2)


def _seed_draws(
    scores: Floats, cells: Floats, member: Floats, estimator: Estimator, draws: int, rng: np.random.Generator
) -> Floats:
    """One model's (draw, group): the bootstrap of each cell about the cell's own number, as wide as `seed_variance`.

    A cell of n seeds has so few samples (10 for 3) that they are listed and drawn by their probability. Their centre is
    moved to the estimate (the largest of a resample is too small) and their variance widened by n/(n-1). A cell
    of one seed borrows the mean variance of the others, as a normal error.
    """
    there = ~np.isnan(cells)
    n, variances = observed(scores), seed_variance(scores, estimator)
    errors = np.zeros((draws, len(cells)))
    for count in np.unique(n[there]):
        at = np.flatnonzero(there & (n == count))
        if count > 1:
            indices, chance = bootstrap_samples(int(count))
            samples = scores[at][:, indices] @ np.array(weights(int(count), estimator.best))
            samples -= (samples @ chance)[:, None]
            samples *= (count / (count - 1)) ** 0.5
            picked = _places(np.cumsum(chance)[:-1], rng.random((draws, len(at))))
            errors[:, at] = samples[np.arange(len(at)), picked]
        else:
            errors[:, at] = rng.standard_normal((draws, len(at))) * filled(variances[there])[n[there] == 1] ** 0.5
    weight = member * there[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((np.where(there, cells, 0.0) + errors) @ weight / weight.sum(axis=0))


def _places(ends: Floats, drawn: Floats) -> NDArray[np.integer]:
    """Which share of [0, 1] each number fell in; counted, as of the few ends that there mostly are."""
    if len(ends) > _FEW:
        return np.asarray(np.searchsorted(ends, drawn))
    found = np.zeros(drawn.shape, dtype=np.int16)
    for end in ends:
        found += drawn > end
    return found


def _means(cells: Floats, there: Bools, member: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((np.where(there, cells, 0.0) @ member) / (there @ member))


def percentile_interval(draws: Floats, moments: Moments, level: float) -> tuple[float, float]:
    """Quantiles of the draws at Phi(-+t_df): the percentile interval (Efron 1979), expanded (Hesterberg 2015, 3.3)."""
    z = t_quantile((1 + level) / 2, moments.df)
    return _quantiles(draws, normal_cdf(-z), normal_cdf(z))


def bca_interval(draws: Floats, moments: Moments, level: float, influence: Floats) -> tuple[float, float]:
    """Efron's bias-corrected and accelerated interval (1987), with Student's quantile for the normal's.

    `influence` is how far the estimate moves when each task is left out (`jackknife`): a = sum u^3 / (6 (sum u^2)^1.5).
    """
    below = ((draws < moments.estimate).mean() + (draws <= moments.estimate).mean()) / 2
    edge = 0.5 / len(draws)
    shift = normal_quantile(min(max(float(below), edge), 1 - edge))
    squares = float((influence**2).sum())
    speed = float((influence**3).sum()) / (6 * squares**1.5) if squares else 0.0
    z = t_quantile((1 + level) / 2, moments.df)

    def place(step: float) -> float:
        moved = shift + step
        slowed = 1 - speed * moved
        return normal_cdf(shift + moved / slowed) if slowed > 0 else float(moved > 0)

    return _quantiles(draws, place(-z), place(z))


def jackknife(values: Floats, labels: Ints) -> Floats:
    """Per task, estimate minus estimate without it, family by family (Rao and Wu 1985)."""
    sizes = np.bincount(labels)
    centres = np.bincount(labels, values) / sizes
    return np.asarray((values - centres[labels]) / np.maximum(sizes[labels] - 1, 1) * sizes[labels] / len(values))


def _quantiles(draws: Floats, low: float, high: float) -> tuple[float, float]:
    found = np.quantile(draws, [low, high])
    return float(found[0]), float(found[1])


def task_mean_draws(values: Floats, labels: Ints, draws: int, seed: int) -> Floats:
    """Resampled means of one number per task, none missing."""
    return np.asarray(task_counts(labels, draws, np.random.default_rng(seed)) @ values / len(values))
