from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from loopscope.measures import Resource, resource, resource_by_category


def test_mean_over_rollouts_then_tasks_and_total_over_runs() -> None:
    rows: list[tuple[str, str, int | Decimal]] = [
        ("m", "a", 100),
        ("m", "a", 300),
        ("m", "b", 1000),
        ("n", "a", Decimal("0.30")),
    ]
    assert resource(rows) == {
        "m": Resource(per_task=Fraction(600), total=Fraction(1400), runs=3, unknown=0),
        "n": Resource(per_task=Fraction(3, 10), total=Fraction(3, 10), runs=1, unknown=0),
    }


def test_unknown_amounts_are_counted_and_not_taken_for_zero() -> None:
    assert resource([("m", "a", 100), ("m", "a", None)])["m"] == Resource(Fraction(100), Fraction(100), 1, 1)
    assert resource([("m", "a", None)])["m"] == Resource(None, None, 0, 1)
    assert resource([("m", "a", 0)])["m"] == Resource(Fraction(0), Fraction(0), 1, 0)


def test_by_category_tasks_weigh_equally_within_it() -> None:
    rows = [("m", "a", 1), ("m", "b", 3), ("m", "c", None), ("n", "c", 5)]
    assert resource_by_category(rows, {"a": "x", "b": "x", "c": "y"}) == {
        ("m", "x"): Resource(Fraction(2), Fraction(4), 2, 0),
        ("m", "y"): Resource(None, None, 0, 1),
        ("n", "y"): Resource(Fraction(5), Fraction(5), 1, 0),
    }
    with pytest.raises(ValueError, match="no category"):
        resource_by_category(rows, {"a": "x"})


def test_a_negative_amount_is_refused() -> None:
    with pytest.raises(ValueError, match="'m' has a negative amount"):
        resource([("m", "a", -1)])
