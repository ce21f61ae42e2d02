from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscope.measures import exact, exacts, mean
from loopscope.measures.exact import clip, known


@pytest.mark.parametrize(
    ("given_value", "value"),
    [
        (0.09, Fraction(9, 100)),
        (0.1 + 0.2, Fraction("0.30000000000000004")),
        (1e-7, Fraction(1, 10_000_000)),
        (3, Fraction(3)),
        (Decimal("0.10"), Fraction(1, 10)),
        (Fraction(2, 6), Fraction(1, 3)),
        ("0.09", Fraction(9, 100)),
        ("14/20", Fraction(7, 10)),
        (" 1/3 ", Fraction(1, 3)),
        ("-2.5e-1", Fraction(-1, 4)),
    ],
)
def test_numbers_are_read_as_printed(given_value: float | str, value: Fraction) -> None:
    assert exact(given_value) == value


@pytest.mark.parametrize("missing", [None, float("nan"), Decimal("NaN"), "NaN", "nan"])
def test_missing_is_none_and_never_zero(missing: float | str | None) -> None:
    assert exact(missing) is None


@pytest.mark.parametrize(
    "bad",
    ["", "abc", "1/0", "1/2/3", "0x10", "1_000", "Infinity", "1e999999999", "1e99999999999999999999", "1" * 500],
)
def test_what_is_no_finite_number_is_refused_with_a_remedy(bad: str) -> None:
    with pytest.raises(ValueError, match=r"write it as 0\.5 or 1/2 \(missing: null\)"):
        exact(bad)


@pytest.mark.parametrize("bad", [float("inf"), Decimal("-Infinity"), Decimal("1e9999")])
def test_infinite_and_gigantic_numbers_are_refused(bad: float | Decimal) -> None:
    with pytest.raises(ValueError, match="no finite number"):
        exact(bad)


@pytest.mark.parametrize("bad", [True, False, [], object()])
def test_other_types_are_refused(bad: object) -> None:
    with pytest.raises(TypeError):
        exact(bad)  # type: ignore[arg-type]


def test_known_refuses_a_missing_number() -> None:
    with pytest.raises(ValueError, match="missing"):
        known(float("nan"))


@given(st.integers(-(10**6), 10**6), st.integers(0, 6))
def test_every_spelling_of_a_decimal_is_the_same_number(digits: int, places: int) -> None:
    number = Fraction(digits, 10**places)
    decimal = Decimal(digits).scaleb(-places)
    assert exact(decimal) == exact(str(decimal)) == exact(float(decimal)) == exact(str(number)) == number


def test_positions_are_kept() -> None:
    assert exacts([0.5, None, "1/4"]) == (Fraction(1, 2), None, Fraction(1, 4))


def test_mean_and_clip() -> None:
    assert mean([]) is None
    assert mean([Fraction(1), Fraction(0)]) == Fraction(1, 2)
    assert [clip(Fraction(x, 2)) for x in (-1, 0, 1, 2, 3)] == [0, 0, Fraction(1, 2), 1, 1]
