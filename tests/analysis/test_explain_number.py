"""A number of a study explained: value, error, method, and the runs behind it."""

from __future__ import annotations

from statistics import mean, stdev

import pytest
from made_study import MadeStudy

from loopscope.analysis.build import analyze
from loopscope.analysis.explain.number import explain_number
from loopscope.analysis.intervals.samples import MEASURES
from loopscope.cli.explained_number import number_text
from loopscope.measures.uncertainty.interval import UNIT, Moments, score_interval
from loopscope.records import RecordError


@pytest.fixture
def made(tmp_path):
    study = MadeStudy(tmp_path / "study", ["a", "b"], {"t": "toy", "u": "toy", "v": "puzzle"}, 2)
    study.add("t", "a", 1, ["0", "0.8", "0.5"], "0.5")
    study.add("t", "a", 2, ["0", "0.1"], "0.1")
    study.add("u", "a", 1, ["0", "0.4"], "0.4")
    study.add("u", "a", 2, ["0", "0.6"], None)
    study.add("v", "a", 1, ["0.2"], "0.2")
    study.add("v", "b", 1, [], "0.9")
    analyze(study.path)
    return study


def test_the_runs_give_the_value_the_tasks_the_error_and_both_the_interval(made):
    told = explain_number(made.path, "avg_at_k", "a", "toy")
    assert [(task.task, [run.value for run in task.runs]) for task in told.tasks] == [
        ("t", [0.5, 0.1]),
        ("u", [0.4, None]),
    ]
    means = [mean([0.5, 0.1]), 0.4]
    assert told.value == pytest.approx(mean(means))
    assert (told.se, told.df) == (pytest.approx(stdev(means) / 2**0.5), 1)
    assert told.t == pytest.approx(12.7062, abs=1e-3)
    ends = score_interval(Moments(mean(means), stdev(means) / 2**0.5, 1, 2), 0.95, UNIT)
    assert (told.low, told.high) == pytest.approx(ends)
    assert told.method == "score" and told.interval_formula is not None and told.interval_formula.startswith("Wilson")
    assert (told.n_missing, told.warnings) == (1, ())
    fixed = explain_number(made.path, "avg_at_k", "a", "toy", "fixed tasks")
    variance = stdev([0.5, 0.1]) ** 2 / 2
    assert fixed.tasks[0].seed_variance == pytest.approx(variance) and fixed.tasks[1].seed_variance is None
    assert fixed.se == pytest.approx((2 * variance) ** 0.5 / 2), "the second task borrows the variance of the first"


def test_every_number_of_the_tables_is_explained_by_the_same_value(made):
    for agent in "ab":
        for measure in ("avg_at_k", "best_at_k", *MEASURES):
            told = explain_number(made.path, measure, agent)
            assert told.warnings == (), measure
            assert (told.low is None) == (told.method is None), measure
            if told.value is None:
                assert told.n_runs == 0 and told.guard


def test_the_mean_over_all_agents_is_explained_by_the_runs_of_all(made):
    for measure in ("c1", "c2", "c3"):
        for category in ("toy", "puzzle"):
            for reading in ("random tasks", "fixed tasks"):
                told = explain_number(made.path, measure, "all agents", category, reading)
                assert (told.agent, told.warnings) == ("all agents", ())
                known = [task.value for task in told.tasks if task.value is not None]
                assert told.value is None or told.value == pytest.approx(mean(known))
    toy = explain_number(made.path, "c1", "all agents", "puzzle")
    assert {run.run_id for task in toy.tasks for run in task.runs} == {"v__a__s1", "v__b__s1"}
    assert toy.value_formula.startswith("mean over agents")
    with pytest.raises(RecordError, match="no number has the category 'overall'; there are puzzle, toy"):
        explain_number(made.path, "c1", "all agents")


def test_an_average_over_common_tasks_is_explained_by_their_runs_alone(made):
    for measure, value in (("common_avg", 0.2), ("common_best", 0.2)):
        told = explain_number(made.path, measure, "a")
        assert (told.value, told.warnings) == (pytest.approx(value), ())
        assert [task.task for task in told.tasks] == ["v"]
        assert told.value_formula.endswith("over the tasks that all agents with a score have one on")
    assert explain_number(made.path, "avg_at_k", "a").value != pytest.approx(0.2)


def test_what_missing_scores_leave_open_is_told_with_the_places(made):
    told = explain_number(made.path, "avg_at_k", "a", "toy")
    assert told.missing_low is not None and told.outer_low is not None and told.outer_high is not None
    assert told.outer_low <= told.missing_low < told.value < told.missing_high <= told.outer_high
    assert (told.best_place, told.worst_place) == (None, None), "one agent alone has no place"
    text = number_text(told, 100).plain
    assert "with the missing scores: 0.25 if all are 0, 0.5 if 1; from the lower end of the one's interval" in text
    fixed = explain_number(made.path, "avg_at_k", "a", "overall", "fixed tasks")
    assert fixed.best_place is None or fixed.best_place <= (fixed.worst_place or 0)


def test_what_is_not_there_is_named_with_what_is(made):
    with pytest.raises(
        RecordError, match=r"no number has the measure 'zz'; there are agent_sec, avg_at_k, .* and \d\d more$"
    ):
        explain_number(made.path, "zz", "a")
    with pytest.raises(RecordError, match=r"no number has the measure 'c4'; near to it: c3, c2, c1$"):
        explain_number(made.path, "c4", "a")
    with pytest.raises(RecordError, match=r"has 2 agents; name one of them: a, b$"):
        explain_number(made.path, "c1")
    with pytest.raises(RecordError, match="no number has the agent 'z'; there are a, all agents, b"):
        explain_number(made.path, "c1", "z")
    with pytest.raises(RecordError, match="no number has the category 'games'; there are overall, puzzle, toy"):
        explain_number(made.path, "c1", "a", "games")
    (made.store.tables / "intervals.parquet").unlink()
    with pytest.raises(RecordError, match="loopscope analyze"):
        explain_number(made.path, "c1", "a")


def test_tables_that_are_older_than_the_records_are_told_of(made):
    made.add("v", "a", 2, ["0"], "0.6")
    analyze(made.path)
    score = made.path / "runs/v__a__s2/scores/final.json"
    score.unlink()
    [warning] = explain_number(made.path, "avg_at_k", "a", "puzzle").warnings
    assert "made before something changed: the records give 0.2" in warning
