"""`loopscope power` as a user meets it."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from cli_study import error_line, write_study
from made_study import MadeStudy

from loopscope.analysis.power_report import PowerReport
from loopscope.cli.power import _amount, _prices
from loopscope.models import Usage

SCORES = {"a": ("0.9", "0.7"), "b": ("0.5", "0.6"), "c": ("0.2", "0.4")}


def made(folder: Path, agents: str = "ab", tasks: int = 6, seeds: int = 2, **record: object) -> Path:
    """A study whose scores differ a little by task and seed."""
    study = MadeStudy(folder, list(agents), {f"t{i}": "toy" for i in range(tasks)}, seeds)
    for agent in agents:
        for i in range(tasks):
            for seed in range(1, seeds + 1):
                score = Decimal(SCORES[agent][seed % 2]) + Decimal(i * (ord(agent) - 96)) / 100
                study.add(f"t{i}", agent, seed, [], f"{score}", **record)
    return folder


def plan(folder: Path, **more: object) -> Path:
    file = folder / "plan.yaml"
    spec = {"name": "plan", "tasks": ["addition_chains", "csv_groupby"], "agents": ["nop", "search"], "seeds": 3}
    file.write_text(yaml.safe_dump(spec | more))
    return file


def test_a_study_in_one_screen_and_as_json(cli, tmp_path):
    made(tmp_path / "study", usage=Usage(input_uncached=10, output=5, cost_usd=Decimal("0.25")))
    done = cli("power", "study", "--effect", "0.2")
    lines = done.stdout.splitlines()
    assert lines[0] == "made: 2 agents, 6 tasks in 1 family, 2 seeds; 24 of 24 runs have a score"
    assert len(lines) <= 26
    report = PowerReport.model_validate_json(cli("power", "study", "--effect", "0.2", "--json").stdout)
    first = report.comparisons[0]
    assert first.detectable is not None
    assert first.half_by_tasks is not None
    (row,) = [line for line in lines if line.strip().startswith("a, b")]
    assert f"{first.detectable:.2g} [{first.detectable_low:.2g}, {first.detectable_high:.2g}]" in row
    (told,) = [line for line in lines if line.startswith("avg@2, random tasks:")]
    added = first.half_by_tasks.runs_added
    assert f"{first.half_by_tasks.tasks} tasks ({added} runs more, {added * 0.25:,.2f} USD)" in told
    assert "price: 0.25 USD a run as agents or logs say, known for 24 of 24 runs" in done.stdout
    assert (tmp_path / "study" / "tables" / "runs.parquet").is_file()


def test_options_change_what_they_name(cli, tmp_path):
    made(tmp_path / "study")

    def size(*options: str) -> float:
        found = PowerReport.model_validate_json(cli("power", "study", "--json", *options).stdout).comparisons[1]
        assert (found.reading, found.detectable is None) == ("fixed_tasks", False)
        return found.detectable or 0.0

    assert size("--alpha", "0.01") > size() > size("--alpha", "0.2")
    assert size("--power", "0.95") > size() > size("--power", "0.5")
    assert size("--assume-seed-sd", "0.5") > size() > size("--assume-seed-sd", "0.01")
    assert size("--category", "toy") == size()


def test_three_agents_are_pooled(cli, tmp_path):
    made(tmp_path / "study", "abc")
    lines = cli("power", "study").stdout.splitlines()
    rows = [line.strip().split("  ")[0] for line in lines[4:8]]
    assert rows == ["any two, pooled", "a, b", "a, c", "b, c"]


@pytest.mark.parametrize("as_json", [False, True])
def test_a_study_file_before_anything_was_run(cli, tmp_path, as_json):
    file = plan(tmp_path)
    options = ["--json"] if as_json else []
    message = error_line(cli("power", file.name, *options, check=2))
    assert "plan: no run has a score" in message
    assert "--assume-seed-sd" in message
    assert "--assume-task-sd" in message
    done = cli("power", file.name, "--assume-seed-sd", "0.1", "--assume-task-sd", "0.1", *options)
    if as_json:
        report = PowerReport.model_validate(json.loads(done.stdout))
        assert (report.runs_planned, report.runs_scored, report.tasks, report.families) == (12, 0, 2, 2)
        assert report.comparisons[1].detectable is not None
    else:
        assert "0 of 12 runs have a score" in done.stdout
        assert "no result of 2 tasks can have a p below 0.5" in done.stdout
        assert "price: unknown, as nothing was run" in done.stdout
    assert not (tmp_path / "plan").exists(), "planning writes nothing"
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "study.yaml").write_bytes(file.read_bytes())
    cli("power", "folder", "--assume-seed-sd", "0.1", *options)


def test_a_study_file_stands_for_what_it_filled(cli, tmp_path):
    plan(tmp_path)
    made(tmp_path / "plan")
    assert "made: 2 agents" in cli("power", "plan.yaml").stdout


def test_bad_input_is_one_line_and_exit_code_2(cli, tmp_path):
    made(tmp_path / "study")
    for args, message in (
        (["nowhere"], "no study here"),
        (["study", "--alpha", "0"], "--alpha 0: give a number between 0 and 1"),
        (["study", "--power", "1"], "--power 1"),
        (["study", "--effect", "nan"], "--effect nan"),
        (["study", "--category", "x"], "--category x: no task is of this family; there are toy"),
        (["study", "--assume-seed-sd", "-1"], "--assume-seed-sd -1"),
    ):
        assert message in error_line(cli("power", *args, check=2)).replace("\n", " ")
    (tmp_path / "bad.yaml").write_text("name: s\ntasks: [no_such_task]\nagents: [nop, search]\nseeds: 1\n")
    assert "no_such_task" in error_line(cli("power", "bad.yaml", check=2))
    write_study(tmp_path, ["nop"])
    assert "one agent, and a difference is between two" in error_line(cli("power", "s.yaml", check=2))


def test_one_seed_and_one_task_are_told(cli, tmp_path):
    made(tmp_path / "seed", seeds=1)
    text = cli("power", "seed").stdout
    assert "one seed does not tell what more would do (--assume-seed-sd)" in text
    assert "one seed per task: nothing says how seeds differ" in text
    made(tmp_path / "task", tasks=1)
    text = cli("power", "task").stdout
    assert "one task: nothing says how tasks differ" in text
    assert "no result of 1 task with 2 seeds can have a p below 0.33" in text


def test_the_screen_says_how_rough_its_numbers_are(cli, tmp_path):
    made(tmp_path / "study")
    text = " ".join(cli("power", "study").stdout.split())
    rough = (
        "rough: the spread is estimated from 6 tasks and 24 runs; [low, high]: 95 % interval for what that leaves open"
    )
    assert rough in text
    assumed = " ".join(cli("power", "study", "--assume-seed-sd", "0.1").stdout.split())
    assert "rough: the spread is in part or all an assumption, which has no interval" in assumed
    assert "[no interval]" in assumed


@pytest.mark.parametrize(("seconds", "said"), [(599.0, "599 s"), (720.0, "12 min"), (7200.0, "2.0 h")])
def test_times_are_told_in_units_that_keep_two_digits(seconds, said):
    assert _amount("agent_sec", seconds) == said


def test_a_price_that_is_unknown_says_why():
    assert _prices(()) == "unknown: at least one agent has no run that says what it used"
