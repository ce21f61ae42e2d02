from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uncertainty_studies import paper_sized, study

from loopscope.measures.uncertainty import (
    Estimator,
    Settings,
    adjusted,
    difference,
    differences,
    label_shuffles,
    sign_flips,
    sign_test,
)
from loopscope.measures.uncertainty.permutation import pair_flips

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
    listed, drawn = sign_flips(values, 0, 0), sign_flips(np.concatenate([values, np.zeros(3)]), 20_000, 0)
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
    assert found.p == pytest.approx(exact, abs=0.01)
    assert found.least == 2 / 10
    assert label_shuffles(first, np.full((1, 3), np.nan), 10, 0) is None
    many = label_shuffles(np.linspace(0, 1, 9)[None], np.linspace(0, 1, 9)[None], 500, 0)
    assert many is not None
    assert many.p == 1


@pytest.mark.parametrize("long", [False, True])
def test_tasks_of_several_shapes_are_shuffled_each_by_its_own_draws(long: bool) -> None:
    rng = np.random.default_rng(3)
    first, second = rng.random((5, 8)), rng.random((5, 8))
    for task, (n, m) in enumerate([(2, 1), (3, 3), (8, 7) if long else (1, 4), (3, 3), (2, 1)]):
        first[task, n:], second[task, : 8 - m] = np.nan, np.nan
    total, statistic, draws = np.zeros(400), 0.0, np.random.default_rng(7)
    for one, other in zip(first, second, strict=True):
        one, other = one[~np.isnan(one)], other[~np.isnan(other)]
        pool, n = np.concatenate([one, other]), len(one)
        some = list(combinations(range(len(pool)), n))
        if len(some) > 1000:
            orders = np.argsort(draws.random((400, len(pool))), axis=1)
        else:
            listed = np.array([[*firsts, *(i for i in range(len(pool)) if i not in firsts)] for firsts in some])
            orders = listed[draws.integers(0, len(listed), 400)]
        total += pool[orders[:, :n]].mean(axis=1) - pool[orders[:, n:]].mean(axis=1)
        statistic += one.mean() - other.mean()
    for _ in range(2):  # the second time the draws are kept ones
        found = label_shuffles(first, second, 400, 7)
        assert found is not None
        assert found.p == (int((np.abs(total) >= abs(statistic) - 1e-9).sum()) + 1) / 401


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
