from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure_strategies import maybe_scores, scores

from loopscope.measures import by_category, by_model_and_category, two_level

Rows = list[tuple[str, str, Fraction | None]]
rows = st.lists(st.tuples(st.sampled_from("mn"), st.sampled_from("abc"), maybe_scores), max_size=20)
CATEGORIES = {"a": "puzzle", "b": "puzzle", "c": "system"}


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(given_rows: Rows, rng: random.Random) -> None:
    shuffled = list(given_rows)
    rng.shuffle(shuffled)
    assert two_level(shuffled) == two_level(given_rows)
    assert list(two_level(shuffled)) == sorted({row[0] for row in given_rows})
    assert by_category(shuffled, CATEGORIES) == by_category(given_rows, CATEGORIES)


@given(rows)
def test_bounds_and_counts(given_rows: Rows) -> None:
    for model, found in two_level(given_rows).items():
        mine = [row for row in given_rows if row[0] == model]
        valid = [row[2] for row in mine if row[2] is not None]
        assert (found.runs, found.runs_left_out) == (len(valid), len(mine) - len(valid))
        assert found.tasks + found.tasks_left_out == len({row[1] for row in mine})
        assert (found.value is None) == (not valid)
        assert found.value is None or min(valid) <= found.value <= max(valid)


@given(rows)
def test_missing_values_leave_no_trace_in_the_mean(given_rows: Rows) -> None:
    valid = two_level(row for row in given_rows if row[2] is not None)
    for model, found in two_level(given_rows).items():
        assert found.value == (valid[model].value if model in valid else None)


@given(st.dictionaries(st.sampled_from("abc"), st.lists(scores, min_size=3, max_size=3), min_size=1))
def test_with_all_seeds_observed_it_is_the_run_mean(tasks: dict[str, list[Fraction]]) -> None:
    runs = [("m", task, value) for task, values in tasks.items() for value in values]
    assert two_level(runs)["m"].value == sum(value for _, _, value in runs) / Fraction(len(runs))


@given(rows, scores)
def test_scale(given_rows: Rows, factor: Fraction) -> None:
    scaled = two_level((m, t, None if v is None else factor * v) for m, t, v in given_rows)
    for model, found in two_level(given_rows).items():
        assert scaled[model].value == (None if found.value is None else factor * found.value)


def test_tasks_weigh_equally_however_many_seeds_they_have() -> None:
    found = two_level([("m", "a", 0.2), ("m", "a", 0.4), ("m", "b", 0.9), ("m", "c", None)])["m"]
    assert found.value == Fraction(3, 5)
    assert found.by_task == {"a": Fraction(3, 10), "b": Fraction(9, 10)}
    assert (found.tasks, found.tasks_left_out, found.runs, found.runs_left_out) == (2, 1, 3, 1)


def test_by_category_tasks_then_models_weigh_equally() -> None:
    given_rows = [("m", "a", 1), ("m", "a", 0), ("m", "b", 1), ("n", "a", 0), ("n", "c", 0.5), ("m", "c", None)]
    assert by_category(given_rows, CATEGORIES) == {"puzzle": Fraction(3, 8), "system": Fraction(1, 2)}
    split = by_model_and_category(given_rows, CATEGORIES)
    assert split["m", "puzzle"].value == Fraction(3, 4)
    assert split["m", "system"].value is None
    assert by_category([("m", "c", None)], CATEGORIES) == {"system": None}


def test_a_task_without_a_category_is_refused() -> None:
    with pytest.raises(ValueError, match="task 'z' has no category"):
        by_category([("m", "z", 1)], CATEGORIES)


def test_nothing_gives_nothing() -> None:
    assert two_level([]) == {}
    assert by_category([], CATEGORIES) == {}
