from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from uncertainty_studies import paper_sized, study

from loopscope.measures.uncertainty import (
    Estimator,
    Settings,
    level_of,
    missing_bounds,
    missing_bounds_of_difference,
    place_ranges,
    range_bounds,
)


def test_missing_scores_at_their_worst_and_best() -> None:
    panel = study({"m": {"x": [0.5, None, None], "y": [0.2, 0.4, 0.6]}, "n": {"x": [0.1], "y": [0.1], "z": [0.1]}})
    found = missing_bounds(panel, "m")
    assert found.observed.estimate == pytest.approx(0.45)
    assert found.low == pytest.approx((0.5 / 3 + 0.4 + 0) / 3)
    assert found.high == pytest.approx((2.5 / 3 + 0.4 + 1) / 3)
    assert (found.n_missing, found.n_planned) == (5, 9)
    assert found.interval_low is not None
    assert found.interval_high is not None
    assert found.interval_low < found.low < found.high < found.interval_high
    best = missing_bounds(panel, "m", Estimator(3))
    assert (best.low, best.high) == (pytest.approx((0.5 + 0.6 + 0) / 3), pytest.approx((1 + 0.6 + 1) / 3))
    assert missing_bounds(panel, "m", Estimator(4)).low is None


def test_nothing_missing_leaves_the_interval_as_it_is() -> None:
    panel = paper_sized()
    found, plain = missing_bounds(panel, "m00"), level_of(panel, "m00")
    assert (found.low, found.high, found.n_missing) == (plain.estimate, plain.estimate, 0)
    assert (found.interval_low, found.interval_high) == (plain.low, plain.high)


def test_planned_runs_that_never_were_are_missing_too() -> None:
    panel = study({"m": {"x": [1, 1], "y": [1, 1]}}, planned=4)
    found = missing_bounds(panel, "m")
    assert (found.low, found.high, found.n_missing) == (0.5, 1, 4)


def test_a_difference_at_its_worst_has_both_against_it() -> None:
    panel = study({"m": {"x": [0.5, None], "y": [0.5, 0.5]}, "n": {"x": [0.4, 0.4], "y": [None, 0.4]}})
    found = missing_bounds_of_difference(panel, "m", "n")
    assert found.low == pytest.approx(((0.25 - 0.4) + (0.5 - 0.7)) / 2)
    assert found.high == pytest.approx(((0.75 - 0.4) + (0.5 - 0.2)) / 2)
    assert (found.n_missing, found.n_planned) == (2, 8)
    with pytest.raises(ValueError, match="without `bounds`"):
        missing_bounds(panel, "m", settings=Settings(bounds=None))


def test_runs_known_only_within_a_range() -> None:
    low = study({"m": {"x": [0.2, 0.4], "y": [0.5, 0.5]}})
    high = replace(low, scores=low.scores + np.array([[[0.2, 0.0], [0.0, 0.0]]]))
    found = range_bounds(low, high, "m")
    assert (found.low, found.observed.estimate, found.high) == pytest.approx((0.4, 0.425, 0.45))
    with pytest.raises(ValueError, match="not of the same runs"):
        range_bounds(low, study({"n": {"x": [0.2, 0.4], "y": [0.5, 0.5]}}), "m")


def test_places_a_model_can_have() -> None:
    panel = study({"a": {"x": [0.9, 0.9]}, "b": {"x": [0.5, None]}, "c": {"x": [0.3, 0.3]}})
    bounds = [missing_bounds(panel, m) for m in "abc"]
    low, high = (np.array([getattr(b, end) for b in bounds]) for end in ("low", "high"))
    assert place_ranges(low, high) == [(1, 1), (2, 3), (2, 3)]
    assert place_ranges(np.array([0.5, 0.5, np.nan]), np.array([0.5, 0.5, np.nan]))[:2] == [(1, 2), (1, 2)]
    assert place_ranges(np.array([0.1, 0.4]), np.array([0.3, 0.6])) == [(2, 2), (1, 1)]
