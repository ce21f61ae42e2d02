"""How sure an order of models is, and whether it would stand with fewer seeds, other tasks or another harness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from loopscope.measures.exact import Score, exact
from loopscope.measures.uncertainty.cells import AVG, Estimator, cell_values
from loopscope.measures.uncertainty.clustered import strata
from loopscope.measures.uncertainty.panel import Floats, Ints, Panel
from loopscope.measures.uncertainty.resampling import Draws, task_counts

STABILITY_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class Ranking:
    """The models by their estimate, best first, and how often resamples agree.

    These are shares of resamples (bootstrap proportions), not probabilities that a prior would give.
    """

    models: tuple[str, ...]
    estimates: tuple[float, ...]
    rank: Floats
    """(model, place): share of the draws with the model in that place; equal models share their places."""
    above: Floats
    """(model, model): share of the draws with the first above the second, ties half; 1/2 on the diagonal."""
    draws: int
    """Draws in which all of them have a number."""
    unranked: tuple[str, ...]
    """Models without an estimate, or without a spread to draw from (a single task or seed)."""


def ranking(drawn: Draws, category: str | None = None) -> Ranking:
    """The order of the models overall, or in a category, from the draws of `resample`."""
    values, estimates = drawn.of(category), drawn.estimates[:, drawn.groups.index(category or "")]
    able = ~np.isnan(estimates) & (~np.isnan(values)).any(axis=0)
    order = np.flatnonzero(able)[np.argsort(-estimates[able], kind="stable")]
    values = values[:, order]
    size = len(order)
    values = values[~np.isnan(values).any(axis=1) & (size > 0)]
    rank, above = np.full((size, size), np.nan), np.full((size, size), np.nan)
    if len(values):
        rank = _place_shares(values)
        for i in range(size):
            above[i] = ((values[:, [i]] > values) + 0.5 * (values[:, [i]] == values)).mean(axis=0)
    names = tuple(drawn.models[i] for i in order)
    unranked = tuple(name for name, fit in zip(drawn.models, able, strict=True) if not fit)
    return Ranking(names, tuple(float(estimates[i]) for i in order), rank, above, len(values), unranked)


def _place_shares(values: Floats) -> Floats:
    """(model, place): share of the draws (draw, model) with the model there; equal ones share the places they take.

    Each row is sorted once. A model that is one of m equals from place b on adds 1/m at b and takes it off at b + m.
    """
    draws, size = values.shape
    order = np.argsort(-values, axis=1)
    ordered, at = np.take_along_axis(values, order, axis=1), np.arange(size)
    new = np.ones((draws, size + 1), dtype=bool)
    new[:, 1:-1] = ordered[:, 1:] != ordered[:, :-1]
    begin = np.maximum.accumulate(np.where(new[:, :-1], at, 0), axis=1)
    end = np.minimum.accumulate(np.where(new[:, 1:], at + 1, size)[:, ::-1], axis=1)[:, ::-1]
    share, row = (1 / (end - begin)).ravel(), order * (size + 1)
    steps = [np.bincount((row + place).ravel(), share, size * (size + 1)) for place in (begin, end)]
    found = np.cumsum((steps[0] - steps[1]).reshape(size, size + 1), axis=1)[:, :size] / draws
    return np.asarray(np.where(found > 1e-12, found, 0.0))


@dataclass(frozen=True)
class Stability:
    """How an order changes when less is looked at."""

    what: str
    tau: float | None
    """Mean of Kendall's tau-b with the order of the whole study; None where nothing is ordered."""
    tau_low: float | None
    """Its lower 5 % point over the draws."""
    tau_high: float | None
    """Its upper 5 % point."""
    same_first: float | None
    """Share of the draws with the same model in front; not where two share it. None of an order of tasks."""
    same_order: float | None
    """Share with every pair in the same order. None likewise."""
    draws: int
    size: int
    """Models (or tasks) in the order."""


def kendall_tau(first: Floats, second: Floats) -> float | None:
    """Kendall's tau-b (1945) of two lists by the same models; those that one lacks (NaN) stay out.

    None for fewer than two models, and where one list has only equal values.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    taus = _taus(first[both][None], second[both])
    return None if np.isnan(taus[0]) else float(taus[0])


def agreement(lists: Mapping[str, Mapping[str, Score]]) -> dict[tuple[str, str], float | None]:
    """Kendall's tau-b between every two lists (harness -> model -> number), over the models that both have."""
    found: dict[tuple[str, str], float | None] = {}
    for one, other in combinations(sorted(lists), 2):
        models = sorted(set(lists[one]) & set(lists[other]))
        found[one, other] = kendall_tau(*(_floats(lists[name], models) for name in (one, other)))
    return found


def over_harnesses(
    panel: Panel,
    one: tuple[str, Mapping[str, str]],
    other: tuple[str, Mapping[str, str]],
    estimator: Estimator = AVG,
    draws: int = STABILITY_DRAWS,
    seed: int = 0,
) -> tuple[Stability | None, Stability | None]:
    """Whether two harnesses put the models that both drive in the same order; and whether the tasks, by their mean.

    tau is that of the whole study (`agreement`); its ends and the shares are over resamples of the tasks that all of
    these have a number of. None for fewer than two models, or tasks.

    Args:
        panel: its rows are agents: a harness with a model.
        one: the harness, and model -> agent.
        other: likewise.
        estimator: what they are ordered by.
        draws: of the tasks; a single task is not drawn.
        seed: of the draws.
    """
    models = sorted(set(one[1]) & set(other[1]))
    cells = cell_values(panel.packed(), estimator)
    first, second = (cells[[panel.of(side[model]) for model in models]] for _, side in (one, other))
    there = ~(np.isnan(first) | np.isnan(second)).any(axis=0)
    first, second = first[:, there], second[:, there]
    tasks = [task for task, known in zip(panel.tasks, there, strict=True) if known]
    if not models or not tasks:
        return None, None
    labels = strata([c for c, known in zip(panel.categories, there, strict=True) if known])
    counts = task_counts(labels, draws if len(tasks) > 1 else 1, np.random.default_rng(seed))
    what = f"{one[0]} against {other[0]}"

    def tau(names: Sequence[str], values: Floats, others: Floats) -> float | None:
        both = [dict(zip(names, side.tolist(), strict=True)) for side in (values, others)]
        return agreement({"one": both[0], "other": both[1]})["one", "other"]

    of_models = of_tasks = None
    if len(models) > 1:
        drawn = [counts @ side.T / len(tasks) for side in (first, second)]
        taus, leads = _taus(drawn[0], drawn[1]), [_leader(side) for side in drawn]
        whole = tau(models, first.mean(axis=1), second.mean(axis=1))
        same = float(((leads[0] == leads[1]) & (leads[0] >= 0)).mean())
        of_models = Stability(what, whole, *_ends(taus), same, _all_same(taus), len(counts), len(models))
    if len(tasks) > 1:
        means = first.mean(axis=0), second.mean(axis=0)
        taus = _weighted_taus(*means, counts)
        of_tasks = Stability(what, tau(tasks, *means), *_ends(taus), None, None, len(counts), len(tasks))
    return of_models, of_tasks


def _leader(values: Floats) -> Ints:
    """The model in front of each row, alone; -1 where several are."""
    most = values.max(axis=1, keepdims=True)
    front = values > most - 1e-12
    return np.where(front.sum(axis=1) == 1, front.argmax(axis=1), -1)


def _weighted_taus(first: Floats, second: Floats, counts: Floats) -> Floats:
    """tau-b of two lists of tasks, each task so often as a row of counts says; a task and itself are no pair."""
    one, other = (_sign(side[:, None] - side[None, :]) for side in (first, second))
    agreed, told, wanted = (((counts @ pairs) * counts).sum(axis=1) for pairs in (one * other, one**2, other**2))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(told * wanted > 0, agreed / np.sqrt(told * wanted), np.nan))


def over_seeds(panel: Panel, seeds: int, draws: int = STABILITY_DRAWS, seed: int = 0) -> Stability:
    """The order by avg with so many seeds of each (model, task), drawn without replacement.

    ValueError unless 1 <= seeds <= k. A cell that has fewer keeps all it has.
    """
    if not 1 <= seeds <= panel.k:
        raise ValueError(f"{seeds} seeds of {panel.k}; give 1 to {panel.k}")
    packed = panel.packed()
    keys = np.random.default_rng(seed).random((draws, *packed.shape)) + np.where(np.isnan(packed), 2.0, 0.0)
    chosen = np.argsort(keys, axis=3)[..., :seeds]
    drawn = np.take_along_axis(np.broadcast_to(packed, keys.shape), chosen, axis=3)
    cells = cell_values(np.sort(drawn, axis=3), AVG)
    return _stability(f"{seeds} of {panel.k} seeds", _task_means(cells), _whole(panel, AVG))


def over_best(panel: Panel) -> tuple[Stability, ...]:
    """The order by best@j against that by avg, for j = 1..k."""
    packed, whole = panel.packed(), _whole(panel, AVG)
    each = [Estimator(j) for j in range(1, panel.k + 1)]
    return tuple(_stability(str(e), _task_means(cell_values(packed, e))[None], whole) for e in each)


def over_tasks(
    panel: Panel, share: float = 0.5, estimator: Estimator = AVG, draws: int = STABILITY_DRAWS, seed: int = 0
) -> Stability:
    """The order on random subsets of so large a share of each family's tasks (at least one); ValueError unless 0..1."""
    if not 0 < share <= 1:
        raise ValueError(f"a share of the tasks lies above 0 and up to 1, not {share}")
    cells = cell_values(panel.packed(), estimator)
    keys = np.random.default_rng(seed).random((draws, len(panel.tasks)))
    chosen = np.zeros(keys.shape)
    for name in set(panel.categories):
        at = panel.within(name)
        size = max(1, round(share * len(at)))
        chosen[:, at] = np.argsort(np.argsort(keys[:, at], axis=1), axis=1) < size
    there = ~np.isnan(cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = (chosen @ np.where(there, cells, 0.0).T) / (chosen @ there.T.astype(float))
    return _stability(f"{100 * share:.0f} % of the tasks", values, _whole(panel, estimator))


def without_category(panel: Panel, estimator: Estimator = AVG) -> tuple[Stability, ...]:
    """The order with each category left out in turn; none where there is one category."""
    names = sorted(set(panel.categories))
    cells, whole = cell_values(panel.packed(), estimator), _whole(panel, estimator)

    def left(name: str) -> Ints:
        return np.flatnonzero(np.array(panel.categories) != name)

    return tuple(
        _stability(f"without {name}", _task_means(cells[:, left(name)])[None], whole)
        for name in names
        if len(names) > 1
    )


def _whole(panel: Panel, estimator: Estimator) -> Floats:
    return _task_means(cell_values(panel.packed(), estimator))


def _task_means(cells: Floats) -> Floats:
    there = ~np.isnan(cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(there, cells, 0.0).sum(axis=-1) / there.sum(axis=-1))


def _floats(values: Mapping[str, Score], names: list[str]) -> Floats:
    return np.array([np.nan if (found := exact(values[name])) is None else float(found) for name in names])


def _stability(what: str, values: Floats, whole: Floats) -> Stability:
    """Draws (draw, model) against the order of the whole; models without a number in one of them stay out of it."""
    known = ~np.isnan(whole)
    values, whole = values[:, known], whole[known]
    taus = _taus(values, whole)
    told = taus[~np.isnan(taus)]
    first = np.zeros(len(values), dtype=bool)
    if whole.size:
        leader = int(np.argmax(whole))
        others = np.delete(values, leader, axis=1)
        first = (values[:, [leader]] > np.where(np.isnan(others), -np.inf, others)).all(axis=1)
    mean = float(told.mean()) if told.size else None
    ends = _ends(told)
    return Stability(what, mean, *ends, float(first.mean()), _all_same(taus), len(values), len(whole))


def _ends(taus: Floats) -> tuple[float | None, float | None]:
    """The 5 and 95 % points of those that there are."""
    told = taus[~np.isnan(taus)]
    return (float(np.quantile(told, 0.05)), float(np.quantile(told, 0.95))) if told.size else (None, None)


def _all_same(taus: Floats) -> float:
    return float((taus > 1 - 1e-9).mean())


def _taus(values: Floats, reference: Floats) -> Floats:
    """tau-b of each row with the reference, or with its row of that; NaN where a side orders nothing.

    Sums in another order are still ties.
    """
    i, j = np.triu_indices(values.shape[-1], 1)
    signs, wanted = _sign(values[:, i] - values[:, j]), _sign(reference[..., i] - reference[..., j])
    known = ~np.isnan(signs)
    agreed = np.where(known, signs * wanted, 0.0).sum(axis=1)
    told = np.where(known, signs**2, 0.0).sum(axis=1) * (known * wanted**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(told > 0, agreed / np.sqrt(told), np.nan))


def _sign(apart: Floats) -> Floats:
    return np.asarray(np.sign(np.where(np.abs(apart) < 1e-12, 0.0, apart)))
