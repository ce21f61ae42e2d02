"""`loopscope doctor`: exit codes, text that fits, commands that can be pasted, and one study held against the machine."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from cli_study import error_line, scripted, write_study
from hypothesis import given
from hypothesis import strategies as st
from toy_study import START

from loopscope.cli.findings import pasted, survey_text
from loopscope.sandbox.doctor import Area, Check, Finding, Need, State, Survey, examine

PROFILE = "sudo tee /etc/x >/dev/null <<'END'\nabi <abi/4.0>,\nEND"
LONG = "for g in /sys/fs/cgroup/memory/a-long-name-of-a-group/loopscope-1000 /sys/fs/cgroup/pids/b; do sudo mkdir -p $g; done"
ROWS = [
    Finding(Area.SANDBOX, "user namespaces", State.MISSING, "no: " + "they are restricted here " * 8, "no sandbox",
            "give bubblewrap a profile:", (PROFILE, LONG), Need.REQUIRED),
    Finding(Area.STORAGE, "study's place: file system", State.WEAK, "nfs4: over a network", "slow " * 30, "put it elsewhere"),
    Finding(Area.TOOLS, "gcc", State.OK, "12.2.0"),
    Finding(Area.TOOLS, "git", State.OK, "2.39.5"),
    Finding(Area.TOOLS, "go", State.MISSING, "not installed", "tasks that need it are refused", "", ("apt-get install -y golang-go",),
            Need.OPTIONAL),
    Finding(Area.AGENTS, "claude", State.UNKNOWN, "did not answer in 5 s", need=Need.OPTIONAL),
]  # fmt: skip


def fits(text: str, width: int) -> bool:
    """Only a line that holds a word (a path, say) longer than its column may be longer; commands are pasted whole."""
    lines = text.replace(PROFILE, "").splitlines()
    return all(len(line) <= width or max(map(len, line.split())) > width - 34 for line in lines)


def made_up() -> Survey:
    return examine([Check(Area.SANDBOX, "all", lambda _: ROWS)])


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    text = survey_text(made_up(), width).plain
    assert fits(text, width)
    assert all(line == line.rstrip() for line in text.splitlines())


def test_rows_are_grouped_and_what_is_there_is_short() -> None:
    text = survey_text(made_up()).plain
    assert text.startswith("local studies CANNOT run here; 2 things to mend: user namespaces, study's place")
    assert "there                gcc 12.2.0, git 2.39.5" in text
    assert text.index("\nsandbox\n") < text.index("\nstorage\n") < text.index("\ntools for tasks\n")
    assert "mend  apt-get install -y golang-go" in text


def test_a_file_that_is_written_begins_at_the_margin() -> None:
    assert f"\n{PROFILE}\n" in survey_text(made_up(), 80).plain


@given(
    st.lists(st.text("ab$/'\" -", min_size=1, max_size=30).map(shlex.quote), min_size=1, max_size=12),
    st.integers(20, 80),
)
def test_a_long_command_says_the_same_over_several_lines(words: list[str], width: int) -> None:
    command = "printf '%s.' " + " ".join(words)
    lines = list(pasted(command, width))
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == shlex.split(command)


def test_a_pasted_command_runs() -> None:
    command = "printf '%s|' " + " ".join(["'two  words'", '"$((1 + 2))"', *map(str, range(40))])
    assert len(list(pasted(command, 40))) > 3
    run = [subprocess.run(["/bin/sh", "-c", c], capture_output=True, check=True).stdout
           for c in (command, "\n".join(pasted(command, 40)))]  # fmt: skip
    assert run[0] == run[1]


@pytest.mark.sandbox
def test_a_machine_that_can(cli) -> None:
    said = json.loads(cli("doctor", "--json").stdout)
    assert said["runs"] is True and said["subject"] == "local studies"
    text = cli("doctor").stdout
    assert text.startswith("local studies can run here") and fits(text, 100)


@pytest.mark.sandbox
def test_a_machine_that_cannot_is_exit_code_1(cli, monkeypatch) -> None:
    monkeypatch.setenv("LOOPSCOPE_LOCK_DIR", "/nowhere")
    done = cli("doctor", check=1)
    assert done.stdout.startswith("local studies CANNOT run here; ") and "machine-wide lock" in done.stdout
    assert "export LOOPSCOPE_LOCK_DIR=/path/to/a/directory" in done.stdout


def rows_of(done) -> dict[str, dict[str, object]]:
    return {row["name"]: row for row in json.loads(done.stdout)["findings"] if row["area"] == "this study"}


@pytest.mark.sandbox
def test_a_study_that_can_run(cli, tmp_path) -> None:
    write_study(tmp_path, [scripted("writes", START)])
    done = cli("doctor", "s.yaml", "--json")
    rows = rows_of(done)
    assert {name: row["state"] for name, row in rows.items() if name in ("agents", "environment", "tasks")} == {
        "agents": "ok",
        "environment": "ok",
        "tasks": "ok",
    }
    assert json.loads(done.stdout)["summary"].startswith("the study 's' can run here")
    assert not (tmp_path / "s").exists(), "nothing is written"


@pytest.mark.sandbox
def test_all_that_keeps_a_study_from_running_is_named_at_once(cli, tmp_path) -> None:
    agents = ["nosuch", {"name": "nop", "env": {"MY_KEY": "${UNSET_HERE}"}}]
    file = write_study(tmp_path, agents, concurrency=1000, environment={"type": "local", "cpus": 4096})
    (tmp_path / "toy/environment/Dockerfile").write_text(
        "FROM debian\nRUN apt-get install -y ghc && pip install torch\n"
    )
    rows = rows_of(cli("doctor", str(file), "--json", check=1))
    assert rows["agent nosuch"]["state"] == "missing"
    assert "UNSET_HERE is not set" in str(rows["agent nop"]["fact"]) and "export it" in str(rows["agent nop"]["remedy"])
    assert "ghc" in str(rows["task toy"]["fact"]) or "torch" in str(rows["task toy"]["fact"])
    assert "asks for 4096" in str(rows["processors"]["fact"])


@pytest.mark.sandbox
def test_elsewhere_no_sandbox_is_needed(cli, tmp_path) -> None:
    write_study(tmp_path, [scripted("writes", START)], environment="docker")
    done = cli("doctor", "s.yaml", "--json", check=0 if _docker() else 1)
    rows = {row["name"]: row for row in json.loads(done.stdout)["findings"]}
    assert rows["a sandbox starts"]["need"] == "optional"
    assert (rows["environment"]["state"] == "ok") is _docker()


def _docker() -> bool:
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def test_an_unreadable_study_is_refused(cli, tmp_path) -> None:
    Path("s.yaml").write_text("name: [")
    assert "s.yaml" in error_line(cli("doctor", "s.yaml", check=2))
    assert "no such file" in error_line(cli("doctor", "other.yaml", check=2))
