from __future__ import annotations

from fractions import Fraction

import pytest
from c3_reference import reference_c3
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_strategies import cents, counts, scores

from loopscope.measures import C3, Flag, Recovery, c3

# Neighbouring hundredths are as likely as large jumps, so that eps, ties and long descents are hit often.
near = st.one_of(st.none(), st.integers(48, 52), st.integers(0, 3), cents)


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[int | None], int | None, bool, list[int | None] | None]:
    x = draw(st.lists(near, max_size=14))
    a = draw(st.one_of(st.none(), st.lists(counts, min_size=len(x), max_size=len(x))))
    return x, draw(near), draw(st.booleans()), a


def run(x: list[int | None], final: int | None, boundary: bool, a: list[int | None] | None) -> C3:
    return c3([hundredths(c) for c in x], hundredths(final), initial_is_boundary=boundary, candidate_counts=a)


def hundredths(c: int | None) -> Fraction | None:
    return None if c is None else Fraction(c, 100)


@settings(max_examples=600)
@given(runs())
def test_an_independent_reference_agrees(
    given_run: tuple[list[int | None], int | None, bool, list[int | None]],
) -> None:
    found = run(*given_run)
    assert (found.value, found.M, found.T, found.recovery) == reference_c3(*given_run)


@given(runs())
def test_bounds(given_run: tuple[list[int | None], int | None, bool, list[int | None]]) -> None:
    found = run(*given_run)
    if found.value is None:
        assert found.T == 0 and found.retention is None and not found.episodes
        return
    assert found.retention is not None
    assert 0 <= found.value <= 1 and 0 <= found.retention <= 1
    assert len(found.steps) > found.M
    for e in found.episodes:
        assert e.low <= e.start < e.before
        assert e.start <= e.reached <= e.before
        assert e.before_index < e.start_index <= e.low_index
        assert e.start_index <= e.target_index
        assert 0 <= e.credit <= e.recovered <= 1
        assert e.length >= 1
        assert (e.recovery is Recovery.NONE) == (e.target_index == e.start_index) == (e.recovered == 0)
        assert (e.recovery is Recovery.FULL) == (e.recovered == 1)
        assert e.discount is None or Fraction(1, 2) <= e.discount <= 1
    assert (found.recovery is None) == (found.M == 0)


@given(st.lists(cents, min_size=1, max_size=20).map(sorted), near, st.booleans())
def test_of_a_monotone_run_it_is_retention(x: list[int | None], final: int | None, boundary: bool) -> None:
    found = run(x, final, boundary, None)
    if found.T and Flag.SINGLETON_ZERO not in found.flags:
        assert found.value == found.retention
        assert found.M == 0


@given(runs(), st.integers(1, 14), st.sampled_from([None, 0]))
def test_a_missing_checkpoint_with_no_candidates_changes_nothing(
    given_run: tuple[list[int | None], int | None, bool, list[int | None] | None], at: int, count: int | None
) -> None:
    x, final, boundary, a = given_run
    at = min(at, len(x))
    if at == 0 and boundary:
        return  # it would stand where the initial state stands
    longer_a = None if a is None else [*a[:at], count, *a[at:]]
    longer = run([*x[:at], None, *x[at:]], final, boundary, longer_a)
    plain = run(x, final, boundary, a)
    assert (longer.value, longer.recovery, longer.M, longer.T) == (plain.value, plain.recovery, plain.M, plain.T)


@given(runs(), st.integers(0, 13))
def test_counts_only_ever_discount(
    given_run: tuple[list[int | None], int | None, bool, list[int | None] | None], at: int
) -> None:
    x, final, boundary, a = given_run
    free = run(x, final, boundary, None)
    charged = run(x, final, boundary, a)
    assert (free.M, free.T, free.retention) == (charged.M, charged.T, charged.retention)
    if free.recovery is not None and charged.recovery is not None:
        assert free.recovery / 2 <= charged.recovery <= free.recovery
    if a and at < len(a):
        more = run(x, final, boundary, [*a[:at], (a[at] or 0) + 1, *a[at + 1 :]])
        assert (more.value or 0) <= (charged.value or 0)


@given(st.lists(st.integers(-1, 30), max_size=20), st.integers(0, 60))
def test_decimals_read_from_floats_never_make_a_dip_of_one_hundredth(moves: list[int], start: int) -> None:
    x = [start]
    for move in moves:
        x.append(max(0, min(100, x[-1] + move)))
    as_floats = c3([c / 100 for c in x], x[-1] / 100, initial_is_boundary=False)
    assert as_floats.M == 0
    assert as_floats == c3([Fraction(c, 100) for c in x], Fraction(x[-1], 100), initial_is_boundary=False)


@given(st.lists(scores, min_size=1, max_size=14), scores)
def test_a_higher_final_never_lowers_it(x: list[Fraction], final: Fraction) -> None:
    lower = c3(x, final / 2, initial_is_boundary=False).value
    higher = c3(x, final, initial_is_boundary=False).value
    assert lower is not None and higher is not None
    assert lower <= higher


def test_an_episode_carries_what_a_figure_marks() -> None:
    found = c3(
        [0, 0.8, None, 0.6, 0.3, 0.5, 0.7], 0.7, initial_is_boundary=True, candidate_counts=[None, 1, 1, 1, 2, 3, 1]
    )
    (e,) = found.episodes
    assert (e.before_index, e.start_index, e.low_index, e.target_index) == (1, 3, 4, 6)
    assert (e.before, e.start, e.low, e.reached) == (Fraction("0.8"), Fraction("0.6"), Fraction("0.3"), Fraction("0.7"))
    assert (e.recovery, e.length, e.recovered, e.depth) == (Recovery.PARTIAL, 3, Fraction(1, 2), Fraction(1, 2))
    assert e.discount == (Fraction("0.85") + Fraction("0.7") + 1) / 3
    assert [step.index for step in found.steps] == [0, 1, 3, 4, 5, 6]
    assert (found.T, found.M, found.peak, found.final) == (5, 1, Fraction("0.8"), Fraction("0.7"))


@pytest.mark.parametrize(
    ("x", "final", "boundary", "value", "flags"),
    [
        ([0], 0, False, 0, (Flag.SINGLETON_ZERO,)),
        ([0, 0], 0, True, 0, (Flag.SINGLETON_ZERO,)),
        ([0, 0], 0, False, 1, (Flag.ALL_ZERO_ROUNDS,)),
        ([0, 0, 0], 0, True, 1, (Flag.ALL_ZERO_ROUNDS,)),
        ([0, 0, 0], None, True, 1, (Flag.FINAL_MISSING, Flag.ALL_ZERO_ROUNDS)),
        ([0, None, 0], 0, True, 0, (Flag.SINGLETON_ZERO,)),
        ([0.3, 0, 0], 0, True, 0, ()),
        ([0, 0], 0.5, False, 1, ()),
        ([0.5], None, False, 1, (Flag.FINAL_MISSING,)),
        ([0, 0.5, 1.5], 1.5, True, 1, (Flag.OUT_OF_RANGE,)),
        ([-0.5, -0.2], -0.4, False, 0, (Flag.OUT_OF_RANGE,)),
    ],
)
def test_literal_exceptions_are_flagged(
    x: list[float | None], final: float | None, boundary: bool, value: int, flags: tuple[Flag, ...]
) -> None:
    found = c3(x, final, initial_is_boundary=boundary)
    assert found.value == value
    assert found.flags == flags


@pytest.mark.parametrize(
    ("x", "boundary"), [([], False), ([], True), ([0.4], True), ([None], False), ([0.4, None], True)]
)
def test_unscored_without_an_observed_agent_checkpoint(x: list[float | None], boundary: bool) -> None:
    found = c3(x, 0.7, initial_is_boundary=boundary)
    assert (found.value, found.retention, found.recovery, found.T, found.M) == (None, None, None, 0, 0)


def test_unknown_counts_are_flagged_only_where_a_recovery_crosses_them() -> None:
    x = [0.8, 0.5, 0.8]
    assert c3(x, 0.8, initial_is_boundary=False).flags == (Flag.COUNTS_UNKNOWN,)
    assert c3(x, 0.8, initial_is_boundary=False, candidate_counts=[None, None, 1]).flags == ()
    assert c3([0.8, 0.5], 0.8, initial_is_boundary=False).flags == ()


@pytest.mark.parametrize("wrong", [[], [None], [1, 2, 3]])
def test_counts_of_another_length_are_refused(wrong: list[int | None]) -> None:
    with pytest.raises(ValueError, match="give one per score"):
        c3([0, 1], 1, initial_is_boundary=False, candidate_counts=wrong)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match=r"candidate_counts\[1\] is -1"):
        c3([0, 1], 1, initial_is_boundary=False, candidate_counts=[None, -1])
