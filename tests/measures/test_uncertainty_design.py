from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from uncertainty_studies import paper_sized, study

from loopscope.measures.uncertainty import (
    Estimator,
    Plan,
    Settings,
    level_of,
    missing_bounds,
    missing_bounds_of_difference,
    plan_of,
    power_of,
    range_bounds,
    rank_range,
)
from loopscope.measures.uncertainty.distributions import t_quantile
from loopscope.measures.uncertainty.power import detectable


def test_missing_scores_at_their_worst_and_best() -> None:
    panel = study({"m": {"x": [0.5, None, None], "y": [0.2, 0.4, 0.6]}, "n": {"x": [0.1], "y": [0.1], "z": [0.1]}})
    found = missing_bounds(panel, "m")
    assert found.observed.estimate == pytest.approx(0.45)
    assert found.low == pytest.approx((0.5 / 3 + 0.4 + 0) / 3)
    assert found.high == pytest.approx((2.5 / 3 + 0.4 + 1) / 3)
    assert (found.n_missing, found.n_planned) == (5, 9)
    assert found.interval_low is not None
    assert found.interval_high is not None
    assert found.interval_low < found.low < found.high < found.interval_high
    best = missing_bounds(panel, "m", Estimator(3))
    assert (best.low, best.high) == (pytest.approx((0.5 + 0.6 + 0) / 3), pytest.approx((1 + 0.6 + 1) / 3))
    assert missing_bounds(panel, "m", Estimator(4)).low is None


def test_nothing_missing_leaves_the_interval_as_it_is() -> None:
    panel = paper_sized()
    found, plain = missing_bounds(panel, "m00"), level_of(panel, "m00")
    assert (found.low, found.high, found.n_missing) == (plain.estimate, plain.estimate, 0)
    assert (found.interval_low, found.interval_high) == (plain.low, plain.high)


def test_planned_runs_that_never_were_are_missing_too() -> None:
    panel = study({"m": {"x": [1, 1], "y": [1, 1]}}, planned=4)
    found = missing_bounds(panel, "m")
    assert (found.low, found.high, found.n_missing) == (0.5, 1, 4)


def test_a_difference_at_its_worst_has_both_against_it() -> None:
    panel = study({"m": {"x": [0.5, None], "y": [0.5, 0.5]}, "n": {"x": [0.4, 0.4], "y": [None, 0.4]}})
    found = missing_bounds_of_difference(panel, "m", "n")
    assert found.low == pytest.approx(((0.25 - 0.4) + (0.5 - 0.7)) / 2)
    assert found.high == pytest.approx(((0.75 - 0.4) + (0.5 - 0.2)) / 2)
    assert (found.n_missing, found.n_planned) == (2, 8)
    with pytest.raises(ValueError, match="without `bounds`"):
        missing_bounds(panel, "m", settings=Settings(bounds=None))


def test_runs_known_only_within_a_range() -> None:
    low = study({"m": {"x": [0.2, 0.4], "y": [0.5, 0.5]}})
    high = replace(low, scores=low.scores + np.array([[[0.2, 0.0], [0.0, 0.0]]]))
    found = range_bounds(low, high, "m")
    assert (found.low, found.observed.estimate, found.high) == pytest.approx((0.4, 0.425, 0.45))
    with pytest.raises(ValueError, match="not of the same runs"):
        range_bounds(low, study({"n": {"x": [0.2, 0.4], "y": [0.5, 0.5]}}), "m")


def test_places_a_model_can_have() -> None:
    panel = study({"a": {"x": [0.9, 0.9]}, "b": {"x": [0.5, None]}, "c": {"x": [0.3, 0.3]}})
    assert [rank_range(panel, m) for m in "abc"] == [(1, 1), (2, 3), (2, 3)]
    assert rank_range(panel, "a", Estimator(3)) is None


def test_detectable_by_hand_and_halved() -> None:
    plan = Plan(tasks=36, seeds=3, families=4, between=0.0, within=0.03)
    found = power_of(plan, cost_per_run=2.0)
    reach = t_quantile(0.975, 32) + t_quantile(0.8, 32)
    assert found.detectable == pytest.approx(reach * (0.01 / 36) ** 0.5)
    assert found.more_seeds is not None
    assert (found.more_seeds.seeds, found.more_seeds.runs_added, found.more_seeds.price) == (12, 648, 1296)
    assert found.more_tasks is not None
    assert 136 <= found.more_tasks.tasks <= 144
    halved = detectable(replace(plan, tasks=found.more_tasks.tasks), 0.05, 0.8)
    one_less = detectable(replace(plan, tasks=found.more_tasks.tasks - 1), 0.05, 0.8)
    assert halved is not None
    assert one_less is not None
    assert halved <= (found.detectable or 0) / 2 < one_less


def test_no_number_of_seeds_helps_where_tasks_differ() -> None:
    found = power_of(Plan(tasks=36, seeds=3, families=4, between=0.02, within=0.03))
    assert found.more_seeds is None
    assert found.more_tasks is not None
    assert found.more_tasks.price is None
    fixed = power_of(Plan(tasks=4, seeds=3, families=1, between=0.0, within=0.03, reading="fixed tasks"))
    assert fixed.more_tasks is None
    assert fixed.more_seeds is not None


def test_a_plan_that_can_tell_nothing_and_one_that_makes_no_sense() -> None:
    assert power_of(Plan(4, 3, 4, 0.0, 0.1)).detectable is None
    assert power_of(Plan(4, 3, 1, 0.0, 0.0)).detectable == 0
    with pytest.raises(ValueError, match="at least one task"):
        Plan(0, 3, 1, 0.0, 0.1)
    with pytest.raises(ValueError, match="variances"):
        Plan(1, 3, 1, float("nan"), 0.1)
    with pytest.raises(ValueError, match="cost per run"):
        power_of(Plan(4, 3, 1, 0.0, 0.1), cost_per_run=-1)
    with pytest.raises(ValueError, match="two tasks with both"):
        plan_of(study({"m": {"x": [0.1]}, "n": {"x": [0.2]}}), "m", "n")


def test_a_plan_finds_the_variances_of_its_study() -> None:
    rng = np.random.default_rng(0)
    template = paper_sized()
    wide = replace(
        template,
        tasks=tuple(f"t{i:04d}" for i in range(800)),
        categories=("a",) * 400 + ("b",) * 400,
        scores=rng.normal(0, 0.1, (2, 800, 1)) + rng.normal(0, 0.2, (2, 800, 3)),
    )
    found = plan_of(wide, "m00", "m01")
    assert (found.tasks, found.seeds, found.families, found.df) == (800, 3, 2, 798)
    assert found.between == pytest.approx(2 * 0.1**2, rel=0.25)
    assert found.within == pytest.approx(2 * 0.2**2, rel=0.1)
    assert plan_of(wide, "m00", "m01", reading="fixed tasks").between == 0
