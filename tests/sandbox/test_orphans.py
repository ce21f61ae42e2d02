"""What is killed is reaped by us: the machine's first process may be slow at that, or in a container not do it at all."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sandboxes import running

pytestmark = pytest.mark.sandbox

PR_SET_CHILD_SUBREAPER = 36
SWARM = "for i in 1 2 3 4 5 6 7 8; do (setsid sleep 60 &) ; done; sleep 60"


def children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


async def kill_and_freeze(where: Path, times: int) -> None:
    """As an engine whose orphans come to it, and which reaps none of them: each would keep its sandbox from ending."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    async with running(where) as env:
        before = children()
        for _ in range(times):
            await env.exec(SWARM, timeout_sec=1)
            await env.freeze()
            assert children() == before


@pytest.mark.slow
def test_killed_commands_leave_nothing_for_others_to_reap(tmp_path: Path) -> None:
    here = Path(__file__).parent
    script = "import asyncio, sys; from pathlib import Path; from test_orphans import kill_and_freeze; "
    script += "asyncio.run(kill_and_freeze(Path(sys.argv[1]), 5))"
    path = os.pathsep.join([str(here), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
