"""What the kernel counts by user, or by machine: one sandbox cannot take it from its neighbours."""

from __future__ import annotations

import asyncio
import errno
import os
import selectors
import subprocess
from pathlib import Path

import pytest
from harbor.models.task.config import EnvironmentConfig
from sandboxes import inside, running, says

from loopscope.engine.loop import polling_loop
from loopscope.models import LimitState
from loopscope.sandbox import toolchain
from loopscope.sandbox.doctor import State
from loopscope.sandbox.doctor.start import Inside, _terminals
from loopscope.sandbox.environment import LocalEnvironment
from loopscope.sandbox.keeper.bounds import INSIDE, PSEUDO_TERMINALS, Board, bound_shares
from loopscope.sandbox.keeper.system import mount_point
from loopscope.sandbox.limits import Asked, Limits

pytestmark = pytest.mark.sandbox

HOARDS = {
    "descriptors in flight": """
import array, socket
while True:
    a, b = socket.socketpair()
    a.setblocking(False)
    kept.append((a, b))
    try:
        for _ in range(20): a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 250))])
    except BlockingIOError: continue
    except OSError: break
""",
    "namespaces": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x10000000) == 0
while libc.unshare(0x04000000) == 0:
    kept.append(open("/proc/self/ns/uts"))
assert len(kept) < 256, len(kept)
""",
}


@pytest.mark.parametrize("hoard", HOARDS)
def test_a_hoard_does_not_stop_a_neighbour(tmp_path: Path, hoard: str) -> None:
    """A neighbour's commands, its freeze and a fresh sandbox, while another holds all that it may."""
    for name in "abc":
        (tmp_path / name).mkdir()

    async def go() -> None:
        how = {"python_packages": toolchain.DEFAULT_PACKAGES}
        async with running(tmp_path / "a", **how) as one, running(tmp_path / "b") as two:
            code = f"import time\nkept = []\n{HOARDS[hoard]}\nopen('/tmp/full', 'w').close()\ntime.sleep(1000)"
            hog = asyncio.create_task(one.exec(f"python3 - <<'E'\n{code}\nE\n"))
            while (await one.exec("test -e /tmp/full")).return_code:
                assert not hog.done(), hog.result()
            assert await says(two, "echo alive") == "alive"
            await two.freeze()
            assert await says(two, "unshare -rm echo alive") == "alive"
            async with running(tmp_path / "c") as three:
                assert await says(three, "echo alive") == "alive"
            hog.cancel()
            await asyncio.wait([hog])

    asyncio.run(go())


def test_the_engine_needs_no_epoll(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its watches are counted by user, and five million of them, all there are, are used up in ten seconds."""

    async def go() -> None:
        async with running(tmp_path) as env:
            assert await says(env, "echo alive") == "alive"
            await env.freeze()
            assert await says(env, "echo alive") == "alive"

    def refused(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no watches left")

    monkeypatch.setattr(selectors.EpollSelector, "register", refused)
    asyncio.run(go(), loop_factory=polling_loop)


@inside()
async def test_shares_cannot_be_raised_from_inside(env: LocalEnvironment, tmp_path: Path) -> None:
    for name, most in INSIDE.items():
        file = f"/proc/sys/user/{name}"
        assert await says(env, f"echo 99999 > {file} 2>/dev/null; cat {file}") == str(most)


def test_pseudo_terminals_are_given_out_in_parts(tmp_path: Path) -> None:
    """The pool is the machine's: whoever opens all that it can has its own part, and a neighbour opens one as before."""
    for name in "ab":
        (tmp_path / name).mkdir()
    code = """
import os
held = []
try:
    while True: held.append(os.openpty())
except OSError as exc:
    print(len(held), exc.errno)
"""

    async def go() -> None:
        how = {"python_packages": toolchain.DEFAULT_PACKAGES}
        async with running(tmp_path / "a", **how) as one, running(tmp_path / "b", **how) as two:
            for _ in range(2):
                assert await says(one, f"python3 - <<'E'\n{code}E\n") == f"{PSEUDO_TERMINALS} {errno.ENOSPC}"
                assert await says(two, "python3 -c 'import os; print(os.ttyname(os.openpty()[1]))'") == "/dev/pts/0"
                await one.freeze()

    asyncio.run(go())


@pytest.mark.parametrize("covered", [False, True])
def test_terminals_that_take_no_limit_are_told(covered: bool) -> None:
    """Of the kernel's answer in a sandbox's namespaces, in the record and by doctor; nothing where all is well."""
    setup = "mount -t tmpfs none /dev/pts; " if covered else "mount -t devpts -o newinstance none /dev/pts; "
    argv = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f"{setup} echo ready; exec sleep 1000"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        chain = [os.open(f"/proc/{process.pid}/ns/{name}", os.O_RDONLY) for name in ("user", "mnt")]
        failed = bound_shares(chain, "/proc")
        lines = Path(f"/proc/{process.pid}/mountinfo").read_text().splitlines()
        process.kill()
        for fd in chain:
            os.close(fd)
    assert failed == (errno.EINVAL if covered else 0)
    limits = Limits(Asked(1 << 30, 100, None), one_id=True)
    board = Board(limits.board)
    board.seen["terminals_errno"] = failed
    board.write()
    told = limits.read().get("terminals")
    limits.finish()
    assert (told and (told.state, told.means)) == (
        (LimitState.ABSENT, "/dev/pts takes no limit: Invalid argument") if covered else None
    )
    options = [line.split(" ", 5)[5] for line in lines if mount_point(line) == "/dev/pts"]
    rows = list(_terminals(Inside(1, {"terminals": options})))
    assert [(row.name, row.state) for row in rows] == [("limit on pseudo-terminals", State.MISSING)] * covered


@inside()
async def test_a_sandbox_s_own_terminals_are_bounded(env: LocalEnvironment, tmp_path: Path) -> None:
    assert "terminals" not in env.limits()
    await env.freeze()
    assert "terminals" not in env.limits()


def used(env: LocalEnvironment) -> int:
    """Microseconds of processors that a sandbox has had, as its group counts them."""
    limits = env._box.limits  # type: ignore[union-attr]
    limits.read()
    return (limits._seen.get("cpuacct") or limits._seen["cpu"]).peak or 0


def test_many_threads_leave_a_neighbour_its_share(tmp_path: Path) -> None:
    """Without a limit on processors too, where groups can be made: on one processor sixty get as much as one."""
    for name in "ab":
        (tmp_path / name).mkdir()
    where = f"taskset -c {min(os.sched_getaffinity(0))}"
    busy = f"for i in $(seq 60); do setsid {where} sh -c 'while :; do :; done' & done; wait"
    count = f"{where} sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done' && echo done"

    async def go() -> None:
        async with running(tmp_path / "a") as one, running(tmp_path / "b") as two:
            if one._box.limits.means["cpu"].home is None:  # type: ignore[union-attr]
                pytest.skip("no control groups for processors here")
            hog = asyncio.create_task(one.exec(busy))
            while int(await says(one, "pgrep -fc '^sh -c while' || true")) < 60:
                assert not hog.done()
            before = used(one), used(two)
            assert await says(two, count) == "done"
            crowd, single = used(one) - before[0], used(two) - before[1]
            assert crowd < 10 * single, "without a weight for each it is sixty times as much"
            hog.cancel()
            await asyncio.wait([hog])
            assert one.limits()["cpu"].state == "absent" and one.limits()["cpu"].hits is None

    asyncio.run(go())


@inside(python_packages=toolchain.DEFAULT_PACKAGES)
async def test_the_first_process_cannot_be_traced(env: LocalEnvironment, tmp_path: Path) -> None:
    """No limit kills or counts it, so whoever held its reins would have none."""
    code = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, 1, None, None), ctypes.get_errno())
try:
    print(open("/proc/1/mem", "r+b"))
except OSError as exc:
    print(exc.errno)
"""
    assert (await says(env, f"python3 - <<'E'\n{code}E\n")).split() == ["-1", "1", "13"]


def test_a_crowded_sandbox_is_purged_of_what_fills_the_disk(tmp_path: Path) -> None:
    """Where no process can be started to do it."""
    code = """
import os, time
try:
    while True:
        os.fork() or time.sleep(1000)
except OSError:
    with open("/app/big", "wb") as file:
        while True: file.write(bytes(8 << 20))
"""

    async def go() -> None:
        how = {"python_packages": toolchain.DEFAULT_PACKAGES, "pids_limit": 50}
        async with running(tmp_path, storage="directory", config=EnvironmentConfig(storage_mb=64), **how) as env:
            assert (await env.exec(f"python3 - <<'E'\n{code}E\n", timeout_sec=60)).return_code == 137
            assert env.limits()["disk"].hits
            assert await says(env, "echo alive") == "alive"

    asyncio.run(go())
