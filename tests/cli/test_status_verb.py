"""`status`, `run --retire` and `run --again` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_study import scripted, write_study
from finished_run import NOON, failure, finish, finish_all
from toy_study import START, write_task

from loopscope.engine.plan import Plan, plan_study
from loopscope.models import RunStatus, StateScore, Verification, VerificationStatus
from loopscope.records import FINAL
from loopscope.records.completeness import MAX_ERRORS

STUDY = "name: s\ntasks: [./toy]\nagents: [nop, {name: search, kwargs: {rounds: %d}}]\nseeds: 2\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_task(tmp_path / "toy")
    return tmp_path


def plan(root: Path, rounds: int = 5) -> Plan:
    (root / "s.yaml").write_text(STUDY % rounds)
    return plan_study(root / "s.yaml", root / "s")


def test_a_small_study_is_listed_run_by_run(cli, root):
    made = plan(root)
    lost = [failure("MissingTools", "environment", "lacks [red]ghc\x1b[31m")]
    finish(made, made.runs[0], RunStatus.ENVIRONMENT_ERROR, problems=lost)
    text = cli("status", "s", check=1).stdout
    assert "toy__nop__s1" in text
    assert "tool missing: lacks [red]ghc\\x1b[31m" in text
    assert "nobody works on it" in text
    assert "units: 1 failed, 3 waiting" in text
    assert "another run does 4 rollouts (1 of them tried before)" in text
    found = json.loads(cli("status", "s", "--json", check=1).stdout)
    assert {state: count for state, count in found["counts"].items() if count} == {"failed": 1, "waiting": 3}
    assert found["units"][0]["ending"] == "tool_missing"


def test_of_a_large_study_only_what_needs_an_eye_is_listed(cli, root):
    (root / "s.yaml").write_text((STUDY % 5).replace("seeds: 2", "seeds: 30"))
    made = plan_study(root / "s.yaml", root / "s")
    finish_all(made)
    record = made.store.run("toy__nop__s7").path / "record.json"
    record.write_text("{")
    failed = Verification(
        status=VerificationStatus.ERROR, started_at=NOON, duration_sec=0, verifier_timeout_sec=1, reason="no sandbox"
    )
    made.store.run("toy__nop__s9").write_score(
        StateScore(
            state=FINAL,
            run_id="toy__nop__s9",
            verifier_hash=made.runs[0].task.verifier_hash,
            verifications=(failed,) * MAX_ERRORS,
        )
    )
    text = cli("status", "s", check=1).stdout
    assert "toy__nop__s7" in text
    assert "toy__nop__s9" in text and "1 given up" in text
    assert "toy__nop__s8" not in text
    assert "units: 59 done, 1 invalid" in text
    assert "toy__nop__s8" in cli("status", "s", "--all", check=1).stdout


def test_a_study_without_failures_ends_well(cli, root):
    finish_all(plan(root))
    assert "units: 4 done" in cli("status", "s").stdout
    assert "no study here" in cli("status", "nowhere", check=2).stderr


def test_a_change_that_costs_results_is_listed_and_refused(cli, root):
    finish_all(plan(root))
    (root / "s.yaml").write_text(STUDY % 8)
    lines = cli("run", "s.yaml", check=2).stderr.splitlines()
    assert lines == [
        "agents.search.kwargs.rounds: 5 -> 8 retires 2 finished runs and adds 2",
        "error: s.yaml: 2 finished runs would be retired, as the study file no longer names them; `loopscope run s.yaml "
        "--retire` goes on (nothing is deleted), or put back what was changed",
    ]
    assert not (root / "s/retired").exists()


def test_an_unknown_run_is_not_done_again(cli, root):
    plan(root)
    assert "the study has no such run; did you mean" in cli("run", "s.yaml", "--again", "toy__nop__s3", check=2).stderr


@pytest.mark.sandbox
def test_retire_and_again_do_what_they_say(cli, tmp_path):
    write_study(tmp_path, [scripted("a", START)])
    cli("run", "s.yaml", "--no-score")
    again = cli("run", "s.yaml", "--no-score", "--json", "--again", "toy__a__s1")
    assert json.loads(again.stdout)["rollouts_done_now"] == 1
    found = json.loads(cli("status", "s", "--json").stdout)
    assert found["units"][0]["tries"] == 2
    text = (tmp_path / "s.yaml").read_text()
    (tmp_path / "s.yaml").write_text(text.replace("initial commit", "another commit"))
    assert "would be retired" in cli("run", "s.yaml", check=2).stderr
    done = cli("run", "s.yaml", "--no-score", "--retire")
    assert "changed: agents.a.kwargs.commands.0" in done.stderr
    assert json.loads(cli("status", "s", "--json").stdout)["counts"]["retired"] == 1
    (tmp_path / "s.yaml").write_text(text)
    back = cli("run", "s.yaml", "--no-score", "--retire", "--json")
    assert json.loads(back.stdout)["rollouts_done_now"] == 0
    assert "1 run comes back from retired/" in back.stderr


def test_the_study_file_stands_for_its_directory(cli, root):
    finish_all(plan(root))
    assert cli("status", "s.yaml").stdout == cli("status", "s").stdout
    (root / "s.yaml").write_text(STUDY % 6)
    assert "../s.yaml: changed since the last `loopscope run` (agents)" in cli("status", "s.yaml").stderr
    assert "no study here" in cli("analyze", "toy/task.toml", check=2).stderr


def test_status_promises_nothing_that_run_refuses(cli, root):
    plan(root)
    assert "another run does 4 rollouts and verifies 0 known states" in cli("status", "s").stdout
    (root / "s/tasks/toy/instruction.md").write_text("other\n")
    text = cli("status", "s", check=1).stdout
    assert "damaged: tasks/toy: was changed after it was prepared" in text
    assert "another run does" not in text
    assert "`loopscope study verify s`" in text


@pytest.mark.parametrize("text", [STUDY % 5 + "color: red\n", (STUDY % 5).replace("./toy", "./absent")])
def test_a_refused_study_leaves_no_directory_behind(cli, root, text):
    (root / "s.yaml").write_text(text)
    cli("run", "s.yaml", check=2)
    assert not (root / "s").exists()
    (root / "s").mkdir()
    cli("run", "s.yaml", check=2)
    assert (root / "s").is_dir(), "it was there before"
