from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from loopscope.measures import Resource, resource


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


def test_a_negative_amount_is_refused() -> None:
    with pytest.raises(ValueError, match="'m' has a negative amount"):
        resource([("m", "a", -1)])
