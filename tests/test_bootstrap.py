"""Set-up finds what is there and says what is not; the parts that download are tried on bare machines, not here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "scripts"
NEEDED = (
    "bash",
    "cat",
    "cut",
    "dirname",
    "env",
    "getent",
    "grep",
    "head",
    "id",
    "mkdir",
    "mktemp",
    "rm",
    "sed",
    "sort",
)
NEEDED_TOO = ("timeout", "uniq", "realpath", "mv", "chmod")


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A directory for PATH with the basic programs and no Python, no uv and no package manager."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in (*NEEDED, *NEEDED_TOO):
        found = shutil.which(name)
        assert found, f"{name} is missing on this machine"
        (folder / name).symlink_to(found)
    return folder


def program(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def run(script: str, home: Path, path: list[Path], **extra: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "PATH": ":".join(map(str, path)), **extra}
    return subprocess.run([SCRIPTS / script], env=environment, capture_output=True, text=True, check=False, timeout=60)


def this_python_at(path: Path) -> Path:
    return program(path, f'exec {sys.executable} "$@"')


def test_an_interpreter_on_path_is_taken(tmp_path: Path, tools: Path) -> None:
    this_python_at(tmp_path / "bin" / "python3.12")
    done = run("find-python", tmp_path, [tmp_path / "bin", tools])
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).samefile(getattr(sys, "_base_executable", sys.executable))


def test_a_shim_that_fails_leads_to_the_versions_beside_it(tmp_path: Path, tools: Path) -> None:
    program(tmp_path / "pyenv/shims/python3", "echo 'pyenv: python3: command not found' >&2; exit 127")
    program(tmp_path / "pyenv/versions/3.99.0/bin/python3", "exit 1")
    this_python_at(tmp_path / "pyenv/versions/3.12.1/bin/python3")
    done = run("find-python", tmp_path, [tmp_path / "pyenv/shims", tools])
    assert done.returncode == 0, done.stderr
    assert "kept by pyenv" in done.stderr


def test_pyenv_root_counts_without_shims(tmp_path: Path, tools: Path) -> None:
    this_python_at(tmp_path / "elsewhere/versions/3.12.1/bin/python3")
    done = run("find-python", tmp_path, [tools], PYENV_ROOT=str(tmp_path / "elsewhere"))
    assert done.returncode == 0, done.stderr


def test_one_message_says_what_to_do_when_nothing_can_be_had(tmp_path: Path, tools: Path) -> None:
    program(tmp_path / "bin/python3", "exit 1")
    done = run("find-python", tmp_path, [tmp_path / "bin", tools])
    assert done.returncode != 0
    assert done.stdout == ""
    failures = [line for line in done.stderr.splitlines() if line.startswith("set-up failed")]
    assert len(failures) == 1
    assert "Install one" in failures[0]


def test_an_account_without_a_home_gets_one(tools: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", '. "$0"; printf "%s" "$HOME"; test -w "$HOME"', SCRIPTS / "common.sh"],
        env={"HOME": "", "PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout).is_absolute()


def uv_settings(home: Path, **environment: str) -> dict[str, str]:
    environment = {"HOME": str(home), "XDG_CONFIG_DIRS": str(home / "xdg"), **environment}
    environment.setdefault("PIP_CONFIG_FILE", str(home / "named.conf"))
    done = subprocess.run(
        [sys.executable, "-I", SCRIPTS / "pip_settings.py"], env=environment, capture_output=True, text=True, check=True
    )
    printed = "set -e\n" + done.stdout + "\nenv -0"
    shell = subprocess.run(["bash", "-c", printed], env={"PATH": os.environ["PATH"]}, capture_output=True, check=True)
    pairs = (item.split("=", 1) for item in shell.stdout.decode().split("\0") if "=" in item)
    return {name: value for name, value in pairs if name.startswith(("UV_", "SSL_"))}


def test_uv_is_given_the_index_of_pips_file(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "named.conf").write_text(
        "[global]\nindex-url = https://user:p$w'd@mirror.invalid/simple\ncert = /etc/company.pem\n"
        "extra-index-url =\n  https://one.invalid/simple\n  https://two.invalid/simple\n"
        f"find-links = {tmp_path}/wheels {tmp_path}/missing\n[install]\ntimeout = 90\n"
    )
    expected = {
        "UV_DEFAULT_INDEX": "https://user:p$w'd@mirror.invalid/simple",
        "UV_INDEX": "https://one.invalid/simple https://two.invalid/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": f"{tmp_path}/wheels",
        "SSL_CERT_FILE": "/etc/company.pem",
        "UV_HTTP_TIMEOUT": "90",
    }
    assert expected.items() <= uv_settings(tmp_path).items()


def test_pips_environment_wins_over_its_files(tmp_path: Path) -> None:
    (tmp_path / "named.conf").write_text("[global]\nindex_url = https://file.invalid/simple\n")
    found = uv_settings(tmp_path, PIP_INDEX_URL="https://environment.invalid/simple")
    assert found["UV_DEFAULT_INDEX"] == "https://environment.invalid/simple"


def test_what_is_set_for_uv_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "named.conf").write_text("[global]\nindex-url = https://file.invalid/simple\n")
    assert "UV_DEFAULT_INDEX" not in uv_settings(tmp_path, UV_INDEX="https://own.invalid/simple")
    (tmp_path / ".config/uv").mkdir(parents=True)
    (tmp_path / ".config/uv/uv.toml").write_text("")
    assert "UV_DEFAULT_INDEX" not in uv_settings(tmp_path)


def test_a_broken_pip_file_does_not_stop_set_up(tmp_path: Path) -> None:
    (tmp_path / "named.conf").write_text("index-url = no section\n")
    assert "UV_DEFAULT_INDEX" not in uv_settings(tmp_path)


def test_constraints_name_versions_and_no_index() -> None:
    lines = [line.split("#")[0].strip() for line in (SCRIPTS / "constraints.txt").read_text().splitlines()]
    pins = [line for line in lines if line]
    assert len(pins) > 50
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[^\s;@]+( ; .+)?", pin) for pin in pins)


def test_every_direct_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    names = {re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-") for requirement in wanted}
    pinned = {line.split("==")[0] for line in (SCRIPTS / "constraints.txt").read_text().splitlines() if "==" in line}
    assert names <= pinned, f"not in scripts/constraints.txt: {sorted(names - pinned)}; run `make lock`"
