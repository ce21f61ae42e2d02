"""What a process inside can see and reach."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest
from sandboxes import ROOT, inside, running, says

from loopscope.sandbox.environment import LocalEnvironment

pytestmark = pytest.mark.sandbox

TOP = {
    *[
        "app",
        "bin",
        "data",
        "dev",
        "etc",
        "home",
        "installed-agent",
        "lib",
        "logs",
        "orig",
        "proc",
        "root",
        "run",
        "sbin",
        "solution",
        "tests",
        "tmp",
        "usr",
        "var",
    ]
}
ETC = {
    *[
        "alternatives",
        "gitconfig",
        "group",
        "hosts",
        "hostname",
        "ld.so.cache",
        "ld.so.conf",
        "ld.so.conf.d",
        "nsswitch.conf",
        "passwd",
        "resolv.conf",
    ]
}


@inside()
async def test_shows_system_directories_and_nothing_else_of_the_host(env: LocalEnvironment, tmp_path: Path) -> None:
    top = set((await says(env, "ls -A /")).split())
    assert top - {"lib32", "lib64", "libx32", "workspace"} == TOP
    assert set((await says(env, "ls -A /etc")).split()) <= ETC
    for private in ("app", "root", "home", "tmp", "tests", "solution", "run", "var"):
        assert await says(env, f"ls -A /{private}") == ""
    assert (await env.exec(f"ls {tmp_path}")).return_code != 0
    assert (await env.exec("ls /proc/1/root/oldroot /oldroot /newroot")).return_code != 0


@inside()
async def test_system_directories_cannot_be_written(env: LocalEnvironment, tmp_path: Path) -> None:
    for place in ("/", "/usr", "/usr/bin", "/etc", "/dev", "/bin", "/lib"):
        assert (await env.exec(f"touch {place}/planted")).return_code != 0, place
    assert (await env.exec("mount -t tmpfs x /app || mount -o remount,rw /usr")).return_code != 0
    assert (await env.exec("echo 1 > /proc/sys/kernel/panic || echo x > /proc/sysrq-trigger")).return_code != 0


def test_environment_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    dockerfile = "FROM debian\nENV A=1 GREETING='hello world'\nENV PATH=/app/bin:$PATH\nWORKDIR /app\n"

    @inside(dockerfile)
    async def body(env: LocalEnvironment, where: Path) -> None:
        lines = dict(line.split("=", 1) for line in (await says(env, "env", env={"MINE": "2"})).splitlines())
        assert lines["A"] == "1" and lines["GREETING"] == "hello world" and lines["MINE"] == "2"
        assert lines["PATH"].startswith("/app/bin:/usr/local/sbin") and lines["HOME"] == "/root"
        assert set(lines) <= {
            *["A", "GREETING", "PATH", "HOME", "LANG", "TMPDIR", "HOSTNAME", "MINE", "PWD", "SHLVL", "_"]
        }
        assert "hunter2" not in await says(env, "cat /proc/*/environ 2>/dev/null | tr '\\0' ' '")

    body(tmp_path)


@inside()
async def test_no_network(env: LocalEnvironment, tmp_path: Path) -> None:
    assert await says(env, "ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '") == "lo"
    assert await says(env, "tail -n +2 /proc/net/route") == ""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert (await env.exec(f"exec 3<>/dev/tcp/127.0.0.1/{port}")).return_code != 0
    with socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0loopscope-test-{os.getpid()}")
        assert f"loopscope-test-{os.getpid()}" not in await says(env, "cat /proc/net/unix")


@inside()
async def test_sees_only_its_own_processes(env: LocalEnvironment, tmp_path: Path) -> None:
    pids = [int(pid) for pid in (await says(env, "ls /proc | grep -E '^[0-9]+$'")).split()]
    assert len(pids) < 10 and 1 in pids
    commands = await says(env, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    assert str(tmp_path) not in commands and "loopscope.sandbox" not in commands and sys.prefix not in commands
    assert (await env.exec("kill -9 1; kill -0 1")).return_code == 0  # immune, and there


@inside()
async def test_the_way_in_cannot_be_read_or_traced(env: LocalEnvironment, tmp_path: Path) -> None:
    """The reaper of each command is a fork of a host process: its memory, root and descriptors are closed to all."""
    look = """
        for p in /proc/[0-9]*; do
            [ "$(tr -d '\\0' < $p/cmdline)" = loopscope-exec ] || continue
            echo found
            for f in environ maps mem; do dd if=$p/$f of=/dev/null count=1 2>/dev/null && echo open $f; done
            for f in exe cwd root fd; do ls -L $p/$f >/dev/null 2>&1 && echo open $f; done
        done; true"""
    assert await says(env, look) == "found"


@inside()
async def test_the_first_process_holds_nothing_of_the_hosts(env: LocalEnvironment, tmp_path: Path) -> None:
    """Neither the keeper's socket nor a namespace: whoever shares its user could take them from it."""
    assert await says(env, "ls /proc/1/fd 2>/dev/null | tr '\\n' ' '") == "0 1 2"


@inside()
async def test_privileges(env: LocalEnvironment, tmp_path: Path) -> None:
    status = await says(env, "cat /proc/self/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["NoNewPrivs"] == "1"
    for sort in ("CapEff", "CapPrm", "CapBnd"):
        held = int(fields[sort], 16)
        assert not held >> 21 & 1 and not held >> 19 & 1 and not held >> 12 & 1  # sys_admin, sys_ptrace, net_admin
    assert await says(env, "ulimit -Hc") == "0"
    assert await says(env, "id -u") == "0"
    assert await says(env, "ls /proc/self/fd | wc -l") == "4"


@inside()
async def test_nested_namespaces_work(env: LocalEnvironment, tmp_path: Path) -> None:
    """Verifiers of tasks hide themselves in namespaces of their own."""
    nested = "unshare --user --map-root-user --pid --mount --fork --mount-proc sh -c "
    hide = nested + "'mount -t tmpfs none /tests && ls -A /tests && ls /proc | grep -cE ^[0-9]+$'"
    await says(env, "touch /tests/secret")
    for user in ("root", "nobody"):
        assert int(await says(env, hide, user=user)) <= 4
    assert await says(env, "ls /tests") == "secret"


@pytest.mark.skipif(not ROOT, reason="an ordinary user can map one id only")
@inside()
async def test_a_second_uid_is_kept_out(env: LocalEnvironment, tmp_path: Path) -> None:
    await says(env, "chmod 700 /tests && echo answer > /tests/key && chmod 644 /tests/key")
    assert await says(env, "id -u", user=1001) == "1001"
    assert await says(env, "id -un", user="nobody") == "nobody"
    assert (await env.exec("cat /tests/key", user=1001)).return_code != 0
    assert (await env.exec("touch /app/x", user=1001)).return_code != 0
    await says(env, "chown 1001:1001 /app && chmod 700 /app")
    await says(env, "touch /app/mine", user=1001)
    stale = "setpriv --reuid=1001 --regid=1001 --clear-groups sh -c 'kill -0 $PPID; cat /tests/key'"
    assert (await env.exec(stale)).return_code != 0


@pytest.mark.skipif(ROOT, reason="as root the second id exists")
@inside()
async def test_without_a_second_uid_everybody_is_root(env: LocalEnvironment, tmp_path: Path) -> None:
    assert await says(env, "id -u", user="nobody") == "0"


def test_two_sandboxes_share_nothing(tmp_path: Path) -> None:
    import asyncio

    async def go() -> None:
        async with running(tmp_path / "a") as one, running(tmp_path / "b") as two:
            await says(one, "echo 1 > /tmp/x; echo 1 > /dev/shm/x; echo 1 > /app/x; (sleep 60 >/dev/null 2>&1 &)")
            assert await says(two, "ls -A /tmp /dev/shm /app | grep x; true") == ""
            maps = [await says(env, "cat /proc/self/uid_map") for env in (one, two)]
            assert not ROOT or maps[0] != maps[1]

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    asyncio.run(go())
