from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from measure_strategies import maybe_scores

from loopscope.measures import avg_at_k, best_at_k, outcome, outcome_by_category, two_level

rows = st.lists(st.tuples(st.sampled_from("mn"), st.sampled_from("abc"), maybe_scores), max_size=20)


def test_by_hand() -> None:
    given_rows = [("m", "a", 0.2), ("m", "a", 0.4), ("m", "a", None), ("m", "b", 1), ("m", "b", 0), ("m", "b", 0.5)]
    found = outcome(given_rows)["m"]
    assert found.avg == Fraction(2, 5)  # (.3 + .5)/2
    assert found.best == Fraction(7, 10)  # (.4 + 1)/2
    assert (found.k, found.tasks, found.scored, found.missing) == (3, 2, 5, 1)


def test_an_absent_rollout_is_missing_too() -> None:
    assert outcome([("m", "a", 1), ("m", "a", 1), ("m", "b", 0)])["m"].missing == 1


def test_missing_is_not_zero() -> None:
    assert (avg_at_k([None, 0.6]), best_at_k([None, 0.6])) == (Fraction(3, 5), Fraction(3, 5))
    assert (avg_at_k([None]), best_at_k([])) == (None, None)
    found = outcome([("m", "a", None), ("m", "b", 0.6)])["m"]
    assert (found.avg, found.tasks) == (Fraction(3, 5), 1)


def test_by_category() -> None:
    found = outcome_by_category([("m", "a", 0.2), ("m", "b", 0.4), ("m", "c", 1)], {"a": "x", "b": "x", "c": "y"})
    assert {key: value.avg for key, value in found.items()} == {("m", "x"): Fraction(3, 10), ("m", "y"): 1}


@given(rows)
def test_the_best_is_never_below_the_average(given_rows: list[tuple[str, str, Fraction | None]]) -> None:
    aggregates = two_level(given_rows)
    for model, found in outcome(given_rows).items():
        assert found.avg == aggregates[model].value
        if found.avg is None or found.best is None:
            assert found.avg is found.best is None
        else:
            assert 0 <= found.avg <= found.best <= 1
        if found.k == 1:
            assert found.avg == found.best
