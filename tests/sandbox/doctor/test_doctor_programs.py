from __future__ import annotations

import contextlib
import os
import select
import shlex
from pathlib import Path

import pytest
from made_root import UBUNTU, made, program

from loopscope.sandbox.doctor import Area, Check, Machine, State, examine
from loopscope.sandbox.doctor.distribution import distribution
from loopscope.sandbox.doctor.machine import NoAnswer, ask
from loopscope.sandbox.doctor.ourselves import look_keys
from loopscope.sandbox.doctor.programs import TOOLS, cli_checks, look_docker, look_gpus, tool_checks, version_in
from loopscope.sandbox.requirements import package_of

SECRET = "sk-ant-never-shown"


def with_programs(folder: Path, **scripts: str) -> Machine:
    for name, text in scripts.items():
        program(folder / "bin" / name.replace("_", "-"), text)
    return made(folder, {}, env={"PATH": f"{folder}/bin:/usr/bin:/bin", "ANTHROPIC_API_KEY": SECRET})


def cli_row(machine: Machine, name: str) -> tuple[State, str]:
    (row,) = next(check for check in cli_checks() if check.name == name).look(machine)
    return row.state, row.fact


def test_a_program_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    script = program(tmp_path / "hangs", f"trap '' TERM; sleep 1000 & echo $! >{tmp_path}/child; echo half; wait")
    with pytest.raises(NoAnswer, match=r"hangs did not answer in 0\.5 s"):
        ask([str(script)], os.environ, timeout=0.5)
    child = int((tmp_path / "child").read_text())
    with contextlib.suppress(ProcessLookupError):  # gone already, else killed: it ends without our doing
        select.select([os.pidfd_open(child)], [], [])


def test_a_child_that_keeps_the_pipe_open_holds_nobody_up(tmp_path: Path) -> None:
    script = program(tmp_path / "forks", "sleep 1000 & echo 1.2.3")
    answer = ask([str(script)], os.environ)
    assert answer is not None and answer.code == 0 and answer.first_line == "1.2.3"


def test_endless_output_is_cut(tmp_path: Path) -> None:
    answer = ask([str(program(tmp_path / "floods", "while :; do echo flood; done"))], os.environ)
    assert answer is not None and len(answer.text) < 1_000_000 and answer.code != 0


def test_a_program_sees_an_empty_home_and_no_key(tmp_path: Path) -> None:
    machine = with_programs(tmp_path, claude='ls -A "$HOME"; pwd; env; [ "$HOME" = "$(pwd)" ]')
    answer = ask([str(tmp_path / "bin/claude")], machine.env)
    assert answer is not None and answer.code == 0
    assert (
        SECRET not in answer.text and "ANTHROPIC" not in answer.text and os.environ.get("HOME", "?") not in answer.text
    )


def test_a_cli_that_hangs_is_one_unknown_row(tmp_path: Path) -> None:
    machine = with_programs(tmp_path, claude="sleep 1000", codex="echo codex-cli 0.46.0")
    claude, codex = (next(c for c in cli_checks() if c.name == name) for name in ("claude", "codex"))
    quick = Check(claude.area, claude.name, claude.look, claude.need, timeout_sec=0.5)
    rows = {row.name: row for row in examine([quick, codex], machine).findings}
    assert (rows["claude"].state, rows["claude"].fact) == (State.UNKNOWN, "did not answer in 0.5 s")
    assert rows["codex"].state is State.OK and rows["codex"].fact.startswith("0.46.0 (")


def test_a_cli_that_fails_or_is_no_program_is_missing(tmp_path: Path) -> None:
    machine = with_programs(tmp_path, claude="echo no node here; exit 1", opencode="true")
    (tmp_path / "bin/opencode").write_bytes(b"\0\1\2")
    assert cli_row(machine, "claude") == (State.MISSING, f"{tmp_path}/bin/claude: no node here")
    assert cli_row(machine, "opencode")[0] is State.MISSING
    assert cli_row(machine, "kimi") == (State.MISSING, "not installed")


def test_docker_without_a_daemon(tmp_path: Path) -> None:
    machine = with_programs(tmp_path, docker="echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    (row,) = look_docker(machine)
    assert row.state is State.MISSING and "no daemon that answers: Cannot connect" in row.fact
    machine = with_programs(tmp_path, docker="echo 'permission denied while trying to connect' >&2; exit 1")
    assert next(iter(look_docker(machine))).commands == (f"sudo usermod -aG docker {machine.user}",)
    machine = with_programs(tmp_path, docker="[ $1 = version ] && echo 28.1.0 || exit 1")
    assert "without the compose plugin" in next(iter(look_docker(machine))).fact
    machine = with_programs(tmp_path, docker="[ $1 = version ] && echo 28.1.0 || echo 2.35.1")
    assert next(iter(look_docker(machine))).state is State.OK


def test_gpus(tmp_path: Path) -> None:
    (row,) = look_gpus(made(tmp_path / "none", {}, env={"PATH": str(tmp_path)}))
    assert (row.state, row.fact) == (State.MISSING, "none")
    (row,) = look_gpus(with_programs(tmp_path, nvidia_smi="echo 'NVIDIA H100, 81559 MiB, 570.1'"))
    assert row.state is State.WEAK and "1 x NVIDIA H100" in row.fact and "no devices" in row.cost
    (row,) = look_gpus(with_programs(tmp_path, nvidia_smi="echo NVIDIA-SMI has failed; exit 9"))
    assert row.state is State.MISSING and "has failed" in row.fact


def test_keys_are_told_by_name_only(tmp_path: Path) -> None:
    env = {"ANTHROPIC_API_KEY": SECRET, "OPENAI_API_KEY": f"{SECRET}\n", "XAI_API_KEY": "", "MY_PASSWORD": "x"}
    rows = list(look_keys(made(tmp_path, {}, env=env)))
    told = repr(rows)
    assert "ANTHROPIC_API_KEY, OPENAI_API_KEY" in told and "XAI_API_KEY" in rows[1].fact
    assert SECRET not in told and "MY_PASSWORD" not in told


@pytest.mark.parametrize(
    ("manager", "expected"),
    [
        ("apt-get", "sudo apt-get update && sudo apt-get install -y g++ golang-go"),
        ("dnf", "sudo dnf install -y gcc-c++ golang"),
        ("pacman", "sudo pacman -S --needed gcc go"),
        ("apk", "sudo apk add g++ go"),
        ("zypper", "sudo zypper install -y gcc-c++ go"),
        ("brew", "brew install gcc go"),
    ],
)
def test_every_distribution_has_its_own_command(tmp_path: Path, manager: str, expected: str) -> None:
    program(tmp_path / "usr/bin" / manager, "true")
    found = distribution(made(tmp_path, UBUNTU, env={"PATH": ""}))
    assert found.name == "Ubuntu 24.04.2 LTS" and found.install("g++", "golang-go") == (expected,)


def test_root_needs_no_sudo_and_fresh_lists_no_update(tmp_path: Path) -> None:
    program(tmp_path / "usr/bin/apt-get", "true")
    machine = made(tmp_path, {"/var/lib/apt/lists/deb_main_Packages": ""}, uid=0, env={"PATH": ""})
    assert distribution(machine).install("git") == ("apt-get install -y git",)
    assert distribution(made(tmp_path / "other", {}, env={"PATH": ""})).install("git") == ()


def test_without_sudo_there_is_su(tmp_path: Path) -> None:
    machine = made(tmp_path, {"/usr/bin/apt-get": ""}, env={"PATH": ""})
    (tmp_path / "usr/bin/apt-get").chmod(0o755)
    (tmp_path / "usr/bin/sudo").unlink()
    (command,) = distribution(machine).install("git")
    assert shlex.split(command) == ["su", "-c", "apt-get update && apt-get install -y git"]
    program(tmp_path / "usr/bin/doas", "false")
    assert machine.as_root("a", "b") == "doas a && doas b"


def test_every_tool_has_a_package() -> None:
    assert all(package_of(tool.name) for tool in TOOLS)
    assert {check.name for check in tool_checks()} == {tool.name for tool in TOOLS}
    assert all(check.area is Area.TOOLS for check in tool_checks())


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright", "12.2.0"),
        ("git version 2.39.5", "2.39.5"),
        ("git version 2.39.5 (Apple Git-154)", "2.39.5"),
        ("go version go1.22.2 linux/amd64", "1.22.2"),
        ("v20.11.1", "20.11.1"),
        ("GNU Make 4.3\nBuilt for x86_64-pc-linux-gnu", "4.3"),
        ("Python 3.11.2", "3.11.2"),
        ("cargo 1.75.0 (1d8b05cdd 2023-11-20)", "1.75.0"),
        ("ps from procps-ng 4.0.2", "4.0.2"),
        ("nothing to see", None),
    ],
)
def test_versions_are_found(said: str, version: str | None) -> None:
    assert version_in(said) == version
