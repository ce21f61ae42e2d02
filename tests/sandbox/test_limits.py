"""Every limit that is claimed, broken by every means: with control groups, where they can be made, and without."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harbor.models.task.config import EnvironmentConfig
from sandboxes import ROOT, Body, environment, inside, processes, says
from test_lifetime import keepers_of

from loopscope.models import Limit, LimitState
from loopscope.sandbox import cgroup, holding, toolchain
from loopscope.sandbox.environment import LocalEnvironment
from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.keeper import bounds, seccomp

pytestmark = pytest.mark.sandbox

STRENGTHS = ("strongest", "watchdog")
MEMORY_MB = 160
HOGS = {
    "anonymous": "x = bytearray(400 << 20)",
    "many processes": "[os.fork() or (hold(bytearray(20 << 20)), time.sleep(60)) for _ in range(20)]; "
    "os.kill(os.getpid(), os.wait()[1])",
    "memfd": "fd = os.memfd_create('m'); [os.write(fd, b'x' * (1 << 20)) for _ in range(400)]",
    "memfds, many": "[os.write(os.memfd_create('m'), b'x' * (1 << 20)) for _ in range(400)]",
    "mapped memfd, closed": "fd = os.memfd_create('m'); os.ftruncate(fd, 400 << 20); m = mmap.mmap(fd, 400 << 20); "
    "os.close(fd); m.write(bytes(1 << 20) * 400)",
    "shared anonymous": "m = mmap.mmap(-1, 400 << 20); [m.write(b'x' * (1 << 20)) for _ in range(400)]",
    "/dev/shm": "f = open('/dev/shm/f', 'wb'); [f.write(b'x' * (1 << 20)) for _ in range(400)]",
    "deleted in /dev/shm": "f = open('/dev/shm/f', 'wb'); os.unlink('/dev/shm/f'); "
    "[f.write(b'x' * (1 << 20)) for _ in range(400)]",
    "nested tmpfs": "subprocess.run(['unshare', '-rm', 'sh', '-c', 'mount -t tmpfs x /mnt 2>/dev/null || "
    "mount -t tmpfs x /tmp; cd /tmp; dd if=/dev/zero of=f bs=1M count=400 2>/dev/null; sleep 60'])",
}
HOG = "import mmap, os, subprocess, time\nkept = []\nhold = kept.append\n{}\ntime.sleep(60)\nprint('survived')\n"


def limited(strength: str, **kwargs: Any) -> Callable[[Body], Callable[[Path], None]]:
    """A test in a sandbox of MEMORY_MB with a large /dev/shm and a python."""
    config = EnvironmentConfig(memory_mb=MEMORY_MB, cpus=kwargs.pop("cpus", None), storage_mb=256)
    how = {"shm_mb": 1000, "pids_limit": 100, "python_packages": toolchain.DEFAULT_PACKAGES, **kwargs}
    return inside(config=config, limits=strength, **how)


def uses_group(limit: Limit) -> bool:
    return limit.means.startswith("cgroup")


async def survives(env: LocalEnvironment) -> None:
    """The way in works at once or, where what was left fills the limit, after a freeze; the files are there."""
    await env.freeze()
    assert await says(env, "echo alive") == "alive"


@pytest.mark.parametrize("hog", HOGS)
@pytest.mark.parametrize("strength", STRENGTHS)
def test_memory(tmp_path: Path, strength: str, hog: str) -> None:
    @limited(strength)
    async def body(env: LocalEnvironment, where: Path) -> None:
        result = await env.exec(f"python3 - <<'E'\n{HOG.format(HOGS[hog])}E\n", timeout_sec=20)
        assert "survived" not in (result.stdout or "")
        limit = env.limits()["memory"]
        assert limit.state is (LimitState.ENFORCED if uses_group(limit) else LimitState.WATCHED)
        assert limit.value == MEMORY_MB << 20 and limit.hits and limit.peak
        assert result.return_code == 137 or "nested" in hog, result
        if uses_group(limit):
            assert limit.peak <= MEMORY_MB << 20
        else:
            assert limit.peak > MEMORY_MB << 20
        await survives(env)

    body(tmp_path)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_memory_of_system_v_is_limited_or_refused(tmp_path: Path, strength: str) -> None:
    code = """
import ctypes, time
libc = ctypes.CDLL(None, use_errno=True)
size = 400 << 20
semaphores = 0
while semaphores < 200 and libc.semget(0, 32000, 0o1600) >= 0:  # 2 MB of the kernel's memory each
    semaphores += 1
libc.shmat.restype = ctypes.c_void_p
number = libc.shmget(0, ctypes.c_size_t(size), 0o1600)
if number < 0:
    print("refused", ctypes.get_errno(), semaphores)
else:
    ctypes.memset(libc.shmat(number, None, 0), 1, size)
    print("survived")
"""

    @limited(strength)
    async def body(env: LocalEnvironment, where: Path) -> None:
        result = await env.exec(f"python3 - <<'E'\n{code}E\n", timeout_sec=20)
        limit = env.limits()["memory"]
        if uses_group(limit):
            assert result.return_code == 137 and limit.hits and (limit.peak or 0) <= MEMORY_MB << 20
        else:
            assert result.stdout == "refused 38 0\n"
        await survives(env)

    body(tmp_path)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_shared_pages_are_not_counted_twice(tmp_path: Path, strength: str) -> None:
    """A server that forks after loading its data is within its limit."""
    code = "x = bytearray(b'x') * (60 << 20)\nchildren = []\nfor _ in range(5):\n    pid = os.fork()\n"
    code += "    if not pid:\n        time.sleep(1.5)\n        os._exit(0)\n    children.append(pid)\n"
    code += "print([os.waitpid(pid, 0)[1] for pid in children])\n"

    @limited(strength)
    async def body(env: LocalEnvironment, where: Path) -> None:
        assert await says(env, f"python3 - <<'E'\nimport os, time\n{code}E\n") == "[0, 0, 0, 0, 0]"
        limit = env.limits()["memory"]
        assert limit.hits == 0 and (limit.peak or 0) < MEMORY_MB << 20

    body(tmp_path)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_files_in_memory_do_not_shut_the_sandbox_after_a_freeze(tmp_path: Path, strength: str) -> None:
    """What an agent left in a tmpfs still counts in a control group; its work is harvested all the same."""

    @limited(strength, storage="tmpfs")
    async def body(env: LocalEnvironment, where: Path) -> None:
        await env.exec("dd if=/dev/zero of=/app/file bs=1M count=400", timeout_sec=20)
        await env.freeze()
        size = int(await says(env, "stat -c %s /app/file"))
        assert size > 100 << 20
        assert await env.stream_tar("/app", where / "out.tar", 1 << 30) > size
        await env.freeze()
        await says(env, "python3 -c 'bytearray(80 << 20)'")

    body(tmp_path)


SOCKETS = {
    "tcp": """
listener = socket.create_server(("127.0.0.1", 0))
def fill():
    a = socket.create_connection(listener.getsockname())
    b = listener.accept()[0]
    a.setblocking(False)
    hold((a, b))
    while True: a.send(CHUNK)
""",
    "udp": """
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setblocking(False)
def fill():
    into = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    into.bind(("127.0.0.1", 0))
    into.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    hold(into)
    for _ in range(20): out.sendto(CHUNK[:60000], into.getsockname())
""",
    "netlink": """
ctypes.CDLL(None).unshare(0x50000000)
message = struct.pack("=IHHII", 60000, 16, 0, 0, 0) + CHUNK[:60000]
out = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
out.setblocking(False)
def fill():
    into = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    into.bind((0, 0))
    into.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    hold(into)
    for _ in range(20): out.sendto(message, (into.getsockname()[0], 0))
""",
}
SOCKET_HOG = """
import ctypes, errno, resource, socket, struct, time
CHUNK = bytes(1 << 20)
kept = []
hold = kept.append
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
{}
for _ in range(1200):
    try: fill()
    except BlockingIOError: pass
    except OSError as exc:
        if exc.errno not in (errno.ENOBUFS, errno.ENOMEM): raise
print("survived", flush=True)
time.sleep(60)
"""


def unaccounted() -> int:
    """Bytes of the machine's memory in use that no process and no file accounts for: the kernel's own."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    found = {name: int(value) << 10 for name, value, *_ in lines}
    known = ("MemFree:", "Buffers:", "Cached:", "AnonPages:", "SReclaimable:")
    return found["MemTotal:"] - sum(found[name] for name in known)


@pytest.mark.parametrize("sort", SOCKETS)
def test_memory_that_waits_in_sockets(tmp_path: Path, sort: str) -> None:
    """200 MB of netlink, and up to 2 GB of TCP or UDP, are taken without what holds them; it was charged to nobody."""

    @limited("strongest")
    async def body(env: LocalEnvironment, where: Path) -> None:
        if sort != "netlink" and not uses_group(env.limits()["memory"]):
            pytest.skip("only control groups count it")
        if sort == "netlink" and seccomp.missing():
            pytest.skip("no filters of system calls here")
        before = unaccounted()
        code = SOCKET_HOG.format(SOCKETS[sort])
        await says(env, f"cat > /app/hog.py <<'E'\n{code}E\n")
        hog = asyncio.create_task(env.exec("python3 /app/hog.py > /app/said 2>&1", timeout_sec=60))
        try:
            while (await env.exec("grep -q . /app/said")).return_code and not hog.done():
                pass
            assert unaccounted() - before < (MEMORY_MB << 20) * 1.5
            if sort == "netlink":
                assert "Address family not supported" in await says(env, "cat /app/said")
        finally:
            hog.cancel()
            await asyncio.wait([hog])

    body(tmp_path)


FORKS = """
import os, time
born = 0
try:
    for _ in range(300):
        if os.fork() == 0:
            time.sleep(60)
        born += 1
except OSError as exc:
    print("refused", exc.errno, born)
else:
    print("survived")
os.kill(-1, 9)
"""


@pytest.mark.parametrize("strength", STRENGTHS)
def test_number_of_processes(tmp_path: Path, strength: str) -> None:
    @limited(strength)
    async def body(env: LocalEnvironment, where: Path) -> None:
        result = await env.exec(f"python3 - <<'E'\n{FORKS}E\n", timeout_sec=20)
        word, number, born = (result.stdout or "").split()
        assert (word, number) == ("refused", "11") and 50 < int(born) <= 100
        limit = env.limits()["pids"]
        assert limit.value == 100 and (limit.hits or not uses_group(limit))
        await survives(env)

    body(tmp_path)


FILL = """
import os, time
while True:
    try:
        os.fork() or time.sleep(1000)
    except OSError:
        time.sleep(0.001)
"""


@pytest.mark.parametrize("strength", STRENGTHS)
def test_nested_namespaces_do_not_get_around_it(tmp_path: Path, strength: str) -> None:
    @limited(strength)
    async def body(env: LocalEnvironment, where: Path) -> None:
        code = FORKS.replace("os.kill(-1, 9)", "")
        result = await env.exec(f"unshare -r unshare -r python3 - <<'E'\n{code}E\n", timeout_sec=20)
        assert (result.stdout or "").startswith("refused 11"), result
        await survives(env)

    body(tmp_path)


def test_the_watchdog_tells_its_own_processor_time(tmp_path: Path) -> None:

    @limited("watchdog")
    async def body(env: LocalEnvironment, where: Path) -> None:
        await says(env, "for i in 1 2 3 4 5 6 7 8; do sleep 3 & done; wait")
        seen = bounds.read_board(env._box.limits.board)  # type: ignore[union-attr]
        assert seen["ticks"] > 1 and seen["watch_usec"] > 0

    body(tmp_path)


async def is_full(env: LocalEnvironment) -> bool:
    return (await env.exec("true")).return_code != 0


@pytest.mark.parametrize("strength", STRENGTHS)
def test_a_full_sandbox_says_so_and_can_be_left(tmp_path: Path, strength: str) -> None:
    @limited(strength)
    async def body(env: LocalEnvironment, where: Path) -> None:
        filling = asyncio.create_task(env.exec(f"python3 - <<'E'\n{FILL}E\n"))
        while not await is_full(env):
            await asyncio.sleep(0.01)
        result = await env.exec("echo in")
        assert result.return_code and "limit of the sandbox" in (result.stderr or ""), result
        filling.cancel()
        await asyncio.wait([filling])
        await survives(env)

    body(tmp_path)


@pytest.mark.parametrize("strength", STRENGTHS)
def test_fork_bomb(tmp_path: Path, strength: str) -> None:
    @limited(strength)
    async def body(env: LocalEnvironment, where: Path) -> None:
        mark = f"bomb-{os.getpid()}-{strength}"
        bomb = f"b() {{ b | b & }}; exec -a {mark} bash -c 'b() {{ b | b & }}; b; b; sleep 60'"
        result = await env.exec(bomb + " >/dev/null 2>&1", timeout_sec=2)
        assert result.return_code in (124, 137, 254)
        await survives(env)
        assert processes(mark) == []

    body(tmp_path)


@pytest.mark.skipif(not ROOT, reason="an ordinary user's sandbox has one id")
def test_many_ids_do_not_get_around_the_watchdog(tmp_path: Path) -> None:
    code = """
import os, time
for uid in range(1000, 1004):
    if os.fork() == 0:
        os.setuid(uid)
        for _ in range(60):
            if os.fork() == 0:
                time.sleep(60)
        time.sleep(60)
time.sleep(60)
print("survived")
"""

    @limited("watchdog")
    async def body(env: LocalEnvironment, where: Path) -> None:
        result = await env.exec(f"python3 - <<'E'\n{code}E\n", timeout_sec=20)
        assert result.return_code == 137
        limit = env.limits()["pids"]
        assert limit.state is LimitState.WATCHED and limit.hits and (limit.peak or 0) > 100
        await survives(env)

    body(tmp_path)


BUSY = """
import os, time
begin, children = time.monotonic(), []
for _ in range(4):
    pid = os.fork()
    if not pid:
        try:
            os.sched_setaffinity(0, range(64))
        except OSError:
            pass
        while time.monotonic() < begin + 1.5:
            pass
        os._exit(0)
    children.append(pid)
for pid in children:
    os.waitpid(pid, 0)
used = os.times()
print((used.children_user + used.children_system) / (time.monotonic() - begin))
"""


@pytest.mark.parametrize("strength", STRENGTHS)
def test_processors(tmp_path: Path, strength: str) -> None:
    """Processor time is measured, which a busy machine can only lessen."""

    @limited(strength, cpus=0.1)
    async def body(env: LocalEnvironment, where: Path) -> None:
        used = float(await says(env, f"python3 - <<'E'\n{BUSY}E\n"))
        limit = env.limits()["cpu"]
        assert limit.state is LimitState.ENFORCED and limit.value == (100 if uses_group(limit) else 1000)
        assert used < limit.value / 1000 * 1.15 + 0.05
        if uses_group(limit):
            assert limit.hits and limit.peak
        else:
            assert await says(env, "nproc") == "1"
            assert (await env.exec("taskset -p -c 0-63 $$")).return_code != 0
        await env.freeze()
        assert env.limits()["cpu"].peak

    body(tmp_path)


CALLS = """
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    return libc.syscall(number, *args), errno.errorcode.get(ctypes.get_errno())
for family in (40, 38, 17, 31, 44):
    try:
        socket.socket(family, socket.SOCK_DGRAM)
        print("open", family)
    except OSError as exc:
        if exc.errno != errno.EAFNOSUPPORT:
            print("family", family, exc)
for protocol in range(23):
    try:
        socket.socket(16, socket.SOCK_RAW, protocol)
        print("open netlink", protocol)
    except OSError as exc:
        assert exc.errno == errno.EAFNOSUPPORT
for number in NUMBERS:
    if call(number, 0, 0, 0, 0, 0) not in ((-1, "EPERM"), (-1, "ENOSYS")):
        print("call", number, call(number, 0, 0, 0, 0, 0))
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
    socket.socket(family)
socket.socketpair()
"""


@pytest.mark.skipif(bool(seccomp.missing()), reason="no filters of system calls here")
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_calls_that_are_refused(tmp_path: Path, user: str) -> None:
    column = 0 if os.uname().machine == "x86_64" else 1
    refused = ("io_uring_setup", "io_setup", "keyctl", "add_key", "bpf", "perf_event_open", "userfaultfd", "kexec_load")
    numbers = [seccomp._NUMBERS[name][column] for name in refused]
    if not column:
        numbers.append(0x40000000 + 39)  # getpid of x32

    @inside(python_packages=toolchain.DEFAULT_PACKAGES)
    async def body(env: LocalEnvironment, where: Path) -> None:
        code = CALLS.replace("NUMBERS", str(numbers))
        assert await says(env, f"python3 - <<'E'\n{code}E\n", user=user) == ""
        assert await says(env, "grep -h ^Seccomp: /proc/1/status /proc/self/status | uniq") == "Seccomp:\t2"

    body(tmp_path)


@pytest.mark.skipif(bool(seccomp.missing()), reason="no filters of system calls here")
@inside()
async def test_commands_are_born_with_the_filter(env: LocalEnvironment, tmp_path: Path) -> None:
    """None of them takes of the machine's room for filters, which a neighbour may use up while the sandbox stands."""
    mark = f"1000.{os.getpid()}"
    task = asyncio.create_task(env.exec(f"exec sleep {mark}"))
    while not (found := [pid for pid in processes(mark) if Path(f"/proc/{pid}/comm").read_text() == "sleep\n"]):
        assert not task.done(), task.result()
        await asyncio.sleep(0.01)
    filters = []
    pid = found[0]
    for _ in ("command", "reaper", "entrant", "porter", "keeper"):
        status = dict(line.split(":\t") for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        filters.append(status["Seccomp"])
        pid = int(status["PPid"])
    task.cancel()
    await asyncio.wait([task])
    before = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines())["Seccomp"]
    assert filters == ["2"] * 4 + [before]


@inside(python_packages=toolchain.DEFAULT_PACKAGES)
async def test_debugging_works(env: LocalEnvironment, tmp_path: Path) -> None:
    code = """
import ctypes, os, signal, time
libc = ctypes.CDLL(None)
pid = os.fork()
if pid == 0:
    time.sleep(60)
assert libc.ptrace(16, pid, None, None) == 0
assert os.WIFSTOPPED(os.waitpid(pid, 0)[1])
os.kill(pid, signal.SIGKILL)
"""
    await says(env, f"python3 - <<'E'\n{code}E\n")


@inside()
async def test_the_kernel_picks_commands_first(env: LocalEnvironment, tmp_path: Path) -> None:
    assert await says(env, "cat /proc/self/oom_score_adj") == "1000"
    lowered = await says(
        env,
        "echo 500 > /proc/self/oom_score_adj; echo 0 > /proc/self/oom_score_adj 2>/dev/null; cat /proc/self/oom_score_adj",
    )
    may_bar = int(re.findall(r"CapEff:\t(\w+)", Path("/proc/self/status").read_text())[0], 16) >> 24 & 1
    assert int(lowered) == (500 if may_bar else 0)  # CAP_SYS_RESOURCE over the host sets a floor


# -- groups -----------------------------------------------------------------------------------------------------------


def homes() -> list[cgroup.Home]:
    return [home for name in cgroup.CONTROLLERS if isinstance(home := cgroup.find(name), cgroup.Home)]


def groups(engine: int) -> list[Path]:
    return [group for home in homes() for group in home.parent.glob(f"loopscope-{engine}-*")]


needs_groups = pytest.mark.skipif(not homes(), reason="no control groups can be made here")


@needs_groups
def test_groups_live_as_long_as_the_environment(tmp_path: Path) -> None:
    seen: list[list[Path]] = []

    @inside()
    async def body(env: LocalEnvironment, where: Path) -> None:
        seen.append(groups(os.getpid()))
        await env.freeze()
        seen.append(groups(os.getpid()))
        places = [group / "inside" if (group / "inside").is_dir() else group for group in seen[0]]
        members = [(place / "cgroup.procs").read_text().split() for place in places]
        assert all(members)
        assert str(os.getpid()) not in {pid for pids in members for pid in pids}

    body(tmp_path)
    assert seen[0] == seen[1] != []
    assert groups(os.getpid()) == []


@needs_groups
def test_an_agent_cannot_lift_its_limits(tmp_path: Path) -> None:
    """Not by mounting its own groups either, which it may in namespaces of its own."""
    lift = """
        mount -t cgroup2 x /mnt 2>/dev/null || mount -t cgroup -o NAME x /tmp && cd /tmp || cd /mnt
        for f in memory.limit_in_bytes memory.memsw.limit_in_bytes memory.max pids.max cpu.max cpu.cfs_quota_us; do
            find . -name $f -exec sh -c 'for w in -1 max 99999999999; do echo $w > "$0"; done' {} \\;
        done
        find . -name cgroup.procs | head -3"""

    def set_now() -> dict[str, str]:
        names = ("memory.limit_in_bytes", "memory.max", "pids.max", "cpu.max", "cpu.cfs_quota_us")
        found = {group / name for group in groups(os.getpid()) for name in names if (group / name).exists()}
        return {str(path): path.read_text() for path in sorted(found)}

    @limited("strongest", cpus=1)
    async def body(env: LocalEnvironment, where: Path) -> None:
        before = set_now()
        assert len(before) >= 1
        for name in cgroup.CONTROLLERS:
            script = lift.replace("NAME", name)
            told = await env.exec(
                f"cat > /app/lift.sh <<'E'\n{script}\nE\nunshare -rmC sh /app/lift.sh", timeout_sec=20
            )
            print(told)
        assert set_now() == before

    body(tmp_path)


@needs_groups
def test_an_agent_that_freezes_its_group_is_harvested(tmp_path: Path) -> None:
    """An ordinary user's agent owns its group of version 2, and may freeze it unless that is mounted with `nsdelegate`.

    The way in is frozen with it: the deadline holds all the same, and so does what was written before.
    """
    script = """
        echo work > /app/work
        mkdir -p /tmp/groups && mount -t cgroup2 none /tmp/groups && echo 1 > /tmp/groups/cgroup.freeze
        sleep 60"""

    @limited("strongest")
    async def body(env: LocalEnvironment, where: Path) -> None:
        await env.exec(f"cat > /app/freeze.sh <<'E'\n{script}\nE")
        result = await env.exec("unshare -rmC sh /app/freeze.sh", timeout_sec=2)
        assert result.return_code == 124
        await survives(env)
        assert await says(env, "cat /app/work") == "work"

    body(tmp_path)


ENGINE = """
import asyncio, sys
from pathlib import Path
from sandboxes import running
async def main():
    async with running(Path(sys.argv[1])) as env:
        print("up", flush=True)
        await env.exec("(sleep 1000 &) ; sleep 1000")
asyncio.run(main())
"""


@needs_groups
def test_an_engine_that_is_killed_leaves_no_group(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", ENGINE, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=Path(__file__).parent) as engine:
        assert engine.stdout is not None and engine.stdout.readline() == b"up\n"
        assert groups(engine.pid)
        engine.send_signal(signal.SIGKILL)
        engine.wait(timeout=30)
    tries = 20_000
    while groups(engine.pid) and tries:
        os.sched_yield()
        tries -= 1
    assert groups(engine.pid) == []


@needs_groups
def test_groups_go_where_only_the_engine_is_left(tmp_path: Path) -> None:
    """With hub and keeper killed, what is inside dies by itself, a moment later."""

    @inside()
    async def body(env: LocalEnvironment, where: Path) -> None:
        assert groups(os.getpid())
        for pid in keepers_of(os.getpid()):
            os.kill(pid, signal.SIGKILL)
        await env.stop(delete=True)
        assert groups(os.getpid()) == []

    body(tmp_path)


@needs_groups
def test_groups_of_dead_engines_are_swept_and_no_others() -> None:
    home = homes()[0]
    dead, other = home.parent / "loopscope-999999999-1-abcd", home.parent / "loopscope-of-somebody"
    mine = home.parent / cgroup.new_name()
    for group in (dead, other, mine):
        group.mkdir()
    try:
        cgroup.sweep(home.parent)
        assert [group.exists() for group in (dead, other, mine)] == [False, True, True]
    finally:
        for group in (dead, other, mine):
            cgroup.remove(group)


# -- what is said -----------------------------------------------------------------------------------------------------


def test_survey_names_each_resource_once() -> None:
    facts = holding.survey()
    assert [fact.resource for fact in facts] == ["network", "cpu", "memory", "pids", "disk", "seccomp"]
    assert all(fact.means or fact.why for fact in facts)
    assert facts == holding.survey()


def test_none_is_said_to_be_absent(tmp_path: Path) -> None:
    @inside(limits="none")
    async def body(env: LocalEnvironment, where: Path) -> None:
        assert {env.limits()[name].state for name in ("cpu", "memory", "pids")} == {LimitState.ABSENT}

    body(tmp_path)


def test_what_was_seen_is_told_after_the_end(tmp_path: Path) -> None:
    async def go() -> dict[str, Limit]:
        env = environment(tmp_path)
        await env.start(force_build=False)
        await says(env, "true")
        await env.stop(delete=True)
        return env.limits()

    told = asyncio.run(go())
    assert told["memory"].peak and told["memory"].hits == 0 and told["pids"].state is not LimitState.ABSENT


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="pids_limit: 2 does not fit"):
        environment(tmp_path, pids_limit=2)
