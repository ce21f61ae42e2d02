"""Attacks on the guard itself, at every level that this machine offers."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loopscope.tasks.catalog import SUITE, builtin_names
from loopscope.tasks.guard.fence import LEVELS
from loopscope.tasks.vendor import vendored_files

pytestmark = pytest.mark.sandbox
FENCED = Path(__file__).with_name("fenced.py")
SECRET = Path(__file__)
"""A file of the verifier's side that anybody on this machine may read."""

ATTEMPT = """
import ctypes, os, resource, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def attempt(name, action):
    try:
        print(name, "DONE", action(), flush=True)
    except BaseException as error:
        print(name, "refused", type(error).__name__, flush=True)
def call(*arguments):
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "")
"""


def fenced(level: str, program: str, *, secret: Path = SECRET, writable: bool = False, **limits: Any) -> dict[str, Any]:
    wanted = {"program": program, "limits": limits, "writable": writable, "secret": str(secret)}
    command = [interpreter(level) or sys.executable, str(FENCED), level, json.dumps(wanted)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert (report["level"], report["base_gone"]) == (level, True)
    return report


@functools.cache
def interpreter(level: str) -> str | None:
    """A Python with which this machine reaches the level: one under a closed home cannot be run by another uid."""
    for python in (sys.executable, "/usr/bin/python3"):
        if not Path(python).exists():  # a bare Debian has none of its own
            continue
        wanted = json.dumps({"program": "", "limits": {}, "writable": False, "secret": str(SECRET)})
        done = subprocess.run([python, str(FENCED), level, wanted], capture_output=True, text=True, check=False)
        if done.returncode == 0 and json.loads(done.stdout)["level"] == level:
            return python
    return None


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> str:
    wanted: str = request.param
    if interpreter(wanted) is None:
        pytest.skip(f"this machine and user do not offer {wanted}")
    return wanted


def refused(report: dict[str, Any]) -> dict[str, bool]:
    lines = [line.split(" ") for line in report["output"].splitlines()]
    assert lines, report
    return {words[0]: words[1] == "refused" for words in lines}


def test_an_honest_program_runs(level: str) -> None:
    report = fenced(level, "import os, json; print(open('data').read(), os.listdir('.'), sum(range(10)))")
    assert (report["ok"], report["reason"]) == (True, "")
    assert report["output"].startswith("data ")
    assert report["output"].endswith(" 45\n")


def test_it_cannot_reach_the_verifier(level: str, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir(mode=0o777)
    program = f"""{ATTEMPT}
attempt("read_tests", lambda: open({str(SECRET)!r}).read(5))
attempt("list_tests", lambda: os.listdir({str(SECRET.parent)!r}))
attempt("write_reward", lambda: open({str(logs / "reward.json")!r}, "w").write("1"))
attempt("kill_verifier", lambda: os.kill(VERIFIER, 0))
attempt("stop_parent", lambda: os.kill(os.getppid(), signal.SIGSTOP) if os.getppid() else os.kill(VERIFIER, 0))
attempt("read_memory", lambda: open("/proc/VERIFIER/mem", "rb"))
attempt("environ", lambda: open("/proc/VERIFIER/environ", "rb").read())
attempt("trace", lambda: call(101 if os.uname().machine == "x86_64" else 117, 16, VERIFIER, 0, 0))
attempt("starve", lambda: resource.prlimit(VERIFIER, resource.RLIMIT_CPU, (0, 0)))
attempt("renice", lambda: os.setpriority(os.PRIO_PROCESS, VERIFIER, 19))
attempt("namespace", lambda: call(272 if os.uname().machine == "x86_64" else 97, 0x10000000))
attempt("network", lambda: socket.create_connection(("127.0.0.1", 9), 1))
attempt("fork", lambda: os.fork())
attempt("write_box", lambda: open("planted", "w"))
attempt("secret", lambda: os.environ["SECRET"])
"""
    report = fenced(level, program)
    assert all(refused(report).values()), report["output"]
    assert not list(logs.iterdir())


def test_it_inherits_nothing(level: str) -> None:
    program = """
import os
for handle in range(3, 300):
    try: print(handle, os.fstat(handle).st_mode >> 12)
    except OSError: pass
"""
    assert fenced(level, program)["output"] == "3 12\n"  # its channel, a socket


def test_it_has_no_privilege_and_gets_none_back(level: str) -> None:
    program = f"""{ATTEMPT}
attempt("mount", lambda: call(165 if os.uname().machine == "x86_64" else 40, b"x", b"/tmp", b"tmpfs", 0, 0))
attempt("chroot", lambda: os.chroot("."))
attempt("other_uid", lambda: os.setuid(os.getuid() + 1))
attempt("groups", lambda: os.setgroups([0]))
attempt("device", lambda: os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0)))
"""
    assert all(refused(fenced(level, program)).values())


def test_nothing_it_starts_outlives_it(level: str) -> None:
    program = """
import os, sys, time
for depth in range(3):
    if os.fork() == 0:
        os.dup2(0, 1)  # else the end of the output would be awaited from them
        try: os.setsid()
        except OSError: pass
        if os.fork() == 0:
            os.execv("/bin/sh", ["/bin/sh", "-c", "sleep 1000; : " + sys.argv[1]])
        os._exit(0)
time.sleep(0.2)
print("started")
"""
    report = fenced(level, program, processes=True)
    assert report["output"] == "started\n"
    assert report["left"] == []


def test_a_forking_swarm_is_swept(level: str) -> None:
    program = """
import os, time
end = time.monotonic() + 0.3
for _ in range(20):
    if os.fork() == 0:
        while time.monotonic() < end:
            try:
                if os.fork(): os._exit(0)
            except OSError: pass
        time.sleep(1000)
"""
    report = fenced(level, program, processes=True, wall=1.0)
    assert report["left"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "limits", "reason"),
    [
        ("while True: pass", {"wall": 0.3}, "timeout"),
        ("import time; time.sleep(60)", {"wall": 0.3}, "timeout"),
        ("import os, time; os.close(1); time.sleep(60)", {"wall": 0.3}, "timeout"),
        ("while True: print('x' * 1000)", {"output": 100_000}, "more than 100000 bytes"),
        ("bytearray(400 << 20)", {}, "exit 1"),
        ("import os; os.kill(os.getpid(), 9) or os._exit(3)", {}, "killed by signal 9|exit|ended"),
        ("open('/tmp/big', 'wb').write(bytes(2 << 20))", {"file": 1 << 20}, "exit 1|killed by signal 25"),
        ("import ctypes; ctypes.string_at(0)", {}, "killed by signal 11"),
        ("raise SystemExit(7)", {}, "exit 7"),
        ("import os; os.write(2, b'e' * (40 << 20))", {"file": 1 << 20}, ""),
    ],
)
def test_limits_hold_and_are_named(level: str, program: str, limits: dict[str, Any], reason: str) -> None:
    import re

    report = fenced(level, program, **limits)
    assert re.search(reason, report["reason"]), report
    assert not report["ok"] or not reason
    assert len(report["errors"]) <= 2000


def test_a_writable_box_is_for_building(level: str) -> None:
    report = fenced(level, "open('made', 'w').write('x'); print(open('made').read())", writable=True)
    assert (report["output"], report["reason"]) == ("x\n", "")


@pytest.mark.parametrize("name", builtin_names())
def test_every_task_carries_the_guard_and_its_anchors(name: str) -> None:
    tests = SUITE / name / "tests"
    wanted = vendored_files(SUITE / name)
    assert {path: (tests / path).read_bytes() for path in wanted} == wanted
    carried = {p.relative_to(tests).as_posix() for p in (tests / "guard").glob("*.py")}
    assert carried == {path for path in wanted if path.startswith("guard/")}
