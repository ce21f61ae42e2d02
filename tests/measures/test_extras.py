from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from measure_strategies import maybe_scores, scores

from loopscope.measures import extras
from loopscope.measures.extras import Candidates


def test_only_known_answers_have_a_share() -> None:
    assert extras.known_share([True, None, False, True]) == Fraction(2, 3)
    assert extras.known_share([None]) is None


def test_candidates_are_distinct_states_and_only_those_evaluated_count() -> None:
    found = extras.candidates(["1", "2", "2", "3"], ["2", "9"])
    assert (found, found.share) == (Candidates(3, 1), Fraction(1, 3))
    assert extras.candidates([], ["1"]).share is None


@given(st.lists(st.sampled_from("abcdef")), st.lists(st.sampled_from("abcdef")))
def test_no_more_is_committed_than_was_evaluated(evaluated: list[str], committed: list[str]) -> None:
    share = extras.candidates(evaluated, committed).share
    assert share is None if not evaluated else 0 <= share <= 1  # type: ignore[operator]


def test_the_largest_gap_has_a_sign_and_needs_both_sides() -> None:
    assert extras.largest_claim_gap([("0.5", "0.45"), ("0.2", "0.3"), (1, None), (None, 0)]) == Fraction("-0.1")
    assert extras.largest_claim_gap([("0.2", "0.3"), ("0.3", "0.2")]) == Fraction("0.1")
    assert extras.largest_claim_gap([(1, None)]) is None


def test_left_behind_by_hand() -> None:
    assert extras.left_behind(["0.9", None, "0.4"], ["0.6", "0.7"]) == Fraction("0.2")
    assert extras.left_behind(["0.4"], ["0.7"]) == Fraction("-0.3")
    assert extras.left_behind([None], ["0.7"]) is None
    assert extras.left_behind(["0.7"], []) is None


@given(st.lists(scores, min_size=1), st.lists(scores))
def test_nothing_is_left_behind_where_every_candidate_was_committed(kept: list[Fraction], more: list[Fraction]) -> None:
    found = extras.left_behind(kept, kept + more)
    assert found is not None
    assert found <= 0


def test_saturation_counts_observed_rounds_only() -> None:
    assert extras.saturation([1, "0.99", None, 1, "1.2"]) == Fraction(3, 4)
    assert extras.saturation([None]) is None


def test_jumps_are_rises_of_more_than_the_threshold_over_what_is_missing() -> None:
    assert extras.jumps([0, "0.3", "0.61", None, "0.2", "0.51", 1]) == 3  # .31, .31, .49; 0.3 itself is none
    assert extras.jumps([0, None, 1]) == 1
    assert extras.jumps([1]) is None


@given(st.lists(maybe_scores))
def test_never_more_jumps_than_three_and_the_falls_between_them(x: list[Fraction | None]) -> None:
    """Within [0, 1] a fourth rise of more than 0.3 needs a fall before it."""
    rising: list[Fraction | None] = sorted(score for score in x if score is not None)
    assert (extras.jumps(rising) or 0) <= 3
    assert (extras.jumps(reversed(rising)) or 0) == 0


def test_shares_of_grades() -> None:
    grades = ["official", "missing", "official", "proxy"]
    assert [extras.share_of(g, grades) for g in ("official", "proxy", "inferred")] == [
        Fraction(1, 2),
        Fraction(1, 4),
        Fraction(0),
    ]
    assert extras.share_of("official", []) is None
