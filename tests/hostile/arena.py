"""Runs one study of hostile agents and watches the host: `python arena.py PLACE STUDY PART NAME...`. Its findings go to PLACE/seen.json.

The study runs twice: once with an honest agent alone, and then, the study being there and everything built, with all the
others. What differs on the host between the two moments, the run directories aside, is damage.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml
from host import Manifest, changes, children, look
from toy_study import write_task

import loopscope
from loopscope.tasks.vendor import GUARD

HERE = Path(__file__).parent
HONEST, NEIGHBOUR = "honest", "neighbour"
CLI = [sys.executable, "-c", "from loopscope.cli import main; main()"]
BUDGETS = {"swift": 60.0, "short": 2.0}
PATIENCE_SEC = 600.0
"""For one command; what takes longer hangs."""
_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Seen:
    """What became of a study and of the host; written for the tests."""

    code: int | None = None
    """Exit code of the study's second run."""
    output: str = ""
    """All that the commands printed, with what is no text as escapes."""
    differences: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Processes that outlived the engine."""
    callers: int = 0
    """Connections to the listeners of the host."""
    clock_moved: float = 0.0
    """Seconds by which the wall clock and the monotonic clock disagree."""
    seconds: float = 0.0


def read_seen(file: Path) -> Seen:
    """What `main` wrote."""
    return Seen(**json.loads(file.read_text()))


def write_study(place: Path, study: str, agents: list[str | None], *, long: bool) -> Path:
    """The study file; the task is written once."""
    task = place / "toy"
    if not task.exists():
        swift = study == "swift"
        script = HERE / "task" / ("test.sh" if swift else "naive.sh")
        write_task(task, script.read_text(), verifier_timeout=20.0 if swift else 3.0)
        if not long:
            (task / "task.toml").write_text((task / "task.toml").read_text() + "storage_mb = 256\n")
        (task / "solution/solve.sh").write_text("# SECRET-OF-THE-VERIFIER\necho 1.0 > /app/value.txt\n")
        if swift:
            (task / "tests/verify.py").write_bytes((HERE / "task/verify.py").read_bytes())
            (task / "tests/guard").mkdir()
            for source in GUARD.glob("*.py"):
                (task / "tests/guard" / source.name).write_bytes(source.read_bytes())
    entries: list[dict[str, Any]] = [
        {"name": "hostile_agent:HostileAgent", "label": name or HONEST, "kwargs": {"kind": name} if name else {}}
        for name in agents
    ]
    if len(agents) > 1:
        entries.insert(len(entries) // 2, {"name": "hostile_agent:HostileAgent", "label": NEIGHBOUR})
    spec = {
        "name": study,
        "tasks": [str(task)],
        "agents": entries,
        "seeds": 1,
        "concurrency": 2,
        # Gigabytes take their time, and are not about deadlines.
        "budget": {"agent_sec": BUDGETS[study] * (10 if long else 1)},
        # Small, so that who hungers meets them soon.
        "environment": {"type": "local", "memory_mb": 400, "kwargs": {"pids_limit": 300}}
        if not long
        else {"type": "local"},
    }
    file = place / "study.yaml"
    file.write_text(yaml.safe_dump(spec))
    return file


class Listeners:
    """Services of the host that nobody inside may reach: TCP on the loopback, an abstract and a named socket."""

    def __init__(self, place: Path, mark: str) -> None:
        self.callers = 0
        tcp = socket.create_server(("127.0.0.1", 0))
        abstract, named = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        abstract.bind(f"\0{mark}")
        named.bind(str(place / "socket"))
        (place / "socket").chmod(0o777)
        self.port = tcp.getsockname()[1]
        for listener in (tcp, abstract, named):
            listener.listen()
            threading.Thread(target=self._serve, args=(listener,), daemon=True).start()

    def _serve(self, listener: socket.socket) -> None:
        while True:
            listener.accept()
            self.callers += 1


def main() -> None:
    place, study, long = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "long"
    names = sys.argv[4:]
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    mark = f"hostile-mark-{os.getpid()}"
    for name in ("home", "tmp", "locks", "cwd"):
        (place / name).mkdir()
    (place / "canary").write_text("worth keeping\n")
    listeners = Listeners(place, mark)
    env = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(place / "home"),
        "TMPDIR": str(place / "tmp"),
        "LOOPSCOPE_CACHE": os.environ["LOOPSCOPE_CACHE"],
        "LOOPSCOPE_LOCK_DIR": str(place / "locks"),
        "PYTHONPATH": f"{Path(loopscope.__file__).parents[1]}:{HERE}:{HERE.parent / 'support'}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOST_PLACE": str(place),
        "HOST_CANARY": str(place / "canary"),
        "HOST_PORT": str(listeners.port),
        "HOST_SOCKET": mark,
        "HOST_MARK": mark,
    }
    seen, directory = Seen(), place / "study"

    def command(*words: str) -> int:
        started = subprocess.Popen(
            [*CLI, *words], cwd=place / "cwd", env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        try:
            output, _ = started.communicate(timeout=PATIENCE_SEC * (20 if long else 1))
        except subprocess.TimeoutExpired:
            started.kill()
            output, _ = started.communicate()
            seen.differences.append(f"{words[0]} hung")
        seen.output += output.decode("utf-8", "backslashreplace")
        return started.returncode

    command("run", str(write_study(place, study, [None], long=long)), "--out", str(directory))
    file = write_study(place, study, [None, *names], long=long)
    wall, monotonic, before = time.time(), time.monotonic(), look(place, mark)
    seen.code = command("run", str(file), "--out", str(directory))
    seen.left = children(patience=10.0)
    after: Manifest = look(place, mark)
    seen.seconds = round(time.monotonic() - monotonic, 1)
    seen.clock_moved = abs((time.time() - wall) - (time.monotonic() - monotonic))
    seen.differences += changes(before, after)
    for words in (("score", str(directory)), ("analyze", str(directory)), ("report", str(directory))):
        if command(*words) not in (0, 1):
            seen.differences.append(f"{words[0]} failed")
    seen.callers = listeners.callers
    (place / "seen.json").write_text(json.dumps(asdict(seen)))


if __name__ == "__main__":
    main()
