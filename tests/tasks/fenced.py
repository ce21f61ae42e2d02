"""Run a Python program inside the guard, in a process of its own: `fenced.py LEVEL JSON` prints what came of it as JSON."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any

# As a task's tests/ has it, without the rest of loopscope: any Python >= 3.9 can run this file.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src" / "loopscope" / "tasks"))
fence: Any = importlib.import_module("guard.fence")


def processes_with(token: bytes) -> list[str]:
    """Processes whose command line holds this."""
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and token in Path("/proc", name, "cmdline").read_bytes():
                found.append(name)
    return found


def main() -> None:
    """JSON: program (text; VERIFIER becomes this process's id), limits, writable, secret (a file held open here)."""
    os.environ["SECRET"] = "in the environment"
    wanted = json.loads(sys.argv[2])
    secret = os.open(wanted["secret"], os.O_RDONLY)
    os.set_inheritable(secret, True)
    with fence.Guard(sys.argv[1]) as guard:
        program = wanted["program"].replace("VERIFIER", str(os.getpid())).encode()
        box = guard.new_box({"program.py": program, "data": b"data"}, writable=wanted["writable"])
        limits = fence.Limits(**{"wall": 5.0, "memory": 300 << 20, **wanted["limits"]})
        token = f"leftover-{uuid.uuid4()}"
        argv = [sys.executable, "-I", "-B", guard.inside(box, "program.py"), token]
        outcome = guard.run(argv, box, limits, wanted["writable"])
        left = processes_with(token.encode())
        report = {
            "level": guard.level,
            "ok": outcome.ok,
            "reason": outcome.reason,
            "output": outcome.output.decode(errors="replace")[:4000],
            "errors": outcome.errors,
            "left": left,
            "uid": os.geteuid(),
        }
    report["base_gone"] = not os.path.exists(guard.base)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
