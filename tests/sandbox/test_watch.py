"""The watchdog's second line: when the machine runs short, whoever uses most loses its largest process."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import struct
from pathlib import Path

import pytest
from killing_processes import descendants
from sandboxes import inside, says
from test_limits import HOG, MEMORY_MB, limited

from loopscope.sandbox.environment import LocalEnvironment
from loopscope.sandbox.errors import SandboxGoneError
from loopscope.sandbox.keeper.bounds import Board
from loopscope.sandbox.keeper.system import mount_point
from loopscope.sandbox.keeper.watch import BLIND, Ranking, Watch, kilobytes

pytestmark = pytest.mark.sandbox


def below(pid: int) -> list[int]:
    """Children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def first_process() -> int:
    """Host pid of the first process of the one sandbox that this process has: hub, keeper, bubblewrap, it."""
    found = [os.getpid()]
    for _ in range(4):
        found = [child for pid in found for child in below(pid)]
    return next(pid for pid in found if b"sleep infinity & wait" in Path(f"/proc/{pid}/cmdline").read_bytes())


@inside()
async def test_the_largest_sandbox_gives_way_to_the_machine(env: LocalEnvironment, tmp_path: Path) -> None:
    ranking = Ranking()
    watch = Watch(first_process(), {"memory": 1 << 40, "pids": 0}, Board(os.memfd_create("board")), ranking)
    running = asyncio.create_task(env.exec("sleep 1000; echo survived"))
    while not (await says(env, "pgrep -f 'sleep 1000' || true")):
        await asyncio.sleep(0.01)
    watch.tick()
    assert watch.board.seen["memory_hits"] == 0 and watch.board.seen["memory_peak"] > 0
    watch.total = 1 << 62  # as if the machine had lost nearly all of its memory
    struct.pack_into("=QQ", ranking.memory, 16 * 8, 999_999_999, 1 << 50)  # a keeper that is dead counts no more
    watch.tick()
    assert watch.board.seen["memory_hits"] == 1
    while not running.done():  # the shell or its sleep, whichever was larger; then the other
        await asyncio.sleep(0.05)
        watch.tick()
    watch.total = 0
    assert await says(env, "echo alive") == "alive"


def test_a_living_keeper_that_uses_more_goes_first() -> None:
    ranking = Ranking()
    ranking.mine = 3
    ranking.tell(1 << 20)
    assert ranking.is_first(1 << 20)
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        ranking.mine = 4
        ranking.tell(2 << 20)
        os.write(ready[1], b"x")
        os.read(done[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    assert not ranking.is_first(1 << 20) and ranking.is_first(3 << 20)
    os.write(done[1], b"x")
    os.waitpid(child, 0)
    assert ranking.is_first(1 << 20)


def test_kilobytes_adds_up_lines_of_one_name() -> None:
    text = b"Rss: 4 kB\nPss:     3 kB\nPss:  2 kB\nVmFlags: rd wr\nPss_Anon: 1 kB\n"
    assert kilobytes(text, (b"Pss", b"Pss_Anon", b"Swap")) == {b"Pss": 5 << 10, b"Pss_Anon": 1 << 10, b"Swap": 0}


LEFT = (
    "import os, time\nos.chroot('/usr')\nwith open('f', 'wb') as f:\n"
    "    [f.write(bytes(1 << 20)) for _ in range(400)]\n    time.sleep(10)\n"
)


def inside_namespace(script: str) -> str:
    """Python that runs a shell where /tmp/a is a file system in memory; `$fill` writes 400 MiB."""
    ready = "mkdir /tmp/a; mount -t tmpfs x /tmp/a; fill='dd if=/dev/zero bs=1M count=400 status=none'; "
    return f"subprocess.run(['unshare', '-rm', 'sh', '-c', {ready + script!r}])"


EVASIONS = {
    "a process called like a field of its status": (
        "import ctypes; ctypes.CDLL(None).prctl(15, b'Threads:x', 0, 0, 0)\nkept = bytearray(400 << 20)"
    ),
    "a file system mounted where its path has blanks": (
        "subprocess.run(['unshare', '-rm', 'sh', '-c', 'mkdir \"/tmp/a b\"; mount -t tmpfs x \"/tmp/a b\"; "
        'cd "/tmp/a b"; dd if=/dev/zero of=f bs=1M count=400 2>/dev/null; sleep 10\'])'
    ),
    "a process whose first thread has ended": (
        "import ctypes, threading\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), hold(bytearray(400 << 20)), time.sleep(10))).start()\n"
        "ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[os.uname().machine], 0)"
    ),
    "a file system that another covers": inside_namespace("cd /tmp/a; mount -t tmpfs y /tmp/a; $fill of=f; sleep 10"),
    "a file system left by chroot": inside_namespace("cd /tmp/a; exec python3 /app/left.py"),
    "a file system that was taken away while it is open": inside_namespace(
        "exec 3> /tmp/a/f; umount -l /tmp/a; $fill >&3; sleep 10"
    ),
    "a file system that counts nothing": (
        "subprocess.run(['unshare', '-rm', 'sh', '-c', 'mount -t ramfs x /tmp && "
        "dd if=/dev/zero of=/tmp/f bs=1M count=400 2>/dev/null; sleep 10'])"
    ),
}


@pytest.mark.parametrize("evasion", EVASIONS)
def test_no_name_hides_memory(tmp_path: Path, evasion: str) -> None:
    @limited("watchdog")
    async def body(env: LocalEnvironment, where: Path) -> None:
        await env.exec(f"cat > /app/left.py <<'E'\n{LEFT}E\n")
        await env.exec(f"cat > hog.py <<'E'\n{HOG.format(EVASIONS[evasion])}E\npython3 hog.py", timeout_sec=20)
        assert env.limits()["memory"].hits

    body(tmp_path)


def test_mount_points_are_read_as_the_kernel_writes_them() -> None:
    assert mount_point("36 35 98:0 / /a\\040b\\134c\\011 rw,noatime") == "/a b\\c\t"
    assert mount_point("36 35 98:0 / / rw") == "/"


@inside(limits="watchdog")
async def test_a_watchdog_that_cannot_look_ends_its_sandbox(env: LocalEnvironment, tmp_path: Path) -> None:
    keeper = next(process.pid for process in descendants(os.getpid()) if process.role == "keeper")
    running = asyncio.create_task(env.exec("sleep 1000"))
    while not (await says(env, "pgrep -f 'sleep 1000' || true")):
        await asyncio.sleep(0.01)
    in_use = {int(path.name) for path in Path(f"/proc/{keeper}/fd").iterdir()}
    free = next(number for number in range(1 << 16) if number not in in_use)
    resource.prlimit(keeper, resource.RLIMIT_NOFILE, (free, free))  # not one more can be opened
    with pytest.raises(SandboxGoneError):
        await running
    await env.freeze()
    seen = env.seen()
    assert seen.died and re.search(r"; 5 of \d+ looks failed$", seen.limits["memory"].means)
    assert await says(env, "echo alive") == "alive"


@inside()
async def test_looks_that_fail_now_and_then_are_counted_and_forgiven(env: LocalEnvironment, tmp_path: Path) -> None:
    watch = Watch(first_process(), {"memory": 1 << 40, "pids": 0}, Board(os.memfd_create("board")), Ranking())
    look = watch._count

    def count(fails: bool = False) -> None:
        if fails or watch.board.seen["ticks"] % BLIND:
            raise IndexError("a line that is no line")
        look()

    watch._count = count  # type: ignore[method-assign]
    assert [watch.tick() for _ in range(2 * BLIND)] == [True] * 2 * BLIND
    assert watch.board.seen["failed_ticks"] == 2 * BLIND - 2
    watch._count = lambda: count(fails=True)  # type: ignore[method-assign]
    assert [watch.tick() for _ in range(BLIND)] == [False] * BLIND


def test_what_the_host_has_in_memory_is_not_the_sandbox_s(tmp_path: Path) -> None:
    """A command's input is a file of the host's; the file system that it lies in counts for nobody."""

    @limited("watchdog")
    async def body(env: LocalEnvironment, where: Path) -> None:
        with Path(f"/dev/shm/loopscope-{os.getpid()}").open("w+b") as file:
            try:
                file.write(bytes(MEMORY_MB << 20) + bytes(40 << 20))
                file.flush()
                code, _, _ = await env._runner.run(["/bin/sh", "-c", "sleep 2"], stdin=file.fileno())
            finally:
                os.unlink(file.name)
        assert (code, env.limits()["memory"].hits) == (0, 0)

    body(tmp_path)
