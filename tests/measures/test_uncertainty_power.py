from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from uncertainty_studies import paper_sized, study

from loopscope.measures.uncertainty import Estimator, Plan, obstacle, plan_of, pooled, power_of, sign_flips, to_find
from loopscope.measures.uncertainty.distributions import t_quantile
from loopscope.measures.uncertainty.power import detectable


def test_detectable_by_hand_and_halved() -> None:
    plan = Plan(tasks=36, seeds=3, families=4, between=0.0, within=0.03)
    found = power_of(plan)
    reach = t_quantile(0.975, 32) + t_quantile(0.8, 32)
    assert found.detectable == pytest.approx(reach * (0.01 / 36) ** 0.5)
    assert found.more_seeds is not None
    assert (found.more_seeds.tasks, found.more_seeds.seeds, found.more_seeds.runs_added) == (36, 12, 648)
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
    fixed = power_of(Plan(tasks=4, seeds=3, families=1, between=0.0, within=0.03, reading="fixed tasks"))
    assert fixed.more_tasks is None
    assert fixed.more_seeds is not None


def test_what_it_takes_to_find_a_difference() -> None:
    plan = Plan(tasks=36, seeds=3, families=4, between=0.001, within=0.03)
    least = detectable(plan, 0.05, 0.8)
    assert least is not None
    same = to_find(plan, least)
    assert same.chance == pytest.approx(0.8)
    assert (same.more_seeds, same.more_tasks) == (None, None)
    smaller = to_find(plan, 0.7 * least)
    assert smaller.chance is not None
    assert 0.3 < smaller.chance < 0.7
    assert smaller.more_seeds is not None
    assert smaller.more_tasks is not None
    enough = to_find(replace(plan, seeds=smaller.more_seeds.seeds), 0.7 * least)
    short = to_find(replace(plan, seeds=smaller.more_seeds.seeds - 1), 0.7 * least)
    assert enough.chance is not None
    assert short.chance is not None
    assert short.chance < 0.8 <= enough.chance + 1e-9
    for wrong in (0.0, -0.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="above 0"):
            to_find(plan, wrong)


def test_what_no_test_can_find_is_not_promised() -> None:
    """The verdict asks for the test's p, too: of five tasks it is 1/16 at least, and six are the fewest for 0.05."""
    five = Plan(tasks=5, seeds=3, families=1, between=0.01, within=0.01)
    six = replace(five, tasks=6)
    assert power_of(five).detectable is None
    assert "no result of 5 tasks can have a p below 0.062" in (obstacle(five, 0.05) or "")
    assert power_of(six).detectable is not None
    assert power_of(five, alpha=0.1).detectable is not None
    larger = to_find(five, 5.0)
    assert larger.chance is None
    assert larger.more_tasks is not None
    assert larger.more_tasks.tasks == 6
    test = sign_flips(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), 100, 0)
    assert test is not None
    assert five.least == test.least == test.p
    one = Plan(tasks=1, seeds=3, families=1, between=0.0, within=0.01, reading="fixed tasks")
    assert one.least == pytest.approx(0.1)
    assert "1 task with 3 seeds" in (obstacle(one, 0.05) or "")
    assert obstacle(replace(one, seeds=4), 0.05) is None


@pytest.mark.parametrize("alpha", [2.1e-5, 1e-7])
def test_the_fewest_tasks_for_a_small_alpha_are_enough(alpha: float) -> None:
    """As for the first of 2,415 comparisons: the tests are drawn as often as so many need."""
    few = Plan(tasks=5, seeds=3, families=1, between=0.01, within=0.01)
    fewest = int((obstacle(few, alpha) or "").split("; ")[1].split()[0])
    assert fewest == (17 if alpha > 1e-6 else 25)
    for tasks in (fewest, 40, 1_000_000):
        assert obstacle(replace(few, tasks=tasks), alpha) is None
    assert obstacle(replace(few, tasks=fewest - 1), alpha) is not None
    one = replace(few, tasks=1, reading="fixed tasks", between=0.0)
    assert "more seeds can" in (obstacle(one, alpha) or "")
    assert obstacle(replace(one, seeds=50), alpha) is None


def test_one_seed_tells_what_is_found_but_not_what_more_would_do() -> None:
    scores = np.random.default_rng(1).uniform(0, 1, (2, 12))
    panel = study({m: {f"t{i}": [float(s)] for i, s in enumerate(row)} for m, row in zip("mn", scores, strict=True)})
    plan = plan_of(panel, "m", "n")
    assert (plan.seeds, plan.within) == (1, None)
    assert plan.between == pytest.approx(float((scores[0] - scores[1]).var(ddof=1)))
    found = power_of(plan)
    assert found.detectable is not None
    assert found.more_seeds is None
    assert found.more_tasks is not None
    with pytest.raises(ValueError, match="one seed per task"):
        plan_of(panel, "m", "n", reading="fixed tasks")


def test_one_task_tells_of_its_seeds_alone() -> None:
    panel = study({"m": {"x": [0.1, 0.2, 0.3, 0.5]}, "n": {"x": [0.2, 0.2, 0.4, 0.4]}})
    with pytest.raises(ValueError, match="one task: nothing says how tasks differ"):
        plan_of(panel, "m", "n")
    assert power_of(plan_of(panel, "m", "n", reading="fixed tasks")).detectable is not None
    with pytest.raises(ValueError, match="no task has a score of both"):
        plan_of(study({"m": {"x": [0.1]}, "n": {"y": [0.2]}}), "m", "n")


def test_all_equal_promises_nothing() -> None:
    panel = study({m: {f"t{i}": [0.1, 0.1, 0.1] for i in range(8)} for m in "mn"})
    plan = plan_of(panel, "m", "n")
    assert (plan.between, plan.within) == (0, 0)
    found = power_of(plan)
    assert (found.detectable, found.more_seeds, found.more_tasks) == (0, None, None)


def test_the_best_of_k_has_a_plan_where_there_are_k_scores() -> None:
    panel = paper_sized()
    avg, best = plan_of(panel, "m00", "m01"), plan_of(panel, "m00", "m01", estimator=Estimator(3))
    assert best.within is not None
    assert avg.within is not None
    assert (best.tasks, best.within != avg.within) == (36, True)
    with pytest.raises(ValueError, match="no task has a score of both for best@4"):
        plan_of(panel, "m00", "m01", estimator=Estimator(4))


def test_unbalanced_cells_borrow_the_others_seed_variance() -> None:
    panel = study(
        {
            "m": {"x": [0.1, 0.3], "y": [0.5], "z": [0.2, 0.2]},
            "n": {"x": [0.2, 0.4], "y": [0.4, 0.6], "z": [None, 0.1]},
        }
    )
    plan = plan_of(panel, "m", "n", reading="fixed tasks")
    m, n = (0.02 + 0.01 + 0.0) / 3, (0.02 + 0.02 + 0.02) / 3
    assert plan.within == pytest.approx(m + n)
    assert (plan.tasks, plan.seeds) == (3, 2)


def test_a_plan_that_can_tell_nothing_and_one_that_makes_no_sense() -> None:
    assert power_of(Plan(8, 3, 8, 0.0, 0.1)).detectable is None
    with pytest.raises(ValueError, match="at least one task"):
        Plan(0, 3, 1, 0.0, 0.1)
    with pytest.raises(ValueError, match="variances"):
        Plan(1, 3, 1, float("nan"), 0.1)
    with pytest.raises(ValueError, match="random tasks with one seed"):
        Plan(8, 3, 1, 0.1, None)
    for wrong in (0.0, 1.0, float("nan")):
        with pytest.raises(ValueError, match="between 0 and 1"):
            power_of(Plan(8, 3, 1, 0.1, 0.1), alpha=wrong)
        with pytest.raises(ValueError, match="between 0 and 1"):
            power_of(Plan(8, 3, 1, 0.1, 0.1), power=wrong)


def test_a_plan_finds_the_variances_of_its_study() -> None:
    rng = np.random.default_rng(0)
    wide = replace(
        paper_sized(),
        tasks=tuple(f"t{i:04d}" for i in range(800)),
        categories=("a",) * 400 + ("b",) * 400,
        scores=rng.normal(0, 0.1, (2, 800, 1)) + rng.normal(0, 0.2, (2, 800, 3)),
    )
    found = plan_of(wide, "m00", "m01")
    assert (found.tasks, found.seeds, found.families, found.df) == (800, 3, 2, 798)
    assert found.between == pytest.approx(2 * 0.1**2, rel=0.25)
    assert found.within == pytest.approx(2 * 0.2**2, rel=0.1)
    assert plan_of(wide, "m00", "m01", reading="fixed tasks").between == 0


def test_pooling_takes_mean_variances_and_the_smallest_design() -> None:
    plans = [Plan(36, 3, 4, 0.01, 0.02), Plan(30, 3, 4, 0.03, 0.04)]
    found = pooled(plans)
    assert found.tasks == 30
    assert [found.between, found.within] == pytest.approx([0.02, 0.03])
    single = Plan(36, 1, 4, 0.1, None)
    assert pooled([single, single]).within is None
    with pytest.raises(ValueError, match="one reading"):
        pooled([])
    with pytest.raises(ValueError, match="one reading"):
        pooled([plans[0], Plan(36, 3, 4, 0.0, 0.02, reading="fixed tasks")])
