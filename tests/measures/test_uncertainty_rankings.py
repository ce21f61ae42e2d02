from __future__ import annotations

import numpy as np
import pytest
from uncertainty_studies import paper_sized, study

from loopscope.measures.uncertainty import (
    agreement,
    kendall_tau,
    over_best,
    over_harnesses,
    over_seeds,
    over_tasks,
    ranking,
    resample,
    without_category,
)
from loopscope.measures.uncertainty.rankings import _place_shares, _weighted_taus


def test_shares_of_places_and_pairs_add_up_and_agree() -> None:
    found = ranking(resample(paper_sized(models=5, lead=0.02), draws=2000))
    assert found.models[0] == "m04"
    assert found.rank.sum(axis=0) == pytest.approx(1)
    assert found.rank.sum(axis=1) == pytest.approx(1)
    assert found.above + found.above.T == pytest.approx(1)
    places = (found.rank * np.arange(5)).sum(axis=1)
    assert places == pytest.approx((1 - found.above).sum(axis=1) - 0.5)


def test_equal_models_share_and_a_sure_order_is_sure() -> None:
    tasks = {f"t{i}": [i / 10, i / 10 + 0.05] for i in range(8)}
    better = {t: [v + 0.1 for v in values] for t, values in tasks.items()}
    found = ranking(resample(study({"a": tasks, "b": tasks, "c": better}), draws=200))
    assert found.models == ("c", "a", "b")
    assert found.rank.tolist() == [[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]]
    assert found.above.tolist() == [[0.5, 1, 1], [0, 0.5, 0.5], [0, 0.5, 0.5]]


def test_shares_of_places_are_those_that_counting_gives() -> None:
    values = np.random.default_rng(1).integers(0, 4, (300, 6)) / 4
    found = _place_shares(values)
    for model in range(6):
        better, equal = (values > values[:, [model]]).sum(axis=1), (values == values[:, [model]]).sum(axis=1)
        for place in range(6):
            share = (((better <= place) & (place < better + equal)) / equal).mean()
            assert found[model, place] == pytest.approx(share, abs=1e-12)


def test_models_that_cannot_be_ranked_are_named() -> None:
    found = ranking(resample(study({"a": {"x": [0.1], "y": [0.2]}, "b": {"x": [0.3]}}), draws=20))
    assert (found.models, found.unranked) == (("a",), ("b",))
    none = ranking(resample(study({"a": {"x": [0.1]}}), draws=20))
    assert (none.models, none.unranked, none.draws) == ((), ("a",), 0)


def test_kendall_by_hand_with_ties_and_gaps() -> None:
    first, second = np.array([1.0, 2, 3, 4, np.nan]), np.array([1.0, 3, 2, 2, 7])
    # pairs: 12 + 13 + 14 + agree, 23 and 24 disagree, 34 tied in the second
    assert kendall_tau(first, second) == pytest.approx((3 - 2) / np.sqrt(6 * 5))
    assert kendall_tau(np.ones(3), np.arange(3.0)) is None
    assert kendall_tau(np.ones(1), np.ones(1)) is None


def test_harnesses_agree_over_the_models_they_share() -> None:
    found = agreement(
        {"h1": {"a": 0.9, "b": 0.5, "c": 0.1}, "h2": {"a": 0.8, "b": 0.6, "d": 1}, "h3": {"a": 0.1, "b": None}}
    )
    assert found == {("h1", "h2"): 1, ("h1", "h3"): None, ("h2", "h3"): None}


def test_harnesses_that_drive_the_same_models_agree_on_models_and_tasks_or_do_not() -> None:
    base = {f"t{i}": i / 20 for i in range(8)}
    agents = {
        f"{harness}-{model}": {t: [v + lead * (i if h == "up" else -i) * 0.05] * 2 for t, v in base.items()}
        for harness, h in (("h1", "up"), ("h2", "up"), ("h3", "down"))
        for i, (model, lead) in enumerate((("a", 1), ("b", 1), ("c", 1)))
    }
    panel = study(agents)
    sides = {h: (h, {m: f"{h}-{m}" for m in "abc"}) for h in ("h1", "h2", "h3")}
    models, tasks = over_harnesses(panel, sides["h1"], sides["h2"], draws=50)
    assert models is not None and tasks is not None
    assert (models.what, models.tau, models.tau_low, models.same_first, models.same_order) == (
        "h1 against h2", 1, 1, 1, 1,
    )  # fmt: skip
    assert (models.size, tasks.size, tasks.tau, tasks.same_first, tasks.draws) == (3, 8, 1, None, 50)
    turned, alike = over_harnesses(panel, sides["h1"], sides["h3"], draws=50)
    assert turned is not None and alike is not None
    assert (turned.tau, turned.tau_high, turned.same_first, turned.same_order) == (-1, -1, 0, 0)
    assert alike.tau == 1, "the same tasks are hard for both"
    one = ("h2", {"a": "h2-a"})
    assert over_harnesses(panel, sides["h1"], one, draws=5)[0] is None
    assert over_harnesses(panel, sides["h1"], ("none", {}), draws=5) == (None, None)


def test_tasks_drawn_repeatedly_give_the_tau_of_the_list_with_repeats() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 4, 7) / 4, rng.integers(0, 4, 7) / 4
    counts = rng.integers(0, 3, (20, 7))
    found = _weighted_taus(first, second, counts.astype(float))
    for row, tau in zip(counts, found, strict=True):
        listed = kendall_tau(np.repeat(first, row), np.repeat(second, row))
        assert (listed is None) == bool(np.isnan(tau))
        assert listed is None or tau == pytest.approx(listed)


def test_an_agreement_of_chance_is_no_sure_one() -> None:
    panel = paper_sized(models=8, seed=3)
    sides = [(h, {m: f"m{i + at:02d}" for i, m in enumerate("abcd")}) for h, at in (("h1", 0), ("h2", 4))]
    models, tasks = over_harnesses(panel, *sides, draws=300)
    assert models is not None and models.tau_low is not None and models.tau_high is not None
    assert models.tau_low < 0 < models.tau_high
    assert tasks is not None and tasks.tau_low is not None and tasks.tau is not None
    assert 0.3 < tasks.tau_low < tasks.tau < 1


def test_the_whole_study_agrees_with_itself_and_less_of_it_less() -> None:
    panel = paper_sized(models=5, lead=0.02)
    whole = over_seeds(panel, 3)
    assert (whole.tau, whole.same_first, whole.same_order) == (1, 1, 1)
    assert over_tasks(panel, 1.0).tau == 1
    half, single = over_tasks(panel, draws=300), over_seeds(panel, 1, draws=300)
    for less in (half, single):
        assert less.tau is not None
        assert less.tau_low is not None
        assert 0 < less.tau_low <= less.tau < 1
        assert 0 < less.same_order < less.same_first <= 1
    assert [s.what for s in over_best(panel)] == ["best@1", "best@2", "best@3"]
    assert over_best(panel)[0].tau == 1
    assert [s.what for s in without_category(panel)] == ["without a", "without b", "without c", "without d"]
    assert without_category(study({"m": {"x": [1]}})) == ()


@pytest.mark.parametrize("seeds", [0, 4])
def test_seeds_that_are_not_there(seeds: int) -> None:
    with pytest.raises(ValueError, match="give 1 to 3"):
        over_seeds(paper_sized(), seeds)
    with pytest.raises(ValueError, match="share of the tasks"):
        over_tasks(paper_sized(), 0)


def test_unscored_models_and_cells_do_not_disturb_an_order() -> None:
    panel = study(
        {"a": {"x": [0.9, None], "y": [0.8, 0.9]}, "b": {"x": [0.1, 0.2], "y": [None, None]}, "c": {"x": [None]}}
    )
    assert over_seeds(panel, 1, draws=50).same_order == 1
    assert over_tasks(panel, 0.5, draws=50).same_first > 0
