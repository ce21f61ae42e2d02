"""Nothing outlives its deadline, its sandbox or its engine."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from killing_processes import kill_all
from sandboxes import environment, inside, processes, running, says

from loopscope.models import LimitState
from loopscope.sandbox.environment import LocalEnvironment
from loopscope.sandbox.errors import SandboxError, SandboxGoneError
from loopscope.sandbox.export import ExportOnStop, LimitsFile, too_large_mark
from loopscope.sandbox.namespace import Sandbox

pytestmark = pytest.mark.sandbox

DAEMONS = "(setsid sleep {n} >/dev/null 2>&1 &) ; setsid -f sh -c 'setsid -f sleep {n} >/dev/null 2>&1' ; sleep {n}"


def number(offset: int) -> str:
    """A length of sleep that names this test's processes."""
    return str(10_000_000 + os.getpid() * 10 + offset)


@inside()
async def test_timeout_kills_the_whole_tree(env: LocalEnvironment, tmp_path: Path) -> None:
    n = number(1)
    result = await env.exec("echo before; " + DAEMONS.format(n=n), timeout_sec=1)
    assert result.return_code == 124 and result.stdout == "before\n"
    assert processes(n) == []
    assert await says(env, "echo alive") == "alive"


@inside()
async def test_cancelling_kills_the_whole_tree(env: LocalEnvironment, tmp_path: Path) -> None:
    n = number(2)
    seen = asyncio.Event()

    async def on_text(text: str, stream: str) -> None:
        seen.set()

    async def call() -> None:
        with env.scoped_output_callback(on_text):
            await env.exec("setsid -f sleep " + n + " >/dev/null 2>&1; echo up; sleep " + n)

    task = asyncio.create_task(call())
    await seen.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert processes(n) == []


@inside()
async def test_background_processes_survive_their_command(env: LocalEnvironment, tmp_path: Path) -> None:
    """As in a container: a server started by one command serves the next."""
    n = number(3)
    assert await says(env, f"sleep {n} & echo started") == "started"
    assert len(processes(n)) == 1
    await says(env, f"pkill -f '^sleep {n}'")


@inside()
async def test_fork_bomb_ends_with_its_deadline(env: LocalEnvironment, tmp_path: Path) -> None:
    n = number(4)
    bomb = f"i=0; while [ $i -lt 60 ]; do i=$((i+1)); (setsid sleep {n} & sh -c 'sleep {n} & sleep {n}' &) ; done; sleep {n}"
    assert (await env.exec(bomb + " >/dev/null 2>&1", timeout_sec=1)).return_code == 124
    assert processes(n) == []


@inside()
async def test_freeze_leaves_files_and_no_process(env: LocalEnvironment, tmp_path: Path) -> None:
    n = number(5)
    await says(env, f"setsid -f sleep {n} >/dev/null 2>&1; echo work > /app/file; mkdir -m 0 /app/locked")
    await says(env, f"(while :; do sleep {n} & sleep 0.01; done) >/dev/null 2>&1 &")
    await env.freeze()
    assert processes(n) == []
    assert await says(env, "cat /app/file") == "work"
    assert int(await says(env, "ls /proc | grep -cE '^[0-9]+$'")) < 8
    await env.freeze()
    assert await says(env, "cat /app/file") == "work"


@inside()
async def test_freeze_after_the_agent_killed_all_it_could(env: LocalEnvironment, tmp_path: Path) -> None:
    await says(env, "echo work > /app/file")
    assert (await env.exec("kill -9 -1; kill -9 $$")).return_code == 137
    await env.freeze()
    assert await says(env, "cat /app/file") == "work"


@inside()
async def test_killing_the_reaper_does_not_hang(env: LocalEnvironment, tmp_path: Path) -> None:
    n = number(6)
    result = await env.exec(f"setsid -f sleep {n} >/dev/null 2>&1; kill -9 $PPID; sleep {n}", timeout_sec=30)
    assert result.return_code == 137
    await env.freeze()
    assert processes(n) == []


def test_stop_kills_and_removes(tmp_path: Path) -> None:
    n = number(7)

    async def go() -> None:
        async with running(tmp_path) as env:
            await says(env, f"setsid -f sleep {n} >/dev/null 2>&1")
            await says(env, "mkdir -p /app/a/b && touch /app/a/b/c && chmod 0 /app/a/b /app/a && chmod 0 /app")
            await says(env, "chown -R 1234 /tmp 2>/dev/null; mkdir -p /tmp/$(printf 'x%.0s' {1..200})/$'new\\nline'")
            await says(env, "ln -s / /logs/link; ln -s /etc/passwd /logs/p")
        assert processes(n) == []
        with pytest.raises(SandboxGoneError):
            await env.exec("true")
        await env.stop(delete=True)

    asyncio.run(go())
    assert list((tmp_path / "trial").iterdir()) == []


def test_stop_without_delete_keeps_the_files(tmp_path: Path) -> None:
    async def go() -> None:
        env = environment(tmp_path, scratch_dir=tmp_path / "scratch")
        await env.start(force_build=False)
        await says(env, "echo kept > /app/file")
        await env.stop(delete=False)

    asyncio.run(go())
    assert (tmp_path / "scratch" / "app" / "file").read_text() == "kept\n"


ENGINE = """
import asyncio, sys
from pathlib import Path
from sandboxes import running
async def main():
    async with running(Path(sys.argv[1])) as env:
        await env.exec("setsid -f sleep " + sys.argv[2] + " >/dev/null 2>&1")
        print("up", flush=True)
        await env.exec("sleep " + sys.argv[2])
asyncio.run(main())
"""


@pytest.mark.parametrize("victim", ["engine", "keepers"])
def test_killed_from_outside_nothing_is_left(tmp_path: Path, victim: str) -> None:
    n = number(8 if victim == "engine" else 9)
    argv = [sys.executable, "-c", ENGINE, str(tmp_path), n]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=Path(__file__).parent) as engine:
        assert engine.stdout is not None and engine.stdout.readline() == b"up\n"
        assert len(processes(n)) >= 1
        if victim == "engine":
            engine.kill()
        else:
            for pid in keepers_of(engine.pid):
                os.kill(pid, signal.SIGKILL)
        engine.wait(timeout=30)
    deadline = 2000
    while processes(n) and deadline:
        os.sched_yield()
        deadline -= 1
    assert processes(n) == []


def keepers_of(engine: int) -> list[int]:
    """The hub and the keepers below it: children, and children of children, outside any sandbox."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                name = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if name.startswith(b"loopscope-exec"):
                parents[int(entry.name)] = int(fields[1])
    hubs = [pid for pid, parent in parents.items() if parent == engine]
    return [*(pid for pid, parent in parents.items() if parent in hubs), *hubs]


@pytest.mark.parametrize("victim", ["bwrap", "keeper"])
@pytest.mark.parametrize("asks", [True, False])
def test_a_sandbox_remembers_that_it_died_while_it_was_in_use(tmp_path: Path, victim: str, asks: bool) -> None:
    @inside()
    async def body(env: LocalEnvironment, where: Path) -> None:
        await says(env, "echo work > /app/file")
        assert env.seen().died is None
        kill_all(victim)
        if asks:
            with pytest.raises(SandboxGoneError):
                await env.exec("sleep 1000")
        await env.freeze()
        assert env.seen().died
        assert await says(env, "cat /app/file") == "work"
        await env.freeze()
        assert env.seen().died

    body(tmp_path)


@inside()
async def test_what_is_ended_on_purpose_did_not_die(env: LocalEnvironment, tmp_path: Path) -> None:
    """A command that still runs when the files are frozen ends with the sandbox, which is no death."""
    running_on = asyncio.create_task(env.exec(f"sleep {number(0)}"))
    while not processes(number(0)):
        await asyncio.sleep(0.01)
    await env.freeze()
    with pytest.raises(SandboxGoneError):
        await running_on
    assert (await env.exec("kill -9 -1; kill -9 $$")).return_code == 137
    await env.freeze()
    assert env.seen().died is None


def test_limits_of_a_sandbox_that_never_stood_are_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise SandboxError("no")

    monkeypatch.setattr(Sandbox, "launch", fail)
    env = environment(tmp_path)
    for start in (False, True):
        if start:
            with pytest.raises(SandboxError):
                asyncio.run(env.start(force_build=False))
        assert {(limit.state.value, limit.means) for limit in env.limits().values()} == {("absent", "not started")}
        assert set(env.limits()) == {"network", "cpu", "memory", "pids", "disk"}


def test_export_on_stop_brings_out_what_was_filled_and_nothing_else(tmp_path: Path) -> None:
    def go(name: str, dockerfile: str) -> Path:
        file = tmp_path / f"{name}.tar"
        export = {"path": "/app", "file": str(file), "max_bytes": "1000000"}

        async def body() -> None:
            with contextlib.suppress(SandboxError):
                async with running(tmp_path / name, dockerfile, {"a": "x"}, export_on_stop=export) as env:
                    await env.exec("echo late > /app/late")

        (tmp_path / name).mkdir()
        asyncio.run(body())
        return file

    whole = go("whole", "FROM debian:12\nWORKDIR /app\nCOPY a .\n")
    with tarfile.open(whole) as tar:
        assert {"./a", "./late"} <= set(tar.getnames())
    assert not go("half", "FROM debian:12\nWORKDIR /app\nCOPY a .\nRUN false\n").exists()


@pytest.mark.parametrize(
    "given", [{}, {"path": "/app", "file": "x", "max_bytes": "many"}, {"path": "/app", "out": "x"}]
)
def test_an_export_that_cannot_be_meant_is_refused(tmp_path: Path, given: dict[str, str]) -> None:
    with pytest.raises(SandboxError, match=r"export_on_stop: .+: .+; `path`, `file` and `max_bytes` are needed"):
        ExportOnStop.parse(given)
    if given:
        with pytest.raises(SandboxError, match="export_on_stop"):
            environment(tmp_path, export_on_stop=given)


def test_an_export_says_why_there_is_no_tar_and_a_limits_file_that_fails_costs_none(tmp_path: Path) -> None:
    def go(name: str, max_bytes: int, limits: Path) -> Path:
        file = tmp_path / name / "x.tar"
        wanted = ExportOnStop(path="/app", file=file, max_bytes=max_bytes, limits=limits)

        async def body() -> None:
            async with running(tmp_path / name, export_on_stop=wanted.model_dump(mode="json")) as env:
                await env.exec("dd if=/dev/zero of=/app/f bs=100k count=1")

        (tmp_path / name).mkdir()
        asyncio.run(body())
        return file

    told = tmp_path / "limits.json"
    assert not go("large", 50_000, told).exists()
    assert too_large_mark(tmp_path / "large/x.tar").exists()
    assert LimitsFile.model_validate_json(told.read_bytes()).limits["network"].state is LimitState.ENFORCED
    assert go("whole", 1_000_000, tmp_path / "nowhere/limits.json").exists()
