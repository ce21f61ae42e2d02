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

START_CODE = "from loopscope.command import main; main()"
BEGINNING = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run under nohup
if sys.argv[1]:
    signal.signal(int(sys.argv[1]), signal.SIG_IGN)
os.execv(sys.argv[2], sys.argv[2:])
"""
EARLY = """
import os, signal, sys
class Loading:  # while the verbs are loaded
    def find_spec(self, name, path, target=None):
        if name == "loopscope.cli.console":
            os.kill(os.getpid(), int(sys.argv[1]))
sys.meta_path.insert(0, Loading())
"""
pytestmark = pytest.mark.sandbox


@pytest.fixture
def start(tmp_path):
    env = os.environ | {
        "LOOPSCOPE_LOCK_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[1] / "support"),
    }

    def begin(*args: str, ignored: int | None = None, code: str = START_CODE) -> subprocess.Popen[str]:
        # `ignored` as `nohup` and a shell's `&` have it.
        first = "" if ignored is None else str(int(ignored))
        pipe, argv = subprocess.PIPE, [sys.executable, "-c", BEGINNING, first, sys.executable, "-c", code, *args]
        return subprocess.Popen(argv, cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True)

    return begin


def test_a_failure_is_exit_code_1_and_json_stands_alone(start, tmp_path):
    write_study(tmp_path, [scripted("breaks", START, "echo x > value.txt")])
    process = start("run", "s.yaml", "--json")
    output, errors = process.communicate()
    assert process.returncode == 1
    assert json.loads(output)["scores"]["unscored"] == 1
    assert "Traceback" not in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_to_be_stopped_while_it_is_loaded_costs_one_line(start, number):
    process = start(str(number.value), code=EARLY + START_CODE)
    output, errors = process.communicate()
    assert (process.returncode, output, errors) == (130, "", "stopped\n")


def test_what_the_caller_ignores_does_not_stop_a_study(start, tmp_path):
    write_study(tmp_path, [scripted("one", START), scripted("two", START)], concurrency=1)
    process = start("run", "s.yaml", "--no-score", ignored=signal.SIGINT)
    for line in process.stderr:
        if line.startswith("rollout 1/2"):
            process.send_signal(signal.SIGINT)
    assert process.wait() == 0
    assert len(list((tmp_path / "s/runs").iterdir())) == 2


@pytest.mark.parametrize(
    ("number", "ignored"),
    [(signal.SIGINT, None), (signal.SIGTERM, signal.SIGINT), (signal.SIGHUP, None)],
)
def test_control_c_or_being_told_to_end_leaves_a_study_that_goes_on(cli, start, tmp_path, number, ignored):
    write_study(tmp_path, [scripted("quick", START), scripted("slow", START, "echo begun; sleep 1000")])
    process = start("run", "s.yaml", ignored=ignored)
    for line in process.stderr:
        if line.startswith("rollout 1/2"):
            assert "another loopscope is running this study" in error_line(cli("run", "s.yaml", check=2))
            shown = cli("status", "s").stdout
            assert "held by process" in shown and "units: 1 done, 1 running" in shown
            process.send_signal(number)
            break
    _, rest = process.communicate()
    assert process.returncode == 130
    assert "what is finished is kept" in rest
    assert "Traceback" not in rest
    assert [p.name for p in (tmp_path / "s/runs").iterdir()] == ["toy__quick__s1"]
    assert not [p for p in (tmp_path / "s").iterdir() if p.name.startswith(".tmp-")]
