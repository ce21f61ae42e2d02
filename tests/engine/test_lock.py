"""The machine-wide lock."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from toy_study import write_task

from loopscope.engine import lock, rollout
from loopscope.engine.jobs import TrialOutcome
from loopscope.engine.lock import machine
from loopscope.engine.plan import plan_study


@pytest.fixture(autouse=True)
def own_locks(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOPSCOPE_LOCK_DIR", str(tmp_path))


async def order(*steps: tuple[str, bool]) -> list[str]:
    """Start holders in order; what happened, in order."""
    seen: list[str] = []
    gates = {name: asyncio.Event() for name, _ in steps}

    async def hold(name: str, alone: bool) -> None:
        async with machine(alone=alone):
            seen.append(f"+{name}")
            await gates[name].wait()
            seen.append(f"-{name}")

    async with asyncio.TaskGroup() as group:
        for name, alone in steps:
            group.create_task(hold(name, alone))
            for _ in range(5):
                await asyncio.sleep(0.01)
        for name, _ in steps:
            gates[name].set()
            for _ in range(10):
                await asyncio.sleep(0.01)
    return seen


def test_sharers_hold_together_and_an_exclusive_owner_alone():
    seen = asyncio.run(order(("a", False), ("b", False), ("x", True)))
    assert seen == ["+a", "+b", "-a", "-b", "+x", "-x"]


def test_newcomers_queue_behind_a_waiting_exclusive_owner():
    seen = asyncio.run(order(("a", False), ("x", True), ("b", False)))
    assert seen == ["+a", "-a", "+x", "-x", "+b", "-b"]


def test_a_cancelled_waiter_leaves_the_lock_free():
    async def scenario() -> None:
        async with machine(alone=False):
            waiter = asyncio.create_task(_take())
            await asyncio.sleep(0.05)
            waiter.cancel()
            await asyncio.gather(waiter, return_exceptions=True)
        async with asyncio.timeout(5), machine(alone=True):
            pass

    async def _take() -> None:
        async with machine(alone=True):
            raise AssertionError("not while it is shared")

    asyncio.run(scenario())


def test_the_lock_holds_between_processes_and_ends_with_them(tmp_path):
    code = (
        "import asyncio, sys\nfrom loopscope.engine.lock import machine\n"
        "async def hold():\n async with machine(alone=True):\n  print('held', flush=True); sys.stdin.read()\n"
        "asyncio.run(hold())"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout.readline() == b"held\n"

    async def blocked() -> bool:
        try:
            async with asyncio.timeout(0.1), machine(alone=False):
                return False
        except TimeoutError:
            return True

    async def free() -> None:
        async with asyncio.timeout(10), machine(alone=False):
            pass

    assert asyncio.run(blocked())
    other.kill()
    other.wait()
    asyncio.run(free())


def test_who_makes_others_wait_long_is_named_once(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "PATIENCE_SEC", 0.0)
    code = (
        "import fcntl, os, sys\n"
        f"fcntl.flock(os.open('{tmp_path}/loopscope-run.lock', os.O_RDONLY), fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    )
    told: list[str] = []

    async def wait() -> None:
        async with machine(alone=False):
            pass  # makes the files
        with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdin and other.stdout and other.stdout.readline()

            def tell(message: str) -> None:
                told.append(message)
                other.kill()

            async with machine(alone=False, tell=tell):
                assert len(told) == 1 and f"held by process {other.pid} of " in told[0] and str(tmp_path) in told[0]

    asyncio.run(wait())


def test_where_no_locks_are_shown_nobody_is_named(tmp_path, monkeypatch):
    """And the wait goes on: some kernels have no /proc/locks."""

    def hidden(path: Path) -> str:
        raise FileNotFoundError(path)

    with (tmp_path / "file").open("w") as file:
        monkeypatch.setattr(lock.Path, "read_text", hidden)
        assert lock.holders(file.fileno()) == []


def test_a_baseline_does_not_disturb_what_measures_time(tmp_path, monkeypatch):
    write_task(tmp_path / "toy")
    study = tmp_path / "s.yaml"
    study.write_text("name: s\ntasks: [./toy]\nagents: [nop]\nseeds: 1\n")
    plan = plan_study(study, tmp_path / "study")

    async def trial(*_: object, **__: object) -> TrialOutcome:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1), machine(alone=True):
                raise AssertionError("not while a sandbox works")
        return TrialOutcome(None, None, ("Stopped", "seen enough"))

    monkeypatch.setattr(rollout, "run_trial", trial)
    problem = asyncio.run(rollout.make_baseline(plan, plan.runs[0].task))
    assert problem is not None and problem.message == "seen enough"
