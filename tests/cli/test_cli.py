"""The command as a user meets it: exit codes, one-line errors, what is said of failures."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from cli_study import error_line, scripted, write_study
from made_study import MadeStudy
from toy_study import START

from loopscope.cli.console import verb
from loopscope.records import StudyError


def test_help_names_every_verb(cli):
    text = cli("--help").stdout
    for name in ("demo", "run", "score", "status", "analyze", "report", "tasks", "agents", "measures"):
        assert name in text


def test_lists(cli):
    tasks = json.loads(cli("tasks", "list", "--json").stdout)
    assert {"csv_groupby", "addition_chains", "coupled_forecast"} <= {t["name"] for t in tasks}
    agents = json.loads(cli("agents", "list", "--json").stdout)
    assert {"nop", "oracle", "search", "claude-code"} <= {a["name"] for a in agents}
    assert "addition_chains" in cli("tasks", "list").stdout
    assert "search" in cli("agents", "list").stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["run", "nowhere"], "no such file or directory"),
        (["run", "bad.yaml"], "bad.yaml: seeds: Field required (add it)"),
        (["run", "bare"], "bare: results would go here, but it is a file; name a directory with --out"),
        (["run", "bad.yaml", "--out", "bare"], "bare: results would go here, but it is a file"),
        (["analyze", "nowhere"], "no study here"),
        (["report", "nowhere"], "loopscope analyze"),
        (["score", "nowhere"], "no study here"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(cli, tmp_path, args, message):
    for name in ("bad.yaml", "bare"):
        (tmp_path / name).write_text("name: s\ntasks: [addition_chains]\nagents: [nop]\n")
    assert message in error_line(cli(*args, check=2))


def outcome_of(error: BaseException, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    """Exit code and lines of a verb that ends in this error."""

    @verb
    def failing() -> None:
        raise error

    with pytest.raises(BaseException) as caught:
        failing()
    lines = capsys.readouterr().err.splitlines()
    return getattr(caught.value, "exit_code", -1), lines


def test_errors_of_tasks_side_by_side_are_unwrapped(capsys):
    inner = ExceptionGroup("inner", [StudyError("a: wrong; mend it"), StudyError("a: wrong; mend it")])
    found = outcome_of(ExceptionGroup("outer", [inner, StudyError("b: wrong; mend it")]), capsys)
    assert found == (2, ["error: a: wrong; mend it", "error: b: wrong; mend it"])


def test_the_machine_s_errors_name_path_and_remedy(capsys):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/x")
    code, (line,) = outcome_of(ExceptionGroup("g", [full]), capsys)
    assert code == 1
    assert line.startswith("error: /data/x: No space left on device; make room")
    code, (line,) = outcome_of(PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/data/x"), capsys)
    assert (code, line) == (1, "error: /data/x: Permission denied; give this user access, or name another directory")


def test_a_full_disk_that_names_no_file_is_told_with_the_study(cli, tmp_path, monkeypatch):
    """Writing to an open file fails without its name."""
    write_study(tmp_path, ["nop"])

    async def full(*_: object, **__: object) -> None:
        with open("/dev/full", "wb", buffering=0) as file:
            file.write(b"x")

    monkeypatch.setattr("loopscope.engine.study.run_study", full)
    line = error_line(cli("run", "s.yaml", check=1))
    assert line.startswith("error: s: No space left on device; make room"), line


@pytest.mark.parametrize("bug", [KeyError("k"), TimeoutError(), ExceptionGroup("g", [StudyError("a"), KeyError("k")])])
def test_a_bug_of_ours_keeps_its_traceback(capsys, bug):
    assert outcome_of(bug, capsys) == (-1, [])


def test_a_study_from_start_to_report(cli, tmp_path):
    made = MadeStudy(tmp_path / "study", ["a"], {"t": "toy"}, 1)
    made.add("t", "a", 1, ["0", "0.8", "0.5", "0.8"], "0.8")
    result = json.loads(cli("analyze", "study", "--json").stdout)
    assert result["outcome"][0]["avg_at_k"] == 0.8
    assert "avg@1" in cli("analyze", "study").stdout
    page = Path(json.loads(cli("report", "study", "--json").stdout)["report"])
    assert (tmp_path / page).is_file()


def test_measures_verify_fails_on_a_mismatch(cli, tmp_path):
    good = {"name": "n", "function": "c1", "inputs": {"scores": [1]}, "expected": {"c1": "1"}, "why": "one"}
    (tmp_path / "good.json").write_text(json.dumps([good]))
    assert "1 of 1 cases hold" in cli("measures", "verify", "good.json").stdout
    (tmp_path / "bad.json").write_text(json.dumps([good | {"expected": {"c1": "1/2"}}]))
    done = cli("measures", "verify", "bad.json", check=1)
    assert "c1 expected 1/2, got 1" in done.stdout
    (tmp_path / "empty.json").write_text("[]")
    cli("measures", "verify", "empty.json", check=1)
    cli("measures", "verify", "nowhere.json", check=1)


def test_the_example_of_the_page_on_vectors_holds(cli, tmp_path):
    page = (Path(__file__).parents[2] / "docs/vectors.md").read_text()
    (tmp_path / "page.json").write_text(page.split("```json\n")[1].split("```")[0])
    assert "5 of 5 cases hold" in cli("measures", "verify", "page.json").stdout


@pytest.mark.sandbox
def test_run_score_and_run_again(cli, tmp_path):
    write_study(tmp_path, [scripted("a", START, "echo 0.5 > value.txt && git commit -qam 'round 1: change=x'")])
    done = json.loads(cli("run", "s.yaml", "--no-score", "--json").stdout)
    assert (done["rollouts_done_now"], done["rollouts_failed"], done["scores"]) == (1, 0, None)
    scores = {"states": 3, "verifications": 3, "unscored": 0, "unscored_by_status": {}, "unreadable_runs": []}
    assert json.loads(cli("score", "s", "--json").stdout) == scores
    again = json.loads(cli("run", "s.yaml", "--json").stdout)
    assert (again["rollouts_done_now"], again["scores"]["verifications"]) == (0, 0)
    assert "no harvested run is called 'x'" in error_line(cli("score", "s", "x", check=2))
    record = tmp_path / "s/runs/toy__a__s1/record.json"
    record.write_text("{")
    done = cli("run", "s.yaml", "--json", check=1)
    (line,) = json.loads(done.stdout)["rollouts_invalid"]
    assert "toy__a__s1/record.json" in line
    assert record.read_text() == "{", "nothing is done over it"
    said = cli("run", "s.yaml", check=1).stderr
    assert "`loopscope run --again RUN` does it once more" in said
    assert "left out: toy__a__s1" not in said, "it was called invalid already"
    assert json.loads(cli("score", "s", "--json", check=1).stdout)["unreadable_runs"] == ["toy__a__s1"]


@pytest.mark.sandbox
def test_failures_are_exit_code_1_and_said_by_kind(cli, tmp_path):
    agents = [scripted("fails", START, fail="model not found"), scripted("breaks", START, "echo x > value.txt")]
    write_study(tmp_path, agents)
    done = cli("run", "s.yaml", check=1)
    assert "1 rollout failed: the agent; this is their result, not tried again" in done.stderr
    assert "1 state without a score: 1 unreadable; this is their result, not tried again" in done.stderr
    again = json.loads(cli("run", "s.yaml", "--json", check=1).stdout)
    assert (again["rollouts_done_now"], again["rollouts_failed_by_agent"]) == (0, 1)
    assert again["scores"]["unscored_by_status"] == {"unreadable": 1}
    cli("score", "s", check=1)
    cli("score", "s", "toy__fails__s1")


@pytest.mark.sandbox
def test_a_failed_environment_names_the_tool_and_is_tried_again(cli, tmp_path):
    write_study(tmp_path, ["nop"])
    dockerfile = tmp_path / "toy/environment/Dockerfile"
    dockerfile.write_text(dockerfile.read_text() + "RUN apt-get install -y ghc\n")
    done = cli("run", "s.yaml", check=1)
    assert "ghc" in done.stderr
    assert "1 rollout failed: the environment; see record.json; tried again next time" in done.stderr
