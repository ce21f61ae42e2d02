from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscope.measures import clean_by_enumeration, clean_by_replay
from loopscope.measures.stored import ROUND_SCORES, Path, compatible_pairs, possible_sums


@pytest.mark.parametrize("n", range(5))
def test_possible_sums_are_all_of_them(n: int) -> None:
    assert possible_sums(n) == {20 * sum(choice) for choice in combinations_with_replacement(ROUND_SCORES, n)}


def test_pairs_by_hand() -> None:
    # 0.925 = 1.85/2 = 3.7/4; no single score, and of three the nearest are 2.7 and 2.85 (.9 and .95).
    assert compatible_pairs("0.925", observable=4, places=4) == [(2, Fraction("1.85")), (4, Fraction("3.7"))]


def test_a_coarser_rounding_admits_more_pairs() -> None:
    fine, coarse = compatible_pairs("0.93", 6, places=4), compatible_pairs("0.93", 6, places=2)
    assert set(fine) <= set(coarse)
    assert len(coarse) > len(fine)


def test_the_largest_denominator_gives_the_value_and_the_range_is_kept() -> None:
    found = clean_by_enumeration("0.925", observable=4, removed=[1], places=4)
    assert found.original == Fraction("0.925")
    assert found.denominators == (2, 4)
    assert found.value == Fraction("0.9")  # (3.7 - 1)/3
    assert (found.low, found.high) == (Fraction("0.85"), Fraction("0.9"))  # (1.85 - 1)/1
    assert found.path is Path.ENUMERATION


def test_nothing_compatible_gives_no_value() -> None:
    found = clean_by_enumeration("0.99", observable=3, removed=[1], places=4)
    assert (found.value, found.low, found.high, found.denominators, found.path) == (None, None, None, (), Path.NONE)


def test_a_removed_score_that_cannot_have_been_part_is_incompatible() -> None:
    assert clean_by_enumeration("0.85", observable=1, removed=[], places=4).value == Fraction("0.85")
    assert clean_by_enumeration("0.85", observable=1, removed=[1], places=4).path is Path.NONE
    # two checkpoints summing to .85 can be .85 + 0 only, so neither was a clean delivery
    assert clean_by_enumeration("0.425", observable=2, removed=[1], places=4).path is Path.NONE


def test_a_replay_must_reproduce_the_stored_value() -> None:
    accepted = clean_by_replay("0.6167", raw=Fraction(37, 60), canonical="1/2")
    assert accepted is not None
    assert (accepted.value, accepted.low, accepted.high, accepted.path) == (
        Fraction(1, 2),
        Fraction(1, 2),
        Fraction(1, 2),
        Path.REPLAY,
    )
    assert clean_by_replay("0.6169", raw=Fraction(37, 60), canonical="1/2") is None


@given(st.lists(st.sampled_from(ROUND_SCORES), min_size=2, max_size=8), st.integers(0, 3))
def test_the_truth_lies_in_the_interval(scores: list[Fraction], spare: int) -> None:
    stored = round(sum(scores) / Fraction(len(scores)), 4)
    truth = sum(scores[1:]) / Fraction(len(scores) - 1)
    found = clean_by_enumeration(stored, len(scores) + spare, removed=scores[:1], places=4)
    assert found.low is not None and found.high is not None and found.value is not None
    assert found.low <= truth <= found.high
    assert found.low <= found.value <= found.high
    assert len(scores) in found.denominators
