from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from uncertainty_studies import FAMILIES, paper_sized, study

from loopscope.measures.aggregation import task_balanced
from loopscope.measures.uncertainty import AVG, Estimator, Interval, Settings, level_of, resample
from loopscope.measures.uncertainty.clustered import strata
from loopscope.measures.uncertainty.distributions import t_quantile

RANDOM, FIXED = Settings(), Settings(reading="fixed tasks")
COSTS = Settings(bounds=None)


def ends(found: Interval) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def test_the_estimate_is_the_measure_itself() -> None:
    tasks = {"x": [0.1, 0.5, None], "y": [1, 1, 0.9], "z": [None, None, None]}
    found = level_of(study({"m": tasks}), "m")
    assert found.estimate == pytest.approx(float(task_balanced(tasks).value or 0))
    assert (found.k, found.n_tasks, found.n_runs, found.n_missing) == (3, 2, 5, 4)
    assert found.guard is not None
    assert "4 missing" in found.guard
    assert "1 of 3 tasks have no number" in found.guard


def test_t_by_hand_with_tasks_as_clusters_and_as_a_fixed_set() -> None:
    panel = study({"m": {"x": [0.2, 0.4], "y": [0.5, 0.7], "z": [0.6, 0.6]}})
    random = level_of(panel, "m", settings=replace(RANDOM, method="t"))
    se = math.sqrt(np.var([0.3, 0.6, 0.6], ddof=1) / 3)
    assert ends(random) == pytest.approx((0.5 - t_quantile(0.975, 2) * se, 0.5 + t_quantile(0.975, 2) * se))
    fixed = level_of(panel, "m", settings=replace(FIXED, method="t"))
    se = math.sqrt(0.01 + 0.01) / 3
    df = 0.02**2 / (0.01**2 + 0.01**2)
    assert ends(fixed) == pytest.approx((0.5 - t_quantile(0.975, df) * se, 0.5 + t_quantile(0.975, df) * se))


def test_families_are_strata_and_a_task_alone_joins() -> None:
    tasks = {"p": [0.1], "q": [0.2], "r": [0.9], "s": [0.8]}
    apart = study({"m": tasks}, {"p": "low", "q": "low", "r": "high", "s": "high"})
    together = study({"m": tasks})
    assert (level_of(apart, "m").width or 1) < (level_of(together, "m").width or 0) / 2
    assert strata(["a", "b", "b", "c"]).tolist() == [0, 1, 1, 0]
    assert strata(["a", "b", "b"]).tolist() == [0, 0, 0]
    assert strata(["a"]).tolist() == [0]


def test_wilson_is_the_special_case_of_coins() -> None:
    """With one 0/1 seed per task the effective size is the number of tasks less one."""
    found = level_of(study({"m": {f"t{i}": [int(i < 12)] for i in range(20)}}), "m")
    t, n, p = t_quantile(0.975, 19), 19, 0.6
    middle = (p + t * t / (2 * n)) / (1 + t * t / n)
    reach = t / (1 + t * t / n) * math.sqrt(p * (1 - p) / n + t * t / (4 * n * n))
    assert ends(found) == pytest.approx((middle - reach, middle + reach))


@pytest.mark.parametrize("value", [0, 1, 0.25])
def test_all_equal_is_not_certain(value: float) -> None:
    found = level_of(study({"m": {f"t{i}": [value] * 3 for i in range(5)}}), "m")
    unseen = 1 - 0.025 ** (1 / 5)
    assert ends(found) == pytest.approx((value * (1 - unseen), value + (1 - value) * unseen))
    assert "can leave unseen" in (found.guard or "")
    fixed = level_of(study({"m": {f"t{i}": [value] * 3 for i in range(5)}}), "m", settings=FIXED)
    assert 0 < (fixed.width or 0) < (found.width or 0)


def test_equal_costs_have_no_interval_and_say_so() -> None:
    found = level_of(study({"m": {"x": [7], "y": [7]}}), "m", settings=COSTS)
    assert (found.estimate, found.low, found.high, found.method) == (7, None, None, None)
    assert "without bounds there is no interval" in (found.guard or "")


def test_one_task_and_one_seed() -> None:
    one_task = level_of(study({"m": {"x": [0.1, 0.2]}}), "m")
    assert (one_task.estimate, one_task.low) == (pytest.approx(0.15), None)
    assert "one task" in (one_task.guard or "")
    one_seed = study({"m": {"x": [0.1], "y": [0.2]}})
    assert level_of(one_seed, "m", settings=FIXED).low is None
    assert "one seed per task" in (level_of(one_seed, "m", settings=FIXED).guard or "")
    assert level_of(one_seed, "m").low is not None
    mixed = level_of(study({"m": {"x": [0.1], "y": [0.2, 0.4]}}), "m", settings=FIXED)
    assert mixed.low is not None
    assert "borrow" in (mixed.guard or "")


def test_nothing_observed_is_nothing() -> None:
    for settings in (RANDOM, FIXED):
        found = level_of(study({"m": {"x": [None], "y": [float("nan")]}}), "m", settings=settings)
        assert (found.estimate, found.low, found.high, found.guard) == (None, None, None, "no score")


def test_k_larger_than_n_has_no_estimate_and_says_why() -> None:
    panel = study({"m": {"x": [0.1, 0.2], "y": [0.3, 0.4, 0.5]}})
    none = level_of(panel, "m", Estimator(4))
    assert none.estimate is None
    assert "2 of 2 tasks have fewer than 4 scores" in (none.guard or "")
    some = level_of(panel, "m", Estimator(3))
    assert (some.estimate, some.n_tasks) == (0.5, 1)
    assert "1 of 2 tasks have fewer than 3 scores" in (some.guard or "")


def test_values_out_of_bounds_are_not_forced_into_them() -> None:
    found = level_of(study({"m": {"x": [0.9], "y": [1.3], "z": [1.4]}}), "m")
    assert (found.method, found.estimate) == ("t", pytest.approx(1.2))
    assert "outside 0 to 1" in (found.guard or "")


def test_saturated_tasks_widen_the_interval() -> None:
    tasks = {f"t{i}": [1.0] for i in range(19)} | {"last": [0.98]}
    found = level_of(study({"m": tasks}), "m")
    assert "19 of 20 tasks stand at a bound" in (found.guard or "")
    assert ends(found)[0] < 0.97


def test_bca_leans_to_the_long_tail_of_costs() -> None:
    values = np.exp(np.random.default_rng(0).normal(0, 1, 30))
    found = level_of(study({"m": {f"t{i}": [v] for i, v in enumerate(values)}}), "m", settings=COSTS)
    low, high = ends(found)
    assert found.method == "bca"
    assert high - (found.estimate or 0) > 1.2 * ((found.estimate or 0) - low)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"level": 1.0}, "level between 0 and 1"),
        ({"method": "score", "bounds": None}, "needs bounds"),
        ({"method": "bca", "reading": "fixed tasks"}, "resamples tasks"),
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Settings(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("reading", ["random tasks", "fixed tasks"])
def test_draws_spread_as_the_formula_says(reading: str) -> None:
    panel = paper_sized()
    settings = Settings(reading=reading, method="t")  # type: ignore[arg-type]
    for estimator in (AVG, Estimator(3)):
        drawn = resample(panel, estimator, settings.reading, 4000)
        for category in (None, *FAMILIES):
            found = level_of(panel, "m00", estimator, category, replace(settings, bounds=None))
            z = (found.width or 0) / 2
            spread = float(drawn.of(category)[:, 0].std())
            df_factor = z / spread
            assert 1.8 < df_factor < 4.5  # Student's quantile for 3 to 100 degrees of freedom
        whole = level_of(panel, "m00", estimator, None, replace(settings, bounds=None))
        assert (whole.width or 0) / 2 / float(drawn.of()[:, 0].std()) == pytest.approx(2.03, abs=0.15)
        assert drawn.of()[:, 0].mean() == pytest.approx(whole.estimate, abs=0.005)


def test_the_same_numbers_whatever_the_order_of_the_runs_and_again() -> None:
    one = study({"m": {"x": [0.1, 0.9], "y": [0.5, 0.2]}, "n": {"x": [0.3], "y": [1]}})
    other = study({"n": {"y": [1], "x": [0.3]}, "m": {"y": [0.5, 0.2], "x": [0.1, 0.9]}})
    for reading in ("random tasks", "fixed tasks"):
        a, b = (resample(panel, AVG, reading, 50, seed=3).values for panel in (one, other))  # type: ignore[arg-type]
        assert np.array_equal(a, b, equal_nan=True)
    with pytest.raises(ValueError, match="at least one draw"):
        resample(one, draws=0)


def test_a_single_task_or_seed_has_no_draws() -> None:
    single = study({"m": {"x": [0.1], "y": [0.5]}, "n": {"x": [0.3]}}, {"x": "a", "y": "b"})
    random = resample(single, draws=20)
    assert np.isnan(random.of("a")).all()
    assert np.isnan(random.of()[:, 1]).all()
    assert not np.isnan(random.of()[:, 0]).any()
    assert np.isnan(resample(single, reading="fixed tasks", draws=20).values).all()


def test_intervals_cover_what_they_say() -> None:
    """Beta scores about beta tasks; 200 studies of 36 tasks and 3 seeds. docs/statistics.md has the real thing."""
    rng = np.random.default_rng(0)
    hits = {"random tasks": 0, "fixed tasks": 0}
    template = paper_sized(models=1)
    for _ in range(200):
        middle = rng.beta(2, 1, (1, 36, 1))
        panel = replace(template, scores=rng.beta(4 * middle, 4 * (1 - middle), (1, 36, 3)))
        hits["random tasks"] += bool(level_of(panel, "m00").covers(2 / 3))
        hits["fixed tasks"] += bool(level_of(panel, "m00", settings=FIXED).covers(float(middle.mean())))
    assert all(0.91 <= found / 200 <= 0.985 for found in hits.values()), hits


def test_the_interval_is_called_widened_only_where_it_is() -> None:
    apart = level_of(study({"m": {"x": [0.5685], "y": [1.0]}}), "m")
    assert "widened" not in (apart.guard or "")
    near = level_of(study({"m": {f"t{i}": [1.0 if i else 0.97] for i in range(10)}}), "m")
    assert "9 of 10 tasks stand at a bound" in (near.guard or "")
    assert near.width is not None
    assert near.width > 0.05


def test_tasks_that_are_alike_by_chance_have_the_error_of_their_seeds() -> None:
    """Neither none nor, at the least noise, nearly none: the two are near to each other."""
    noise = np.random.default_rng(2).normal(0, 1e-6, 8)
    same, nearly = (
        level_of(study({"m": {f"t{i}": [0.48 + of, 0.5 + of, 0.52 + of] for i, of in enumerate(apart)}}), "m")
        for apart in (np.zeros(8), noise)
    )
    fixed = level_of(study({"m": {f"t{i}": [0.48, 0.5, 0.52] for i in range(8)}}), "m", settings=FIXED)
    assert ends(same) == pytest.approx(ends(nearly), abs=1e-4)
    assert fixed.width is not None
    assert same.width is not None
    assert fixed.width < same.width < 1.2 * fixed.width, "as wide, with the fewer degrees of freedom"
    assert "the error is that of the seeds" in (same.guard or "")
    plain = level_of(study({"m": {f"t{i}": [0.4 + 0.02 * i, 0.42 + 0.02 * i] for i in range(8)}}), "m")
    assert "the error is that" not in (plain.guard or "")
