from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_strategies import scores

from loopscope.measures import c3, dip_confidence
from loopscope.measures.uncertainty import components, confidence_of_dip, noise_dips, pooled_sd
from loopscope.measures.uncertainty.components import _solve, _sums
from loopscope.measures.uncertainty.dips import never_falling


def test_components_of_a_balanced_table_by_hand() -> None:
    cube = np.array([[[0.1, 0.3], [0.5, 0.5]], [[0.7, 0.9], [0.8, 1.0]]])
    found = components(cube, ["a", "a"])
    repeat = (0.02 + 0 + 0.02 + 0.02) / 4
    seed = (2 * 0.15**2 + 2 * 0.05**2) / 2 - repeat / 2
    task = 2 * 0.25**2 - seed / 2 - repeat / 4
    assert found.verification is not None
    assert found.seed is not None
    assert found.task is not None
    assert found.verification.variance == pytest.approx(repeat)
    assert found.seed.variance == pytest.approx(seed)
    assert found.task.variance == pytest.approx(task)
    assert (found.task.df, found.seed.df, found.verification.df) == (1, 2, 4)
    assert found.task.low is None


def test_components_are_found_again_in_unbalanced_data() -> None:
    rng = np.random.default_rng(0)
    cube = 0.5 + rng.normal(0, 0.3, (300, 1, 1)) + rng.normal(0, 0.2, (300, 4, 1)) + rng.normal(0, 0.1, (300, 4, 3))
    cube[rng.random(cube.shape) < 0.3] = np.nan
    found = components(cube, ["a"] * 150 + ["b"] * 150)
    for part, sd in ((found.task, 0.3), (found.seed, 0.2), (found.verification, 0.1)):
        assert part is not None
        assert part.sd == pytest.approx(sd, rel=0.1)
        assert part.low is not None
        assert part.high is not None
        assert part.low < sd**2 < part.high


def test_unequal_families_with_unequal_seeds_leave_no_bias() -> None:
    """Two tasks of two seeds, ten of eight, and no task variance at all: the mean of the raw component is 0."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(3000):
        cube = rng.normal(0, 1, (12, 8, 1))
        cube[:2, 2:] = np.nan
        sums = _sums(cube, np.array([0, 0, *[1] * 10]))
        found.append(float(_solve(sums, np.ones((1, 12)))[0, 0]))
    assert abs(np.mean(found)) < 3.5 * np.std(found) / 3000**0.5
    assert np.std(found) / 3000**0.5 < 0.003


def test_what_cannot_be_told_apart_is_none_or_marked() -> None:
    single = components(np.array([[0.1], [0.5]]), ["a", "a"])
    assert single.seed is None
    assert single.verification is None
    assert single.task is not None
    zero = components(np.array([[0.1, 0.9], [0.9, 0.1]]), ["a", "a"])
    assert zero.task is not None
    assert (zero.task.variance, zero.task.at_zero) == (0, True)
    nothing = components(np.full((2, 2), np.nan), ["a", "a"])
    assert (nothing.task, nothing.seed, nothing.verification) == (None, None, None)


@settings(deadline=None)
@given(st.lists(scores, min_size=2, max_size=12))
def test_dips_are_counted_as_c3_counts_them(course: list[float]) -> None:
    assert noise_dips(course, 0.0, draws=1).dips == len(c3(course, course[-1], initial_is_boundary=False).episodes)


def test_without_noise_no_dip_is_of_noise_and_with_much_all_are() -> None:
    course = ["0.2", "0.5", None, "0.3", "0.8"]
    silent, loud = noise_dips(course, 0.0, draws=50), noise_dips(course, 0.5)
    assert (silent.dips, silent.expected, silent.share) == (1, 0, 0)
    assert silent.chance == 1 / 51
    assert (loud.share or 0) > 0.9
    assert loud.chance > 0.5
    assert noise_dips([0.1, 0.2], 0.0).share is None
    assert noise_dips([0.1], 0.1).dips == 0
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="standard deviation"):
            noise_dips(course, wrong)


def test_flat_noise_makes_the_dips_that_theory_says() -> None:
    """Of three equal states dips start where the first or (only) the second drop occurs: 1/2 + 1/2 - P(both) = 5/6."""
    assert noise_dips([0.5, 0.5, 0.5], 1000.0, draws=20_000).expected == pytest.approx(5 / 6, abs=0.01)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_nearest_course_never_falls_and_keeps_the_mean(values: list[float]) -> None:
    found = never_falling(np.array(values))
    assert (np.diff(found) >= -1e-12).all()
    assert found.mean() == pytest.approx(np.mean(values))
    if (np.diff(values) >= 0).all():
        assert found == pytest.approx(np.array(values))


def test_one_confidence_of_a_dip() -> None:
    u, v = ["0.50", "0.49"], ["0.48", "0.50"]
    pairs, found = dip_confidence(u, v), confidence_of_dip(u, v, sd=0.3)
    assert pairs is not None
    assert found is not None
    assert (found.value, found.method, found.pairs) == (float(pairs.share), "pairs", 4)
    assert confidence_of_dip(["0.5"], ["0.3"]) is None
    pooled = confidence_of_dip(["0.5"], ["0.39"], sd=0.1 / 2**0.5)
    assert pooled is not None
    assert (pooled.value, pooled.method) == (pytest.approx(0.8413447), "pooled noise")
    assert confidence_of_dip([None], ["0.3"], sd=0.1) is None
    sure = confidence_of_dip(["0.5"], ["0.4"], sd=0.0)
    assert sure is not None
    assert sure.value == 1
    with pytest.raises(ValueError, match="standard deviation"):
        confidence_of_dip(["0.5"], ["0.3"], sd=-0.1)


def test_pooled_noise_of_repeated_measurements() -> None:
    assert pooled_sd([["0.1", "0.3"], [0.5, 0.5, 0.5], [0.7], [None]]) == pytest.approx((0.02 / 3) ** 0.5)
    assert pooled_sd([[0.1], []]) is None
