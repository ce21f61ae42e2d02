"""`explain --number` as a user meets it: the tables' number, what it is made of, and refusals that help."""

from __future__ import annotations

import json
from statistics import mean, stdev

import explain_page
import pytest
from made_study import MadeStudy

from loopscope.analysis.build import analyze
from loopscope.analysis.explain.difference import explain_difference
from loopscope.analysis.explain.number import explain_number
from loopscope.analysis.explain.number_model import DifferenceTold, NumberTold
from loopscope.cli.explained_number import difference_text, number_text
from loopscope.measures.uncertainty.interval import Moments, score_interval


@pytest.fixture
def study(tmp_path):
    made = explain_page.study_of_numbers(tmp_path / "s")
    analyze(made.path)
    return made


@pytest.fixture
def two(tmp_path):
    made = MadeStudy(tmp_path / "two", ["a", "b"], {"t": "toy", "u": "toy"}, 1)
    for task, agent, score in (("t", "a", "0.5"), ("u", "a", "0.25"), ("t", "b", "1"), ("u", "b", "1")):
        made.add(task, agent, 1, ["0", score], score)
    analyze(made.path)
    return made


def test_the_number_its_interval_and_every_run_are_printed(cli, study):
    text = cli("explain", "s", "--number", "avg_at_k").stdout
    told = explain_number(study.path, "avg_at_k")
    assert text.startswith("avg_at_k of search  overall, random tasks\n")
    assert f"avg_at_k = {told.value:.6g} [{told.low:.6g}, {told.high:.6g}]: mean over tasks" in text
    assert "made of 3 tasks and 5 runs with a value; 1 rollout without one, left out" in text
    assert f"se = {told.se:.6g}: se^2 = " in text
    assert "pack (puzzle) = 0.4; variance 0.01\n    0.5 pack__search__s1; 0.3 pack__search__s2" in text
    assert "0.4 route__search__s1; — route__search__s2" in text
    for line in number_text(told, 100).plain.split("\n"):
        assert len(line) <= 100, line


def test_agent_category_and_reading_choose(cli, two, study):
    text = cli("explain", "two", "--number", "avg_at_k", "--agent", "a", "--category", "toy").stdout
    assert "avg_at_k of a  toy, random tasks" in text
    assert "__b__" not in text
    fixed = cli("explain", "s", "--number", "avg_at_k", "--reading", "fixed_tasks", "--category", "puzzle").stdout
    assert "avg_at_k of search  puzzle, fixed tasks" in fixed
    assert "over seeds / n^2" in fixed
    assert "tune" not in fixed


def test_json_is_the_model(cli, study):
    found = cli("explain", "s", "--number", "c1", "--json")
    told = NumberTold.model_validate(json.loads(found.stdout))
    assert told == NumberTold.model_validate_json(explain_number(study.path, "c1").model_dump_json())
    assert (told.measure, [task.task for task in told.tasks]) == ("c1", ["pack", "route", "tune"])


def test_where_nothing_differs_the_formula_is_that_of_the_unseen(cli, two):
    text = cli("explain", "two", "--number", "avg_at_k", "--agent", "b").stdout
    assert "se = 0: " in text
    assert "method score: u of the way to either bound, (1 - u)^m = (1 - level) / 2" in text
    told = explain_number(two.path, "avg_at_k", "b")
    assert told.low == pytest.approx(0.025**0.5), "1 - u of the way down from 1, m = 2"


def test_a_single_run_has_no_interval_and_says_why(cli, tmp_path):
    made = explain_page.example(tmp_path / "one")
    analyze(made.path)
    text = cli("explain", "one", "--number", "c2").stdout
    assert "c2 = 0.95 [no interval]" in text
    assert "none: one task: nothing says how tasks differ" in text
    assert "0.95 toy__search__s1" in text


def test_older_tables_are_warned_of(cli, study):
    (study.path / "runs/route__search__s1/scores/final.json").unlink()
    done = cli("explain", "s", "--number", "avg_at_k")
    assert "warning: the study's tables were made before something changed" in done.stderr


def test_a_score_that_is_not_official_says_from_where_it_is(study):
    told = explain_number(study.path, "avg_at_k")
    assert "(reported)" not in number_text(told, 100).plain
    task = told.tasks[0]
    runs = (task.runs[0].model_copy(update={"source": "reported"}), *task.runs[1:])
    other = told.model_copy(update={"tasks": (task.model_copy(update={"runs": runs}), *told.tasks[1:])})
    assert "0.5 pack__search__s1 (reported)" in number_text(other, 100).plain


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere", "--number", "c1"], "no study here"),
        (["two", "--number", "avg@k"], "no number has the measure 'avg@k'; near to it: avg_at_k"),
        (["two", "--number", "zzzz"], "no number has the measure 'zzzz'; there are agent_sec, avg_at_k, "),
        (["two", "--number", "c1"], "has 2 agents; name one of them: a, b"),
        (["two", "--number", "c1", "--agent", "z"], "no number has the agent 'z'; there are a, all agents, b"),
        (
            ["two", "--number", "c1", "--agent", "a", "--against", "z"],
            "no comparison has the agent 'z'; there are a, b",
        ),
        (["two", "--number", "c1", "--agent", "a", "--against", "a"], "name two different agents"),
        (["two", "--number", "tokens", "--agent", "a", "--against", "b"], "no comparison has the measure 'tokens'"),
        (["two", "--number", "c1", "--agent", "a", "--category", "toys"], "the category 'toys'; near to it: toy"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(cli, two, args, message):
    said = " ".join(cli("explain", *args, check=2).stderr.split())  # a long path folds the line
    assert said.count("error: ") == 1 and said.startswith("error: ")
    assert message in said


def test_a_study_without_tables_says_what_makes_them(cli, study):
    (study.store.tables / "intervals.parquet").unlink()
    said = " ".join(cli("explain", "s", "--number", "c1", check=2).stderr.split())
    assert said.startswith("error: ") and "is not there; `loopscope analyze " in said


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--agent", "a"], "--agent does not go without --number"),
        (["--reading", "fixed_tasks"], "--reading does not go without --number"),
        (["--against", "a"], "--against does not go without --number"),
        (["--number", "c1", "--against", "a"], "--against needs --agent"),
        (["--number", "c1", "--measure", "c2"], "--measure does not go with --number"),
        (["t__a__s1", "--number", "c1"], "RUN does not go with --number"),
    ],
)
def test_options_of_a_run_and_of_a_number_do_not_mix(cli, two, args, message):
    assert message in " ".join(cli("explain", "two", *args, check=2).stderr.split())


def test_a_difference_is_told_from_whom_it_is_asked_of(cli, tmp_path):
    made = explain_page.study_of_numbers(tmp_path / "pair", pair=True)
    analyze(made.path)
    args = ("explain", "pair", "--number", "avg_at_k", "--agent", "search", "--against", "other")
    text = cli(*args).stdout
    assert text.startswith("avg_at_k of search against other  overall, random tasks\n")
    gaps = [0.4 - 0.75, 0.4 - 0.375, 0.225 - 0.35]
    told = explain_difference(made.path, "avg_at_k", "search", "other")
    assert [task.difference for task in told.tasks] == pytest.approx(gaps)
    assert told.difference == pytest.approx(mean(gaps))
    se = stdev(gaps) / 3**0.5  # the one task of its family joins the others
    assert (told.se, told.df, told.warnings) == (pytest.approx(se), 2, ())
    assert (told.low, told.high) == pytest.approx(score_interval(Moments(mean(gaps), se, 2, 3), 0.95, (-1, 1)))
    assert "3 common tasks: 1 won, 2 lost, 0 tied" in text
    assert "pack (puzzle) = 0.4 - 0.75 = -0.35\n    search: 0.5 pack__search__s1; 0.3 pack__search__s2\n" in text
    assert told.p == 0.5, "of the 8 signs 4 have a mean as far from 0"
    assert DifferenceTold.model_validate(json.loads(cli(*args, "--json").stdout)) == told
    back = explain_difference(made.path, "avg_at_k", "other", "search")
    assert (back.difference, back.low, back.high, back.se) == (-told.difference, -told.high, -told.low, told.se)
    assert (back.wins, back.losses, back.p) == (told.losses, told.wins, told.p)
    for line in difference_text(told, 100).plain.split("\n"):
        assert len(line) <= 100, line
    best = explain_difference(made.path, "best_at_k", "search", "other", reading="fixed tasks")
    assert (best.tasks[1].first, best.tasks[1].difference) == (None, None), "best@2 of one score is none"
    for measure in ("best_at_k", "c1", "c2", "c3"):
        for reading in ("random tasks", "fixed tasks"):
            one = explain_difference(made.path, measure, "search", "other", "puzzle", reading)
            assert one.warnings == (), (measure, reading)


def test_agents_without_a_common_task_have_no_difference(cli, tmp_path):
    made = MadeStudy(tmp_path / "far", ["a", "b"], {"t": "toy", "u": "toy"}, 1)
    made.add("t", "a", 1, ["0", "0.5"], "0.5")
    analyze(made.path)
    text = cli("explain", "far", "--number", "avg_at_k", "--agent", "a", "--against", "b").stdout
    assert "difference = — [no interval]" in text
    assert "none: no task has a number of both" in text
    assert "t (toy) = 0.5 - — = —" in text
    assert "b: no run" in text
