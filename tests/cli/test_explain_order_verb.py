"""`explain --order`: the places of the agents, and the orders that theirs is held against."""

from __future__ import annotations

import json

import pytest
from made_study import MadeStudy

from loopscope.analysis.build import analyze
from loopscope.analysis.explain.order import OrderTold, explain_order
from loopscope.cli.explained_order import against_words
from loopscope.models.interval_rows import StabilityRow


@pytest.fixture
def study(tmp_path):
    made = MadeStudy(tmp_path / "s", ["a", "b"], {"t": "toy", "u": "toy", "v": "toy"}, 2)
    for at, task in enumerate("tuv"):
        for agent, base in (("a", 0.2), ("b", 0.5)):
            for seed in (1, 2):
                score = None if (agent, task, seed) == ("b", "v", 2) else f"{base + (at + seed) / 20:.2f}"
                made.add(task, agent, seed, ["0", "0.1"], score)
    analyze(made.path)
    return made


def test_places_their_ranges_and_what_the_order_is_held_against_are_printed(cli, study):
    text = cli("explain", "s", "--order", "avg_at_k").stdout
    told = explain_order(study.path, "avg_at_k")
    assert [agent.agent for agent in told.agents] == ["b", "a"] and told.n_tasks == 3
    b = told.agents[0]
    assert (b.best_place, b.worst_place, b.shares) == (1, 1, (1.0, 0.0))
    assert f"b = {b.value:.4f} [{b.low:.2f}, {b.high:.2f}], k 2" in text
    assert "place 1: 100 %, place 2: 0 %" in text and "by its number place 1, whatever the missing scores are" in text
    assert "places in 10,000 resamples, over 3 tasks that all of them have" in text
    assert "note: no difference could be significant with so few tasks" in text
    assert (
        "1 of 2 seeds: the same agent first in 100 % and the same order in 100 % of 1,000 draws; tau 1.00 [1.00, 1.00]"
        in (" ".join(text.split()))
    )
    assert OrderTold.model_validate(json.loads(cli("explain", "s", "--order", "c2", "--json").stdout)).measure == "c2"


def test_what_has_no_order_and_what_does_not_go_with_it_is_refused(cli, study):
    assert "no number has the measure" in cli("explain", "s", "--order", "zz", check=2).stderr
    refused = cli("explain", "s", "--order", "c2", "--agent", "a", check=2).stderr
    assert "--agent does not go with --order" in " ".join(refused.split())


def row(**other: object) -> StabilityRow:
    given = {
        "measure": "avg_at_k", "ordered": "models", "what": "one against other", "tau": 0.5, "tau_low": -0.2,
        "tau_high": 1.0, "same_first": 0.5, "same_order": 0.25, "draws": 1000, "n_ordered": 3, "n_tasks": 8,
    }  # fmt: skip
    return StabilityRow(**(given | other))


def test_harnesses_that_may_well_not_agree_are_said_to_give_no_evidence():
    assert against_words(row()) == (
        "one against other: the same model first in 50 % and the same order in 25 % of 1,000 draws; tau 0.50 "
        "[-0.20, 1.00]; 3 models, no evidence that they agree"
    )
    assert against_words(row(tau_low=0.1)).endswith("3 models")
    tasks = row(ordered="tasks", same_first=None, same_order=None, tau=None, tau_low=None, tau_high=None)
    assert against_words(tasks) == "one against other: nothing is in order"
    assert against_words(row(ordered="agents", draws=1, same_first=1.0, same_order=0.0, what="without toy")) == (
        "without toy: the same agent first, not the same order; tau 0.50"
    )
