from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist, variance

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_strategies import scores

from loopscope.measures import Confidence, confidence_of_dip, depth_in_bands, dip_confidence, noise_band, pooled_sd

several = st.lists(scores, min_size=1, max_size=6)


def test_the_band_is_the_middle_spread_of_the_states() -> None:
    assert noise_band([["0.5", "0.52", None], ["0.1", "0.9"][:1], ["0.7", "0.66"]]) == Fraction("0.04")
    assert noise_band([["0.5"], [None, "0.4"], []]) is None
    assert noise_band([["0.5", "0.5"]]) == 0
    # One disturbed measurement does not widen the band of all states.
    assert noise_band([["0.5", "0.51"], ["0.6", "0.62"], ["0.1", "0.9"]]) == Fraction("0.02")


def test_confidence_by_hand() -> None:
    # pairs: (.50,.48) falls, (.50,.50) not, (.49,.48) falls by exactly eps and so not, (.49,.50) not
    assert dip_confidence(["0.50", "0.49"], ["0.48", "0.50"]) == Confidence(Fraction(1, 4), 4)
    assert dip_confidence(["0.5"], ["0.3"]) == Confidence(Fraction(1), 1)
    assert dip_confidence([None], ["0.3"]) is None


@given(several, several)
def test_a_fall_and_its_return_are_never_both_sure(before: list[Fraction], after: list[Fraction]) -> None:
    down, up = dip_confidence(before, after), dip_confidence(after, before)
    assert down is not None
    assert up is not None
    assert down.share + up.share <= 1
    assert down.pairs == up.pairs == len(before) * len(after)


@given(several, several)
def test_what_lies_apart_on_both_sides_is_sure(before: list[Fraction], after: list[Fraction]) -> None:
    found = dip_confidence(before, after)
    assert found is not None
    assert (found.share == 1) == (min(before) > max(after) + Fraction(1, 100))


def test_depth_in_bands_needs_a_band_that_is_not_nothing() -> None:
    assert depth_in_bands("0.3", "0.1") == 3
    assert depth_in_bands("0.3", None) is None
    assert depth_in_bands("0.3", 0) is None


@given(st.lists(several, min_size=1, max_size=4))
def test_the_noise_of_one_measurement_is_the_pooled_deviation_within_states(groups: list[list[Fraction]]) -> None:
    found, several_times = pooled_sd(groups), [group for group in groups if len(group) > 1]
    if not several_times:
        assert found is None
        return
    squares = sum(float(variance(group)) * (len(group) - 1) for group in several_times)
    df = sum(len(group) - 1 for group in several_times)
    assert found == pytest.approx(math.sqrt(squares / df), abs=1e-12)
    assert pooled_sd([[value + 1 for value in group] for group in groups]) == found, "exact: no level matters"


def test_a_dip_of_single_measurements_is_as_sure_as_the_normal_says() -> None:
    found = confidence_of_dip(["0.5"], ["0.39"], 0.08)
    assert found is not None
    assert found.value == pytest.approx(NormalDist().cdf((0.11 - 0.01) / (0.08 * math.sqrt(2))))
