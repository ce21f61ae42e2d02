"""Values that are quick to make behave as frozen dataclasses do."""

from __future__ import annotations

import pickle
from dataclasses import field, fields, replace

import pytest

from loopscope.models.value_types import value_type


@value_type
class Pair:
    """Of a number and a name."""

    number: int
    name: str = "none"
    doubled: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "doubled", 2 * self.number)


def test_values_are_equal_and_hashed_by_their_fields():
    assert Pair(1) == Pair(1, "none") != Pair(1, "other")
    assert len({Pair(1), Pair(1), Pair(2)}) == 2
    assert repr(Pair(1)) == "Pair(number=1, name='none', doubled=2)"


def test_they_can_be_copied_with_another_field_and_sent_to_another_process():
    assert replace(Pair(1), number=3) == Pair(3)
    assert pickle.loads(pickle.dumps(Pair(1))) == Pair(1)
    assert [item.name for item in fields(Pair)] == ["number", "name", "doubled"]


def test_they_hold_nothing_but_their_fields():
    with pytest.raises(AttributeError):
        Pair(1).other = 2  # type: ignore[attr-defined]
