from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_strategies import maybe_scores, scores

from loopscope.measures import c3, diagnostics

x_lists = st.lists(maybe_scores, max_size=15)
builds = st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 9), st.integers(0, 3))), max_size=12)


@given(x_lists, st.booleans())
def test_shape_ranges(x: list[Fraction | None], boundary: bool) -> None:
    found = diagnostics.shape(x, initial_is_boundary=boundary)
    proposals = [score for score in x[boundary:] if score is not None]
    if not proposals:
        assert found == diagnostics.Shape(None, None, None, None)
        return
    assert found.best_observed == max(proposals)
    assert (found.early_capture is None) == (max(proposals) == 0)
    assert found.early_capture is None or 0 <= found.early_capture <= 1
    assert found.later_headroom is not None and 0 <= found.later_headroom <= 1
    assert (found.gain_density is None) == (len(proposals) < 2)
    if max(proposals) == 1 and proposals[0] < 1:
        assert found.later_headroom == 1
    if proposals[0] == max(proposals):
        assert found.later_headroom == 0


@given(st.lists(scores, min_size=1, max_size=10), scores)
def test_the_baseline_has_no_part_in_the_shape(x: list[Fraction], baseline: Fraction) -> None:
    with_baseline = diagnostics.shape([baseline, *x], initial_is_boundary=True)
    assert with_baseline == diagnostics.shape(x, initial_is_boundary=False)


@given(builds)
def test_build_ranges(rounds: list[tuple[int, int] | None]) -> None:
    found = diagnostics.build(rounds)
    matched = [entry for entry in rounds if entry]
    assert found.matched == len(matched)
    assert (found.trace_coverage is None) == (not rounds)
    if not matched:
        assert found.builds_per_round is None and found.rounds_with_build_errors is None
        return
    assert found.builds_per_round == Fraction(sum(b for b, _ in matched), len(matched))
    assert found.rounds_with_build_errors == Fraction(sum(1 for _, f in matched if f), len(matched))
    assert found.trace_coverage == Fraction(len(matched), len(rounds))


def test_unknown_builds_leave_the_failures_known() -> None:
    found = diagnostics.build([(None, 0), (None, 1), (4, 1), None])
    assert (found.builds_per_round, found.matched) == (4, 3)
    assert (found.rounds_with_build_errors, found.trace_coverage) == (Fraction(2, 3), Fraction(3, 4))
    assert diagnostics.build([(None, 0)]).builds_per_round is None


def test_negative_builds_are_refused() -> None:
    with pytest.raises(ValueError, match="counts start at 0"):
        diagnostics.build([(1, 0), (-1, 0)])


@given(x_lists, maybe_scores, st.booleans())
def test_feedback_ranges(x: list[Fraction | None], final: Fraction | None, boundary: bool) -> None:
    run = c3(x, final, initial_is_boundary=boundary)
    found = diagnostics.feedback(run)
    assert found.rounds == run.T
    for share in (found.dip_rate, found.peak_retention, found.recovery_credit, found.dip_depth, found.monotonicity):
        assert share is None or 0 <= share <= 1
    assert (found.dip_rate is None) == (found.has_dip is None) == (found.peak_position is None) == (run.T == 0)
    assert (found.dip_depth is None) == (found.recovery_credit is None) == (not found.has_dip)
    assert found.dip_depth is None or found.dip_depth > Fraction(1, 100)
    assert found.peak_position is None or 0 <= found.peak_position <= 1
    if found.monotonicity == 1:
        assert not found.has_dip
    if found.peak_position == 0:
        assert run.has_boundary


@pytest.mark.parametrize(
    ("x", "boundary", "position", "rising", "monotonicity"),
    [
        ([0, 0.2, 0.9, 0.9], True, Fraction(2, 3), False, 1),
        ([0.2, 0.9, 0.9], False, Fraction(2, 3), False, 1),
        ([0.9, 0.2, 0.4], True, Fraction(0), True, Fraction(1, 2)),
        ([0.9, 0.2, 0.21], False, Fraction(1, 3), False, Fraction(1, 2)),
        ([0.5, 0.49, 0.501], False, Fraction(1), True, 1),
    ],
)
def test_the_detailed_table_by_hand(
    x: list[float], boundary: bool, position: Fraction, rising: bool, monotonicity: Fraction
) -> None:
    found = diagnostics.feedback(c3(x, x[-1], initial_is_boundary=boundary))
    assert (found.peak_position, found.last_rising, found.monotonicity) == (position, rising, monotonicity)


def test_depth_reaches_the_bottom_of_the_segment_and_credit_starts_at_its_top() -> None:
    run = c3([0, 0.9, 0.7, 0.2, 0.9], 0.9, initial_is_boundary=True)
    found = diagnostics.feedback(run)
    assert found.dip_depth == Fraction(7, 10)
    assert run.episodes[0].start == Fraction(7, 10)
    assert found.recovery_credit == Fraction(1, 2)
