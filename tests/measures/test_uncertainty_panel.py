from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uncertainty_studies import study

from loopscope.measures.uncertainty import AVG, Estimator, Run, panel
from loopscope.measures.uncertainty.cells import bootstrap_samples, cell_values, seed_variance, weights
from loopscope.measures.uncertainty.distributions import binomial_two_sided, normal_cdf, t_cdf, t_quantile

scores = st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=1, max_size=5)


def test_missing_is_nan_and_counted_and_absent_seeds_are_missing() -> None:
    found = study({"m": {"x": ["0.5", None, "3/4"], "y": [float("nan"), 1]}, "n": {"x": [0]}})
    assert found.scores.shape == (2, 2, 3)
    assert found.k == 3
    assert found.missing(0, np.arange(2)) == 3
    assert found.missing(1, np.arange(2)) == 5
    assert np.array_equal(found.packed()[0], [[0.5, 0.75], [1, np.nan]], equal_nan=True)


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ([], "no runs"),
        ([Run("m", "x", "0", 0.5), Run("m", "x", "0", 0.5)], "model m, task x, seed 0 is there twice"),
        ([Run("m", "x", "0", float("inf"))], "model m, task x, seed 0: 'inf' is no finite number"),
        ([Run("m", "x", "0", True)], "is a truth value"),
        ([Run("m", "z", "0", 1)], "'z' has no category"),
        ([Run("m", "x", "0", 1), Run("m", "x", "1", 1)], "1 rollouts planned, but a .* has 2"),
    ],
)
def test_bad_runs_are_named(runs: list[Run], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        panel(runs, {"x": "a"}, planned=1)


def test_unknown_names_list_the_known() -> None:
    found = study({"m": {"x": [1]}})
    with pytest.raises(ValueError, match="no model 'q' among the runs; there are m"):
        found.of("q")
    with pytest.raises(ValueError, match="no task of category 'q'; there are all"):
        found.within("q")


@settings(deadline=None)
@given(scores, st.integers(1, 5))
def test_best_at_k_is_the_mean_over_all_subsets(values: list[float], k: int) -> None:
    found = cell_values(np.sort(values)[None], Estimator(k))[0]
    if k > len(values):
        assert np.isnan(found)
    else:
        subsets = [max(some) for some in combinations(values, k)]
        assert found == pytest.approx(sum(subsets) / len(subsets))


@settings(deadline=None)  # 3,125 resamples of five
@given(scores)
def test_the_seed_variance_of_a_best_is_that_of_every_resample(values: list[float]) -> None:
    found = seed_variance(np.sort(values)[None], Estimator(1))[0], seed_variance(np.sort(values)[None], Estimator(2))[0]
    if len(values) < 2:
        assert np.isnan(found).all()
        return
    w = np.array(weights(len(values), 2))
    resamples = np.sort(np.array(list(product(values, repeat=len(values))))) @ w
    assert found[1] == pytest.approx(resamples.var() * len(values) / (len(values) - 1), abs=1e-12)
    assert found[0] == pytest.approx(np.var(values, ddof=1) / len(values), abs=1e-12)
    assert seed_variance(np.sort(values)[None], AVG)[0] == pytest.approx(
        np.var(values, ddof=1) / len(values), abs=1e-12
    )


def test_many_seeds_are_sampled_and_few_are_listed() -> None:
    listed, chance = bootstrap_samples(3)
    assert len(listed) == 10
    assert chance.sum() == pytest.approx(1)
    assert len(bootstrap_samples(9)[0]) == 2000
    with pytest.raises(ValueError, match="k >= 1"):
        Estimator(0)


@pytest.mark.parametrize(
    ("p", "df", "t"),
    [(0.975, 1, 12.7062047), (0.975, 3, 3.1824463), (0.8, 30, 0.8537674), (0.995, 120, 2.6174211), (0.5, 7, 0)],
)
def test_students_quantiles_from_tables(p: float, df: float, t: float) -> None:
    assert t_quantile(p, df) == pytest.approx(t, abs=1e-6)
    assert t_quantile(1 - p, df) == pytest.approx(-t, abs=1e-6)


@settings(deadline=None)
@given(st.floats(0.5, 0.9999), st.floats(0.2, 2000))
def test_a_quantile_is_the_one_that_bisection_alone_finds(p: float, df: float) -> None:
    low, high = 0.0, 1.0
    while t_cdf(high, df) < p:
        high *= 2
    while high - low > 1e-12 * max(1.0, high):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, df) < p else (low, middle)
    assert t_quantile(p, df) == pytest.approx((low + high) / 2, rel=2e-12, abs=2e-12)


def test_student_becomes_the_normal_and_a_coin_is_exact() -> None:
    assert t_cdf(1.96, 1e7) == normal_cdf(1.96)
    assert t_cdf(1.96, 9e5) == pytest.approx(normal_cdf(1.96), abs=1e-6)
    assert binomial_two_sided(8, 8) == 2 / 256
    assert binomial_two_sided(4, 8) == 1
    for wrong in (0.0, 1.0):
        with pytest.raises(ValueError, match="between 0 and 1"):
            t_quantile(wrong, 3)
    with pytest.raises(ValueError, match="above 0"):
        t_cdf(1, 0)
    with pytest.raises(ValueError, match="above 0"):
        t_quantile(0.9, 0)


def test_fractional_degrees_of_freedom_by_summing_the_density() -> None:
    x = np.linspace(0, 3, 300_001)
    density = (1 + x**2 / 2.5) ** -1.75
    whole = math.gamma(1.75) / math.gamma(1.25) / math.sqrt(2.5 * math.pi)
    assert t_cdf(3, 2.5) == pytest.approx(0.5 + whole * density[:-1].sum() * 1e-5, abs=1e-5)
