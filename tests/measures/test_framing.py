from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from measure_strategies import maybe_scores, scores, trajectories

from loopscope.measures import HORIZON, Flag, c1, c1_from_stored, high_water
from loopscope.measures.framing import carried_forward

trajectory = st.lists(maybe_scores, min_size=1, max_size=30)
long_trajectory = st.lists(maybe_scores, min_size=HORIZON, max_size=25)


def value(x: list[Fraction | None]) -> Fraction:
    found = c1(x).value
    assert found is not None
    return found


def test_unscored_without_a_checkpoint_and_a_flagged_zero_without_a_score() -> None:
    assert c1([]).value is None
    assert c1([]).flags == ()
    assert c1([None]).value == 0
    assert c1([None]).flags == (Flag.NO_OBSERVED_SCORE,)
    assert c1([0]).flags == ()


def test_a_score_beyond_the_horizon_is_none_within_it() -> None:
    late = c1([None] * 20 + [1])
    assert late.value == 0
    assert late.flags == (Flag.CUT_AT_HORIZON, Flag.NO_OBSERVED_SCORE)
    assert late.high_water[-1] == 1


def test_scores_outside_the_unit_interval_are_flagged() -> None:
    assert c1([1.2]).flags == (Flag.OUT_OF_RANGE,)
    assert c1([-0.1]).flags == (Flag.OUT_OF_RANGE,)


def test_high_water_keeps_positions() -> None:
    assert [str(mark) for mark in high_water([None, 0.2, 0.1, None, 0.3])] == ["0", "1/5", "1/5", "1/5", "3/10"]


@pytest.mark.parametrize("length", [1, 19, 20, 21, 40])
def test_there_are_always_as_many_marks_as_the_horizon(length: int) -> None:
    assert len(carried_forward(high_water([0.5] * length))) == HORIZON


@given(trajectory)
def test_bounds(x: list[Fraction | None]) -> None:
    found = c1(x)
    assert found.value is not None and found.early is not None and found.middle is not None and found.late is not None
    assert 0 <= found.early <= found.middle <= found.late <= found.high_water[min(len(x), HORIZON) - 1] <= 1
    assert found.early <= found.value <= found.late


@given(trajectory)
def test_only_prefix_maxima_matter(x: list[Fraction | None]) -> None:
    assert value(x) == value(list(high_water(x)))
    assert value(x) == value([0 if score is None else score for score in x])  # type: ignore[misc]


@given(long_trajectory, trajectories)
def test_nothing_beyond_the_horizon_counts(x: list[Fraction | None], tail: list[Fraction | None]) -> None:
    assert value(x[:HORIZON] + tail) == value(x[:HORIZON])


@given(trajectory, st.integers(0, 25))
def test_repeating_the_last_mark_changes_nothing(x: list[Fraction | None], times: int) -> None:
    assert value(x + [high_water(x)[-1]] * times) == value(x)
    assert value(x + [None] * times) == value(x)


@given(trajectory, st.integers(0, 29), scores)
def test_a_higher_score_never_lowers_it(x: list[Fraction | None], at: int, more: Fraction) -> None:
    assume(at < len(x))
    raised = [*x[:at], max(x[at] or Fraction(0), more), *x[at + 1 :]]
    assert value(raised) >= value(x)


@given(trajectory)
def test_finding_it_later_never_raises_it(x: list[Fraction | None]) -> None:
    assert value([Fraction(0), *x]) <= value(x)


@given(trajectory, scores)
def test_scale(x: list[Fraction | None], factor: Fraction) -> None:
    assert value([None if s is None else factor * s for s in x]) == factor * value(x)


@given(st.lists(scores, min_size=1, max_size=30))
def test_a_sum_over_positions_gives_the_same(x: list[Fraction]) -> None:
    """Independent of the implementation: each position weighs 1/15 up to 10, then 1/30."""
    total = Fraction(0)
    for position in range(1, 21):
        total += max(x[:position]) * Fraction(1, 15 if position <= 10 else 30)
    assert value(list(x)) == total


def test_a_stored_value_moves_by_the_exact_difference_only() -> None:
    raw, canonical = [0, 0.5, 0.5, 1], [0, 0.5, 1]
    moved = c1_from_stored("0.8333", raw, canonical)
    assert moved is not None
    assert moved - Fraction("0.8333") == Fraction(1, 30)  # position 3 is 1 instead of 1/2: (1/2)/5/3
    assert c1_from_stored("0.8333", raw, raw) == Fraction("0.8333")
    assert c1_from_stored("0.8333", raw, []) is None
