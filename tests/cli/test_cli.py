"""The command as a user meets it: exit codes, one-line errors, JSON alone on standard output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from made_study import MadeStudy
from toy_study import START, write_task

LOOPSCOPE = [sys.executable, "-c", "from loopscope.cli import main; main()"]


@pytest.fixture
def cli(tmp_path):
    env = os.environ | {
        "LOOPSCOPE_LOCK_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[1] / "support"),
    }

    def call(*args: str, check: int | None = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([*LOOPSCOPE, *args], capture_output=True, text=True, cwd=tmp_path, env=env)
        assert check is None or done.returncode == check, done.stderr
        return done

    call.env = env  # type: ignore[attr-defined]
    return call


def error_line(done):
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line]
    assert lines[0].startswith("error: ")
    return " ".join(lines)


def test_help_names_every_verb(cli):
    text = cli("--help").stdout
    for name in ("demo", "run", "score", "analyze", "report", "tasks", "agents", "measures"):
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
        (["analyze", "nowhere"], "no study here"),
        (["report", "nowhere"], "loopscope analyze"),
        (["score", "nowhere"], "no study here"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(cli, tmp_path, args, message):
    (tmp_path / "bad.yaml").write_text("name: s\ntasks: [addition_chains]\nagents: [nop]\n")
    assert message in error_line(cli(*args, check=2))


def test_a_study_from_start_to_report(cli, tmp_path):
    made = MadeStudy(tmp_path / "study", ["a"], {"t": "toy"}, 1)
    made.add("t", "a", 1, ["0", "0.8", "0.5", "0.8"], "0.8")
    done = cli("analyze", "study", "--json")
    result = json.loads(done.stdout)
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


def write_study(tmp_path, agents, **more):
    write_task(tmp_path / "toy")
    spec = {"name": "s", "tasks": ["./toy"], "agents": agents, "seeds": 1, **more}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(spec))


def scripted(label, *commands):
    return {"name": "scripted_agent:ScriptedAgent", "label": label, "kwargs": {"commands": list(commands)}}


@pytest.mark.sandbox
def test_run_score_and_run_again(cli, tmp_path):
    write_study(tmp_path, [scripted("a", START, "echo 0.5 > value.txt && git commit -qam 'round 1: change=x'")])
    done = cli("run", "s.yaml", "--no-score", "--json")
    assert json.loads(done.stdout)["rollouts_done_now"] == 1
    assert json.loads(cli("score", "s", "--json").stdout) == {"states": 3, "verifications": 3, "unscored": 0}
    again = json.loads(cli("run", "s.yaml", "--json").stdout)
    assert (again["rollouts_done_now"], again["verifications_done_now"]) == (0, 0)
    assert "no harvested run is called 'x'" in error_line(cli("score", "s", "x", check=2))


@pytest.mark.sandbox
def test_control_c_leaves_a_study_that_goes_on(cli, tmp_path):
    write_study(tmp_path, [scripted("quick", START), scripted("slow", START, "echo begun; sleep 1000")])
    process = subprocess.Popen(
        [*LOOPSCOPE, "run", "s.yaml"],
        cwd=tmp_path,
        env=cli.env,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    for line in process.stderr:
        if line.startswith("rollout 1/2"):
            busy = cli("run", "s.yaml", check=2)
            assert "another loopscope is running this study" in error_line(busy)
            process.send_signal(signal.SIGINT)
            break
    rest = process.stderr.read()
    assert process.wait() == 130
    assert "what is finished is kept" in rest
    assert "Traceback" not in rest
    assert [p.name for p in (tmp_path / "s/runs").iterdir()] == ["toy__quick__s1"]
    assert not [p for p in (tmp_path / "s").iterdir() if p.name.startswith(".tmp-")]


@pytest.mark.sandbox
def test_a_failed_environment_is_exit_code_1_and_names_the_tool(cli, tmp_path):
    write_study(tmp_path, ["nop"])
    dockerfile = tmp_path / "toy/environment/Dockerfile"
    dockerfile.write_text(dockerfile.read_text() + "RUN apt-get install -y ghc\n")
    done = cli("run", "s.yaml", check=1)
    assert "ghc" in done.stderr
    assert "1 rollouts failed" in done.stderr
