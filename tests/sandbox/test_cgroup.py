"""Where groups can be made: from what the kernel says, and on a real hierarchy of version 2 where one is mounted."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sandboxes import ROOT

from loopscope.sandbox import cgroup, groupfiles

HYBRID = """\
30 23 0:26 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:10 - cgroup2 cgroup2 rw,nsdelegate
32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:11 - cgroup cgroup rw,cpu,cpuacct
33 30 0:29 /box /sys/fs/cgroup/memory rw,nosuid shared:12 - cgroup cgroup rw,memory
"""
UNIFIED = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"


@pytest.mark.parametrize(
    ("mounts", "membership", "controller", "found"),
    [
        (HYBRID, "3:cpu,cpuacct:/a b\n0::/u\n", "cpu", (1, "/sys/fs/cgroup/cpu,cpuacct/a b")),
        (HYBRID, "3:cpu,cpuacct:/a\n0::/u\n", "cpuacct", (1, "/sys/fs/cgroup/cpu,cpuacct/a")),
        (HYBRID, "4:memory:/box/in\n0::/u\n", "memory", (1, "/sys/fs/cgroup/memory/in")),
        (HYBRID, "4:memory:/elsewhere\n0::/u\n", "memory", None),
        (HYBRID, "4:memory:/box\n0::/u\n", "pids", (2, "/sys/fs/cgroup/unified/u")),
        (UNIFIED, "0::/user.slice/x.scope\n", "memory", (2, "/sys/fs/cgroup/user.slice/x.scope")),
        (UNIFIED, "0::/\n", "pids", (2, "/sys/fs/cgroup")),
        (UNIFIED, "0::/../outside\n", "pids", None),
        ("", "0::/\n", "pids", None),
    ],
)
def test_locate(mounts: str, membership: str, controller: str, found: tuple[int, str] | None) -> None:
    at = cgroup.locate(mounts, membership, controller)
    assert (at and (at.version, str(at.own))) == found


TOLD_BY_V2 = {
    "memory.peak": "167772160\n",
    "memory.events": "low 0\nhigh 0\nmax 81\noom 3\noom_kill 2\noom_group_kill 0\n",
    "pids.peak": "100\n",
    "pids.events": "max 7\n",
    "cpu.stat": "usage_usec 153021\nuser_usec 1\nsystem_usec 2\nnr_periods 16\nnr_throttled 14\nthrottled_usec 5\n",
}


def test_what_version_2_tells(tmp_path: Path) -> None:
    """The greatest use has no file before Linux 5.19 (memory) and 6.1 (processes): then it is missing, not 0."""
    homes = {name: cgroup.Home(name, 2, tmp_path) for name in ("memory", "pids", "cpu")}
    assert [groupfiles.seen(home, tmp_path) for home in homes.values()] == [groupfiles.Seen()] * 3
    for name, text in TOLD_BY_V2.items():
        (tmp_path / name).write_text(text)
    seen = {name: groupfiles.seen(home, tmp_path) for name, home in homes.items()}
    assert seen == {
        "memory": groupfiles.Seen(160 << 20, 2),
        "pids": groupfiles.Seen(100, 7),
        "cpu": groupfiles.Seen(153_021, 14),
    }
    (tmp_path / "memory.peak").unlink()
    assert groupfiles.seen(homes["memory"], tmp_path) == groupfiles.Seen(None, 2)


@pytest.mark.parametrize(("milli", "weight"), [(100, 1), (1000, 1), (4000, 4), (500_000, 100)])
def test_a_group_weighs_as_much_as_its_processors(milli: int, weight: int) -> None:
    """Beside a lone process, which weighs 100 on version 2 (the most is 10,000) and 1,024 on version 1."""
    told = [{name: text for name, text, _ in groupfiles.settings(cgroup.Home("cpu", version, Path("/")), milli)}
            for version in (1, 2)]  # fmt: skip
    assert told[0]["cpu.shares"] == str(1024 * max(1, milli // 1000))
    assert told[1] == {"cpu.max": f"{milli * 100} 100000", "cpu.weight": str(100 * weight)}


def unified() -> Path | None:
    at = cgroup.locate(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text(), "none-such")
    return at.own if at is not None and at.version == 2 and os.access(at.own, os.W_OK) else None


def spare() -> str | None:
    """A controller of version 2 that is free to be handed on, if need be one that we have no use for."""
    own = unified()
    names = (own / "cgroup.controllers").read_text().split() if own and not (own / "cgroup.type").exists() else []
    return next((name for name in ("pids", "memory", "cpu", "hugetlb", "misc") if name in names), None)


@contextmanager
def delegated(uid: int) -> Iterator[Path]:
    """A group that belongs to `uid` and may hand on the spare controller, as systemd's `Delegate=yes` makes it."""
    own = unified()
    assert own is not None
    switch, was = own / "cgroup.subtree_control", (own / "cgroup.subtree_control").read_text().split()
    switch.write_text(f"+{spare()}")
    group = own / f"scope-{os.getpid()}"
    group.mkdir()
    for name in (".", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
        os.chown(group / name, uid, uid)
    try:
        yield group
    finally:
        for folder in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
            cgroup.remove_soon(folder)
        cgroup.remove_soon(group)
        if spare() not in was:
            switch.write_text(f"-{spare()}")
        assert not group.exists()


ENGINE = """
import os, subprocess, sys
from pathlib import Path
from loopscope.sandbox import cgroup, groupfiles
from loopscope.sandbox.keeper.bounds import Bounds
controller, scope = sys.argv[1], Path(sys.argv[2])
home = cgroup.find(controller)
assert home == cgroup.Home(controller, 2, scope, moves=True), home
cgroup.prepare({controller: home})
assert (scope / "cgroup.procs").read_text() == ""
assert controller in (scope / "cgroup.subtree_control").read_text().split()
again = cgroup.find(controller)
assert again == cgroup.Home(controller, 2, scope), again
group = scope / cgroup.new_name()
place = cgroup.place(home, group)
bounds = Bounds({"groups": [(str(group), groupfiles.CLOSED, str(place))], "nproc": 0, "cpus": [], "filter": b""})
bounds.make_groups()
try:
    (place / "further").mkdir()
except OSError:
    pass
else:
    raise AssertionError("an agent could make groups of its own")
child = os.fork()
if child == 0:
    bounds.join()
    sum(range(3_000_000))
    os._exit(0 if group.name in Path("/proc/self/cgroup").read_text() else 1)
assert os.waitpid(child, 0)[1] == 0
sleeper = subprocess.Popen(["sleep", "1000"])
bounds.move(sleeper.pid)
assert (place / "cgroup.procs").read_text().split() == [str(sleeper.pid)]
assert groupfiles.seen(cgroup.Home("cpu", 2, scope), group).peak > 1000
(place / "cgroup.freeze").write_text("1")
bounds.thaw()
assert (place / "cgroup.freeze").read_text() == "0\\n"
sleeper.kill()
sleeper.wait()
bounds.settle()
if os.getpid() % 2:
    bounds.remove_groups()
else:
    assert cgroup.remove_soon(group)
assert not group.exists()
print("done")
"""
WITH_A_SHELL = "from loopscope.sandbox import cgroup; import sys; print(cgroup.find(sys.argv[1]).why)"


def run_in(group: Path, uid: int, code: str, shell: bool = False) -> subprocess.CompletedProcess[str]:
    """Run python `code` as `uid` in `group`; with `shell`, as the child of a shell that is in the group as well."""
    here = Path(__file__).parent
    argv = [sys.executable, "-c", code, str(spare()), str(group)]
    if uid:
        argv = [sys.executable, str(here / "as_user.py"), str(uid), *argv]
    enter = f"echo $$ > {group}/cgroup.procs && " + ('"$@"; exit $?' if shell else 'exec "$@"')
    return subprocess.run(["sh", "-c", enter, "sh", *argv], capture_output=True, text=True, check=False, cwd=here)


needs_v2 = pytest.mark.skipif(not ROOT or spare() is None, reason="takes root and a root group of version 2")


@needs_v2
@pytest.mark.parametrize("uid", [0, 54_321])
def test_version_2_beneath_a_group_of_our_own(uid: int) -> None:
    with delegated(uid) as group:
        done = run_in(group, uid, ENGINE)
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@needs_v2
@pytest.mark.parametrize("uid", [0, 54_321])
def test_version_2_leaves_a_group_alone_that_holds_others(uid: int) -> None:
    with delegated(uid) as group:
        done = run_in(group, uid, WITH_A_SHELL, shell=True)
        assert "holds other processes" in done.stdout and "a group of its own" in done.stdout, done
        assert (group / "cgroup.subtree_control").read_text().split() == []
    with delegated(12_345) as group:
        done = run_in(group, 54_321, WITH_A_SHELL)
        assert "cannot be written" in done.stdout, done


@pytest.mark.skipif(not ROOT or spare() in (None, "hugetlb", "misc"), reason="no controller of ours on version 2")
def test_version_2_limits() -> None:
    """With the controller itself: what is set is taken by the kernel."""
    name = str(spare())
    with delegated(0) as group:
        home = cgroup.Home(name, 2, group)
        for file, text, must in groupfiles.settings(home, 50 << 20 if name == "memory" else 500):
            if must or (group / file).exists():
                (group / file).write_text(text)
                assert (group / file).read_text().split() == text.split()
        assert groupfiles.seen(home, group).hits == 0


USER = 54_323
IN_A_GROUP = """
import asyncio, sys
from pathlib import Path
from sandboxes import running
async def main():
    async with running(Path(sys.argv[1]), limits=sys.argv[2]) as env:
        done = await env.exec(
            "mkdir -p /tmp/g; unshare -rmC sh -c 'mount -t cgroup2 none /tmp/g && echo 7 > /tmp/g/cgroup.max.depth'"
        )
        assert done.return_code in (0, 1, 2, 32), done
        await env.freeze()
        print((await env.exec("echo ran")).stdout, end="")
asyncio.run(main())
"""


@pytest.fixture
def group_of_version_2() -> Iterator[Path]:
    """A group that belongs to an ordinary user, and nobody is in yet."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    base = next((Path(fields[1]) for fields in mounts if fields[2] == "cgroup2"), None)
    if base is None:
        pytest.skip("no control groups of version 2 here")
    group = base / f"loopscope-test-{os.getpid()}"
    group.mkdir()
    try:
        for place in (group, *group.iterdir()):
            os.chown(place, USER, USER)
        yield group
    finally:
        for leaf in [place for place in group.iterdir() if place.is_dir()]:
            leaf.rmdir()
        group.rmdir()


@pytest.mark.sandbox
@pytest.mark.skipif(not ROOT, reason="a group is made for an ordinary user")
@pytest.mark.parametrize("strength", ["strongest", "watchdog", "none"])
def test_an_ordinary_user_s_agent_does_not_own_the_engine_s_group(group_of_version_2: Path, strength: str) -> None:
    """Also where no group holds anything, and where version 2 is mounted without `nsdelegate`, as it is by hand."""
    deepest = group_of_version_2 / "cgroup.max.depth"
    before = deepest.read_text()
    enter = ["sh", "-c", f'echo $$ > {group_of_version_2}/cgroup.procs; exec "$@"', "sh"]
    with tempfile.TemporaryDirectory(prefix="loopscope-test-") as home:
        os.chown(home, USER, USER)
        as_user = [sys.executable, str(Path(__file__).with_name("as_user.py")), str(USER)]
        argv = [*enter, *as_user, sys.executable, "-c", IN_A_GROUP, home, strength]
        env = {"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": str(Path(__file__).parent)}
        done = subprocess.run(argv, env=env, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "ran\n"
    assert deepest.read_text() == before
