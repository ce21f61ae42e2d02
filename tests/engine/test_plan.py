"""What is refused before anything runs, and how it is said."""

from __future__ import annotations

import pytest

from loopscope.engine.plan import plan_study
from loopscope.records import StudyError, locate

GOOD = "name: s\ntasks: [addition_chains]\nagents: [nop]\nseeds: 2\n"


def plan(tmp_path, text, directory="out"):
    file = tmp_path / "study.yaml"
    file.write_text(text)
    return plan_study(file, tmp_path / directory)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a study is a mapping with name, tasks, agents and seeds; this is empty"),
        ("- a", "this is a list"),
        ("name: [", "line 1, column 8: not valid YAML"),
        (GOOD.replace("seeds: 2", "seeds: 0"), "seeds: a number of seeds lies between 1 and 10000"),
        (GOOD.replace("seeds: 2\n", ""), "seeds: Field required (add it)"),
        (GOOD + "taks: [a]\n", "taks: Extra inputs are not permitted (unknown field; did you mean `tasks`?)"),
        (GOOD + "concurrency: no\n", "concurrency:"),
        (GOOD + "budget: {agent_sec: -1}\n", "budget.agent_sec: Input should be greater than 0"),
        (GOOD.replace("[nop]", "[nop, {name: nop}]"), "agents: two agents share the label ['nop']"),
        (GOOD.replace("[nop]", "[serch]"), "agents.0.name: unknown agent 'serch'; did you mean search"),
        (
            GOOD.replace("[nop]", "[claude-code]"),
            "agents.0.name: claude-code drives a model; add `model: provider/name`",
        ),
        (GOOD.replace("[nop]", "[{name: nop, label: '../x'}]"), "label '../x'"),
        (GOOD.replace("addition_chains", "adition_chains"), "did you mean addition_chains"),
        (GOOD.replace("addition_chains", "./nowhere"), "no built-in task and no directory"),
    ],
)
def test_a_bad_study_is_refused_with_file_field_and_remedy(tmp_path, text, message):
    with pytest.raises(StudyError) as caught:
        plan(tmp_path, text)
    assert message in str(caught.value)
    assert "study.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_task_without_a_verifier_is_refused(tmp_path):
    task = tmp_path / "bare"
    (task / "environment").mkdir(parents=True)
    (task / "environment/Dockerfile").write_text("FROM python:3.12\nWORKDIR /app\n")
    (task / "instruction.md").write_text("do it")
    (task / "task.toml").write_text("version = '1.0'\n[agent]\ntimeout_sec = 5.0\n[verifier]\ntimeout_sec = 5.0\n")
    with pytest.raises(StudyError, match="verifier"):
        plan(tmp_path, GOOD.replace("addition_chains", "./bare"))


def test_rollouts_go_seed_by_seed_so_that_an_early_stop_leaves_a_balanced_study(tmp_path):
    made = plan(tmp_path, GOOD.replace("[nop]", "[nop, oracle]"))
    assert [(r.seed, r.agent.label) for r in made.runs] == [(1, "nop"), (1, "oracle"), (2, "nop"), (2, "oracle")]
    assert made.runs[0].run_id == "addition_chains__nop__s1"


def test_a_study_can_grow_but_not_change(tmp_path):
    plan(tmp_path, GOOD)
    grown = plan(tmp_path, GOOD.replace("[nop]", "[nop, oracle]").replace("seeds: 2", "seeds: 3"))
    assert len(grown.runs) == 6
    with pytest.raises(StudyError, match=r"agents\.nop: was started with other settings"):
        plan(tmp_path, GOOD.replace("[nop]", "[{name: oracle, label: nop}]"))


def test_where_a_study_lives(tmp_path):
    (tmp_path / "study.yaml").write_text(GOOD)
    (tmp_path / "other.yaml").write_text(GOOD)
    assert locate(tmp_path) == (tmp_path / "study.yaml", tmp_path)
    assert locate(tmp_path / "study.yaml") == (tmp_path / "study.yaml", tmp_path)
    assert locate(tmp_path / "other.yaml") == (tmp_path / "other.yaml", tmp_path / "other")
    assert locate(tmp_path / "other.yaml", tmp_path / "x")[1] == tmp_path / "x"
    with pytest.raises(StudyError, match=r"holds no study\.yaml"):
        (tmp_path / "empty").mkdir()
        locate(tmp_path / "empty")
