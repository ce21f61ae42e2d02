"""How well the spread behind a plan is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from uncertainty_studies import paper_sized, study

from loopscope.measures.uncertainty import Plan, detectable, plan_of, pooled, scale_range, to_find
from loopscope.measures.uncertainty.distributions import chi_squared_quantile
from loopscope.measures.uncertainty.precision import known_by_seeds, known_by_tasks


@pytest.mark.parametrize(
    ("p", "df", "true"),
    [(0.025, 3, 0.2158), (0.975, 3, 9.348), (0.025, 10, 3.247), (0.975, 32, 49.48), (0.5, 5, 4.351)],
)
def test_chi_squared_is_near_to_the_tables(p: float, df: float, true: float) -> None:
    assert chi_squared_quantile(p, df) == pytest.approx(true, rel=0.2 if df == 3 else 0.02)


def test_long_tails_and_unequal_seeds_are_known_less_well() -> None:
    rng, labels = np.random.default_rng(0), np.zeros(36, dtype=int)
    even = np.linspace(-1, 1, 36)
    assert known_by_tasks(even, labels) == pytest.approx(35), "no longer tails than the normal's"
    tailed = known_by_tasks(np.where(np.arange(36) == 5, 1.0, 0.001 * rng.normal(size=36)), labels)
    assert tailed is not None and tailed < 3
    assert (
        known_by_tasks(np.ones(36), labels) is None and known_by_tasks(np.array([0.1, 0.5]), np.array([0, 1])) is None
    )
    assert known_by_seeds(np.array([0.1, 0.1]), np.array([4, 4])) == pytest.approx(8)
    assert known_by_seeds(np.array([0.1, 0.0]), np.array([4, 4])) == pytest.approx(4)
    assert known_by_seeds(np.zeros(2), np.array([4, 4])) is None


def test_the_range_of_a_plan_holds_it_and_narrows_with_what_is_known() -> None:
    plan = plan_of(paper_sized(lead=0.05), "m00", "m01")
    low, high = scale_range(plan) or (None, None)
    assert low is not None and high is not None and 0.7 < low < 1 < high < 1.5
    few = scale_range(replace(plan, known=5.0))
    assert few is not None and few[0] < low and few[1] > high
    assert scale_range(replace(plan, known=2.0)) is None and scale_range(replace(plan, known=None)) is None
    found = to_find(plan, (detectable(plan, 0.05, 0.8) or 0) * 0.9)
    assert found.chance is not None and found.chance_range is not None
    assert found.chance_range[0] < found.chance < found.chance_range[1]
    assert pooled([plan, replace(plan, known=4.0)]).known == 4
    alike = study({m: {f"t{i}": [0.5, 0.5] for i in range(9)} for m in "mn"})
    assert plan_of(alike, "m", "n").known is None and Plan(9, 2, 1, 0.1, 0.1).known is None


def test_the_range_of_an_error_holds_the_true_one_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(400):
        values = rng.normal(0, 0.2, 36)
        known = known_by_tasks(values, np.zeros(36, dtype=int))
        assert known is not None
        low, high = scale_range(Plan(36, 1, 1, 0.04, None, known=known)) or (0, 0)
        error = float(values.std(ddof=1))
        hits += low * error <= 0.2 <= high * error
    assert 0.92 <= hits / 400 <= 0.99
