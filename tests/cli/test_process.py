"""What only a process shows: signals, exit codes at the border, standard output that holds JSON alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_study import error_line, scripted, write_study
from toy_study import START

LOOPSCOPE = [sys.executable, "-c", "from loopscope.cli import main; main()"]
pytestmark = pytest.mark.sandbox


@pytest.fixture
def start(tmp_path):
    env = os.environ | {
        "LOOPSCOPE_LOCK_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[1] / "support"),
    }

    def begin(*args: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen([*LOOPSCOPE, *args], cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True)

    return begin


def test_a_failure_is_exit_code_1_and_json_stands_alone(start, tmp_path):
    write_study(tmp_path, [scripted("breaks", START, "echo x > value.txt")])
    process = start("run", "s.yaml", "--json")
    output, errors = process.communicate()
    assert process.returncode == 1
    assert json.loads(output)["scores"]["unscored"] == 1
    assert "Traceback" not in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_control_c_or_being_told_to_end_leaves_a_study_that_goes_on(cli, start, tmp_path, number):
    write_study(tmp_path, [scripted("quick", START), scripted("slow", START, "echo begun; sleep 1000")])
    process = start("run", "s.yaml")
    for line in process.stderr:
        if line.startswith("rollout 1/2"):
            assert "another loopscope is running this study" in error_line(cli("run", "s.yaml", check=2))
            process.send_signal(number)
            break
    _, rest = process.communicate()
    assert process.returncode == 130
    assert "what is finished is kept" in rest
    assert "Traceback" not in rest
    assert [p.name for p in (tmp_path / "s/runs").iterdir()] == ["toy__quick__s1"]
    assert not [p for p in (tmp_path / "s").iterdir() if p.name.startswith(".tmp-")]
