from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uncertainty_studies import paper_sized, study

from loopscope.measures.uncertainty import (
    NO_EVIDENCE,
    Estimator,
    Run,
    Settings,
    adjusted,
    difference,
    differences,
    label_shuffles,
    sign_flips,
    sign_test,
)
from loopscope.measures.uncertainty import panel as panel_of
from loopscope.measures.uncertainty.differences import BY_TEST_ALONE
from loopscope.measures.uncertainty.panel import Floats
from loopscope.measures.uncertainty.permutation import draws_for, pair_flips, sign_flips_of

FIXED = Settings(reading="fixed tasks")
apart = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=8)


@settings(deadline=None)
@given(apart)
def test_sign_flips_list_every_sign(values: list[float]) -> None:
    found = sign_flips(np.array(values), 10, 0)
    sums = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) for signs in product((1, -1), repeat=len(values))
    ]
    assert found is not None
    assert found.exact
    assert found.p == sum(s >= abs(sum(values)) - 1e-9 for s in sums) / len(sums)
    assert found.p >= found.least == 2 / 2 ** len(values)


def test_drawn_signs_agree_with_listed_ones() -> None:
    values = np.random.default_rng(1).normal(0.4, 1, 14)
    listed, drawn = sign_flips(values, 0, 0), sign_flips(np.concatenate([values, np.zeros(13)]), 20_000, 0)
    assert listed is not None
    assert drawn is not None
    assert not drawn.exact
    assert drawn.p == pytest.approx(listed.p, abs=0.015)
    assert sign_flips(np.array([np.nan]), 10, 0) is None


def test_shuffled_labels_agree_with_all_of_them() -> None:
    first, second = np.array([[0.9, 0.8, 0.7]]), np.array([[0.6, 0.5, np.nan]])
    pool = [0.9, 0.8, 0.7, 0.6, 0.5]
    gaps = [sum(some) / 3 - (sum(pool) - sum(some)) / 2 for some in combinations(pool, 3)]
    exact = sum(abs(g) >= 0.25 - 1e-9 for g in gaps) / len(gaps)
    found = label_shuffles(first, second, 20_000, 0)
    assert found is not None
    assert (found.p, found.exact) == (pytest.approx(exact), True)
    assert found.least == 1 / 10, "no other order of 3 and 2 is the mirror image of one"
    assert label_shuffles(first, np.full((1, 3), np.nan), 10, 0) is None
    many = label_shuffles(np.linspace(0, 1, 9)[None], np.linspace(0, 1, 9)[None], 500, 0)
    assert many is not None
    assert many.p == 1


def of_shapes(shapes: list[tuple[int, int]]) -> tuple[Floats, Floats]:
    """Scores of two models, by task, with so many runs of each."""
    rng, most = np.random.default_rng(3), max(max(shape) for shape in shapes)
    first, second = rng.random((2, len(shapes), most))
    for task, (n, m) in enumerate(shapes):
        first[task, n:], second[task, : most - m] = np.nan, np.nan
    return first, second


def brute(first: Floats, second: Floats) -> float:
    """p over every order of every task."""
    total, statistic = np.zeros(1), 0.0
    for one, other in zip(first, second, strict=True):
        one, other = one[~np.isnan(one)], other[~np.isnan(other)]
        pool, n = np.concatenate([one, other]), len(one)
        apart = [
            np.mean(pool[list(some)]) - np.mean(np.delete(pool, some)) for some in combinations(range(len(pool)), n)
        ]
        total = np.add.outer(total, apart).ravel()
        statistic += one.mean() - other.mean()
    return float((np.abs(total) >= abs(statistic) - 1e-9).mean())


def test_tasks_of_several_shapes_are_shuffled_each_in_all_its_orders() -> None:
    first, second = of_shapes([(2, 1), (3, 3), (1, 4), (3, 3), (2, 1)])
    for _ in range(2):  # the second time the lists are kept ones
        found = label_shuffles(first, second, 1, 7)
        assert found is not None
        assert (found.p, found.exact) == (pytest.approx(brute(first, second)), True)
        assert found.least == 1 / (3 * 20 * 5 * 20 * 3)


@pytest.mark.parametrize("shapes", [[(2, 2)] * 3 + [(8, 8)], [(2, 2)] * 3 + [(4, 5), (5, 4)] * 2 + [(1, 9)] * 3])
def test_orders_that_are_too_many_to_list_are_drawn(shapes: list[tuple[int, int]]) -> None:
    first, second = of_shapes(shapes)
    found, other = (label_shuffles(first, second, draws, 7) for draws in (20_000, 10_000))
    assert found is not None
    assert other is not None
    assert not found.exact
    assert found.p == other.p > 0.01, "so plain that the first draws do"
    if len(shapes) == 4:
        assert found.p == pytest.approx(brute(first, second), abs=0.02)
    second += 2
    [low, lower] = (label_shuffles(first, second, draws, 7) for draws in (5_000, 25_000))
    assert low is not None
    assert lower is not None
    assert 1 / 5001 <= low.p < 0.01
    assert 1 / 25_001 <= lower.p < 0.01
    if len(shapes) > 4:
        assert (low.p, lower.p) == (low.least, lower.least) == (1 / 5001, 1 / 25_001)


def test_two_runs_against_five_can_be_one_of_twenty_one_orders() -> None:
    found = label_shuffles(np.array([[0.9, 0.91, *[np.nan] * 3]]), np.array([[0.1, 0.2, 0.15, 0.12, 0.11]]), 10, 0)
    assert found is not None
    assert found.p == pytest.approx(1 / 21)
    assert found.p == found.least
    assert found.exact


def test_signs_of_many_comparisons_are_those_of_each_alone() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(0.3, 0.5, (4, 30))
    values[0] = 0.3  # the plainest of all
    values[2, 20:] = np.nan
    values[3] = np.nan
    alone = [sign_flips(row, 25_000, 1) for row in values]
    assert sign_flips_of(values, 25_000, 1) == alone
    assert alone[0] is not None
    assert alone[2] is not None
    assert alone[0].p == alone[0].least == 1 / 25_001
    assert alone[2].exact
    assert alone[3] is None


def test_of_many_comparisons_the_plain_ones_are_found() -> None:
    rng = np.random.default_rng(1)
    runs = [
        Run(f"m{m:02}", f"t{t:02}", "1", min(1, max(0, 0.02 + 0.028 * m + rng.normal(0, 0.01))))
        for m in range(33)
        for t in range(28)
    ]
    for tasks in (16, 28):  # all signs counted, and drawn
        part = panel_of([run for run in runs if int(run.task[1:]) < tasks], {f"t{t:02}": "x" for t in range(28)})
        found = differences(part, settings=Settings(draws=draws_for(528)))
        assert len(found) == 528
        assert sum(NO_EVIDENCE not in one.verdict for one in found) > 500


def test_swapped_pairs_are_sign_flips_of_the_mean() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.random((4, 3)), rng.random((4, 3))
    found, flips = pair_flips(first, second, 20_000, 0), sign_flips((first - second).ravel(), 0, 0)
    assert found is not None
    assert flips is not None
    assert found.p == pytest.approx(flips.p, abs=0.015)
    assert pair_flips(first, np.full((4, 3), np.nan), 10, 0) is None


def test_sign_test_with_ties() -> None:
    found = sign_test(np.array([0.3, 0.2, 0.1, 0.02, 0.01, -0.01, -0.2, np.nan]), tie=0.01)
    assert (found.positive, found.tie, found.negative) == (4, 2, 1)
    assert found.test is not None
    assert found.test.p == pytest.approx(2 * (1 + 5) / 32)
    assert sign_test(np.zeros(3)).test is None


def test_known_adjustments() -> None:
    ps = [0.01, 0.04, None, 0.03, 0.005]
    assert adjusted(ps) == pytest.approx((0.03, 0.06, None, 0.06, 0.02), nan_ok=True)
    assert adjusted(ps, "benjamini-hochberg") == pytest.approx((0.02, 0.04, None, 0.04, 0.02))
    assert adjusted(ps, "none") == tuple(ps)
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjusted([1.5])


def test_a_clear_difference_is_said_and_its_direction() -> None:
    panel = paper_sized(lead=0.2)
    for reading in (Settings(), FIXED):
        found = difference(panel, "m00", "m01", settings=reading)
        assert found.verdict == "m00 is lower than m01"
        assert found.effect is not None
        assert found.effect.superiority < 0.2
        back = difference(panel, "m01", "m00", settings=reading)
        assert back.interval.estimate == pytest.approx(-(found.interval.estimate or 0))
        assert back.verdict == "m01 is higher than m00"


def test_no_evidence_is_said_and_why() -> None:
    alike = paper_sized(seed=1)
    assert difference(alike, "m00", "m01").verdict == "no evidence of a difference"
    four = difference(paper_sized(lead=0.4), "m00", "m01", category="d")
    assert "none was possible: with so few tasks p is at least 0.12" in four.verdict
    one = difference(study({"m": {"x": [0.1]}, "n": {"x": [0.9]}}), "m", "n")
    assert "one task" in one.verdict
    apart = difference(study({"m": {"x": [1, 1]}, "n": {"y": [1, 1]}}), "m", "n")
    assert (apart.interval.estimate, apart.test, apart.effect) == (None, None, None)
    assert "nothing to compare" in apart.verdict
    short = difference(study({m: {"x": [0.1, 0.2], "y": [0.1]} for m in "mn"}), "m", "n", Estimator(2))
    assert "1 of 2 tasks have fewer than 2 scores of one and no best@2" in (short.interval.guard or "")
    same = difference(study({m: {f"t{i}": [0.5, 0.5] for i in range(9)} for m in "mn"}), "m", "n")
    assert same.verdict == "no evidence of a difference"
    assert same.effect is not None
    assert same.effect.d_z is None


def test_tasks_that_both_solve_are_told() -> None:
    first = {f"t{i}": [1.0] for i in range(6)} | {"t6": [0.5], "t7": [0.7]}
    found = difference(study({"m": first, "n": first | {"t6": [0.2], "t7": [0.6]}}), "m", "n")
    assert "6 of 8 tasks do not differ at all" in (found.interval.guard or "")


def test_seeds_that_are_pairs_say_more_of_fixed_tasks() -> None:
    rng = np.random.default_rng(3)
    base = rng.random((8, 3)) * 0.8
    panel = study(
        {
            "with": {f"t{i}": [float(v) + 0.1 for v in row] for i, row in enumerate(base)},
            "without": {
                f"t{i}": [float(v) for v in row] for i, row in enumerate(base + rng.normal(0, 0.01, base.shape))
            },
        }
    )
    paired = difference(panel, "with", "without", settings=FIXED, pairing="seed")
    alone = difference(panel, "with", "without", settings=FIXED)
    assert (paired.interval.width or 1) < (alone.interval.width or 0) / 5
    assert paired.verdict == "with is higher than without"
    assert paired.test is not None
    best = difference(panel, "with", "without", Estimator(2), settings=FIXED, pairing="seed")
    assert best.interval.estimate == pytest.approx(0.1, abs=0.05)


def test_a_run_without_its_partner_leaves_a_pair() -> None:
    panel = study({"m": {"x": [0.5, None], "y": [0.4, 0.6]}, "n": {"x": [0.1, 0.9], "y": [0.1, 0.2]}})
    assert difference(panel, "m", "n", pairing="seed").interval.estimate == pytest.approx((0.4 + 0.35) / 2)
    assert difference(panel, "m", "n").interval.estimate == pytest.approx((0.0 + 0.35) / 2)
    assert difference(panel, "m", "n").interval.n_missing == 1


def test_a_family_of_comparisons_corrects_and_speaks_for_the_family() -> None:
    found = differences(paper_sized(models=4, seed=5, lead=0.01))
    assert len(found) == 6
    assert {d.correction for d in found} == {"holm"}
    for d in found:
        assert d.test is not None
        assert d.p_adjusted is not None
        assert d.p_adjusted >= d.test.p
        assert (d.p_adjusted <= 0.05) or d.verdict.startswith("no evidence")


def test_a_lead_that_is_the_same_on_every_task_is_found_where_seeds_tell_the_noise() -> None:
    six = study(
        {m: {f"t{i}": [base + 0.01 * s for s in range(2)] for i in range(6)} for m, base in (("a", 0.8), ("b", 0.3))}
    )
    found = difference(six, "a", "b")
    assert found.verdict == "a is higher than b"
    assert found.interval.low is not None
    assert found.interval.low > 0.45
    alike = study({m: {f"t{i}": [base] * 2 for i in range(8)} for m, base in (("a", 0.7), ("b", 0.5))})
    unseen = difference(alike, "a", "b")
    assert unseen.test is not None
    assert unseen.interval.guard is not None
    assert unseen.test.p < 0.05
    low, high = unseen.interval.low, unseen.interval.high
    assert low is not None and high is not None and low < 0 < high
    assert unseen.verdict == f"a is higher than b, {BY_TEST_ALONE}"
    assert difference(alike, "b", "a").verdict == f"b is lower than a, {BY_TEST_ALONE}"
    assert difference(alike, "a", "b", settings=FIXED).verdict.startswith("a is higher than b")
    assert "no task differs within its family: the interval is what so few can leave unseen" in unseen.interval.guard
