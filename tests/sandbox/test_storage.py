"""What a sandbox writes is bounded, by each means; and nothing of it is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from harbor.models.task.config import EnvironmentConfig
from sandboxes import ROOT, environment, running, says
from test_lifetime import keepers_of

from loopscope.models import LimitState
from loopscope.sandbox import storage, storagewatch
from loopscope.sandbox.environment import LocalEnvironment
from loopscope.sandbox.errors import SandboxError, SandboxGoneError, SandboxUnavailableError
from loopscope.sandbox.keeper import storage as helper
from loopscope.sandbox.storage import MIB

pytestmark = pytest.mark.sandbox

BOUNDED = ["loop", "tmpfs"] if ROOT else ["tmpfs"]
SIZE_MB = 64


def small(where: Path, means: str, **kwargs: Any) -> Any:
    return running(where, storage=means, config=EnvironmentConfig(storage_mb=SIZE_MB), **kwargs)


def loop_files() -> list[str]:
    """The files behind loop devices of this host."""
    found = []
    for device in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            found.append(device.read_text().strip())
        except OSError:
            continue
    return found


def assert_nothing_left(where: Path) -> None:
    """No mount, no loop device, no file of the trial at `where`."""
    assert str(where) not in Path("/proc/self/mountinfo").read_text()
    assert not [file for file in loop_files() if str(where) in file]
    trial = where / "trial"
    assert not trial.exists() or list(trial.iterdir()) == []


@pytest.mark.parametrize("means", BOUNDED)
def test_a_full_disk_is_full_inside_only_and_everything_comes_out(tmp_path: Path, means: str) -> None:
    async def go() -> None:
        async with small(tmp_path, means) as env:
            line = env.limits()["disk"]
            assert (line.state, line.value, line.hits) == (LimitState.ENFORCED, SIZE_MB * MIB, 0)
            assert means in (line.means or "")
            await says(env, "echo kept > /app/work; echo 1 > /tmp/a; echo 1 > /logs/agent/b; echo 1 > /root/c")
            for place in ("/app", "/tmp", "/logs/agent", "/root", "/var", "/run", "/home", "/data"):
                filled = await env.exec(f"dd if=/dev/zero of={place}/big bs=1M count=200 2>&1; rm -f /none")
                assert "No space left on device" in (filled.stdout or ""), place
            taken = int(
                await says(
                    env,
                    "du -s --block-size=1 /app /tmp /logs /root /var /run /home /data | awk '{n += $1} END {print n}'",
                )
            )
            assert SIZE_MB * MIB * 3 // 4 < taken <= SIZE_MB * MIB
            assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
            await env.freeze()
            assert await says(env, "cat /app/work") == "kept"
            line = env.limits()["disk"]
            assert SIZE_MB * MIB * 3 // 4 < (line.peak or 0) <= SIZE_MB * MIB and line.hits == 1
            await env.stream_tar("/app", tmp_path / "app.tar", 1 << 30)
            await says(env, "rm /app/big && echo more > /app/more")
            await env.upload_file(tmp_path / "environment" / "Dockerfile", "/app/Dockerfile")
        with tarfile.open(tmp_path / "app.tar") as tar:
            assert {"./work", "./big"} <= set(tar.getnames())
        assert_nothing_left(tmp_path)

    asyncio.run(go())


@pytest.mark.parametrize("means", BOUNDED)
def test_a_million_files_are_refused_early(tmp_path: Path, means: str) -> None:
    async def go() -> None:
        async with small(tmp_path, means) as env:
            refused = await env.exec("cd /app && seq 1000000 | xargs -n 5000 sh -c 'touch \"$@\" || exit 255' sh 2>&1")
            assert refused.return_code and "No space left on device" in (refused.stdout or "")
            assert 1000 < int(await says(env, "ls /app | wc -l")) <= SIZE_MB * MIB >> 14
            assert (await env.exec("mkdir /tmp/one")).return_code != 0
        assert_nothing_left(tmp_path)

    asyncio.run(go())


def test_shared_memory_is_small_fresh_and_bounded_in_files(tmp_path: Path) -> None:
    async def go() -> None:
        async with small(tmp_path, "auto", shm_mb=8) as env:
            assert "No space" in await says(env, "dd if=/dev/zero of=/dev/shm/big bs=1M count=9 2>&1; true")
            assert await says(env, "stat -c %s /dev/shm/big") == str(8 * MIB)
            await says(env, "rm /dev/shm/big")
            made = await says(
                env, "cd /dev/shm; for i in $(seq 5000); do : > $i || break; done 2>/dev/null; ls | wc -l"
            )
            assert 1000 < int(made) <= 4096
            assert await says(env, "stat -c '%a %u' /dev/shm") == "1777 0"
            await env.freeze()
            assert await says(env, "ls -A /dev/shm") == ""
            assert int(await says(env, "stat -f -c %b /dev/shm")) * 4096 == 8 * MIB

        async with running(tmp_path) as env:
            assert await says(env, "df --output=size -k /dev/shm | tail -1") == "65536"

    asyncio.run(go())


@pytest.mark.parametrize("means", BOUNDED)
def test_nothing_else_can_be_written(tmp_path: Path, means: str) -> None:
    """Every mount inside that is not read-only is the bounded file system, /dev/shm, or the kernel's."""

    async def go() -> None:
        async with small(tmp_path, means, private_dirs=["/models", "/opt/thing"]) as env:
            device = await says(env, "stat -c %d /app")
            mounts = await says(env, "cat /proc/self/mountinfo")
            for line in mounts.splitlines():
                left, right = line.split(" - ")
                place, options, kind = left.split()[4], left.split()[5].split(","), right.split()[0]
                if (
                    "rw" in options
                    and kind not in ("proc", "devpts")
                    and place != "/dev/shm"
                    and not place.startswith("/dev/")
                ):
                    assert await says(env, f"stat -c %d {place}") == device, line
                    assert {"nosuid", "nodev"} <= set(options), line
            for place in ("/", "/dev", "/dev/pts", "/sys", "/opt", "/proc", "/etc"):
                assert (await env.exec(f"touch {place}/x || mkdir {place}/y")).return_code != 0, place

    asyncio.run(go())


@pytest.mark.parametrize("means", BOUNDED)
def test_odd_files_are_harmless(tmp_path: Path, means: str) -> None:
    async def go() -> None:
        async with small(tmp_path, means) as env:
            await says(
                env,
                "truncate -s 1T /app/sparse && [ $(du -k /app/sparse | cut -f1) -lt 100 ]"
                if means == "tmpfs"
                else "truncate -s 1G /app/sparse",
            )
            await says(env, "cp /usr/bin/id /app/id && chmod 4755 /app/id && mkfifo /app/pipe && ln /app/id /app/hard")
            assert (await env.exec("mknod /app/disk b 7 0")).return_code != 0
            if ROOT:
                assert await says(env, "/app/id -u", user=1001) == "1001"
            assert (await env.exec("ln /app/id /tmp/across")).return_code != 0
            await says(env, "mkdir -p /tmp/$(printf 'd/%.0s' $(seq 500)) && touch /tmp/$'new\\nline' && chmod 0 /app")

    asyncio.run(go())
    assert_nothing_left(tmp_path)


@pytest.mark.parametrize("means", [*BOUNDED, "directory"])
def test_many_and_deep_files_are_gone_after_a_stop(tmp_path: Path, means: str) -> None:
    make = "cd /app; mkdir a b; for d in a b; do (cd $d; seq 3000 | xargs touch); done; "
    deep = "cd /tmp; for part in 1 2; do mkdir -p $(printf 'd/%.0s' $(seq 1900)); cd -P $(printf 'd/%.0s' $(seq 1900)) || break; done; true"

    async def go() -> None:
        async with running(tmp_path, storage=means, config=EnvironmentConfig(storage_mb=256)) as env:
            await says(env, make + "chmod -R 0 a")
            await env.exec(deep)  # which is past every limit where directories are walked

    asyncio.run(go())
    assert_nothing_left(tmp_path)


def test_two_sandboxes_have_a_bound_each(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()

    async def go() -> None:
        async with small(tmp_path / "a", "auto") as one, small(tmp_path / "b", "auto") as two:
            await one.exec("dd if=/dev/zero of=/app/big bs=1M count=200")
            assert (
                await says(two, "ls -A /app; dd if=/dev/zero of=/app/fits bs=1M count=20 2>/dev/null; ls /app")
                == "fits"
            )
            assert str(tmp_path / "a") not in await says(two, "cat /proc/self/mountinfo") or not ROOT

    asyncio.run(go())


ENGINE = """
import asyncio, sys
from pathlib import Path
from harbor.models.task.config import EnvironmentConfig
from sandboxes import running
async def main():
    async with running(Path(sys.argv[1]), storage=sys.argv[2], config=EnvironmentConfig(storage_mb=64)) as env:
        await env.exec("dd if=/dev/zero of=/app/big bs=1M count=200")
        print("up", flush=True)
        await env.exec("sleep 1000")
asyncio.run(main())
"""


@pytest.mark.parametrize("victim", ["engine", "keepers", "all"])
@pytest.mark.parametrize("means", BOUNDED)
def test_killed_from_outside_no_mount_and_no_image_is_left(tmp_path: Path, means: str, victim: str) -> None:
    argv = [sys.executable, "-c", ENGINE, str(tmp_path), means]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=Path(__file__).parent) as engine:
        assert engine.stdout is not None and engine.stdout.readline() == b"up\n"
        assert means != "loop" or [file for file in loop_files() if str(tmp_path) in file]
        keepers = keepers_of(engine.pid)
        if victim != "engine":
            for pid in keepers:
                os.kill(pid, signal.SIGKILL)
        if victim != "keepers":
            engine.kill()
        engine.wait(timeout=30)
    rounds = 20_000
    while rounds and [file for file in loop_files() if str(tmp_path) in file]:
        os.sched_yield()
        rounds -= 1
    assert not [file for file in loop_files() if str(tmp_path) in file]
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()
    biggest = max((path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()), default=0)
    assert biggest < MIB  # the image never had a name


def test_plain_directories_are_watched(tmp_path: Path) -> None:
    """Who writes past the limit is killed, and once it is quiet the files come out."""

    async def go() -> None:
        async with small(tmp_path, "directory") as env:
            assert env.limits()["disk"].state is LimitState.WATCHED
            hog = "while :; do head -c 8M /dev/zero >> /app/big; done"
            assert (await env.exec(hog, timeout_sec=120)).return_code == 137
            line = env.limits()["disk"]
            assert line.hits and (line.peak or 0) > SIZE_MB * MIB
            await env.freeze()
            assert await env.stream_tar("/app", tmp_path / "app.tar", 1 << 32) > SIZE_MB * MIB

    asyncio.run(go())
    assert_nothing_left(tmp_path)


def test_a_look_that_fails_does_not_end_the_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def go() -> None:
        async with small(tmp_path, "directory") as env:
            asked, failed = storage.ask_storage, asyncio.Event()

            async def fails(*_: Any) -> Any:
                failed.set()
                raise OSError("the helper died")

            monkeypatch.setattr(storage, "ask_storage", fails)
            await asyncio.wait_for(failed.wait(), 30)
            monkeypatch.setattr(storage, "ask_storage", asked)
            hog = "while :; do head -c 8M /dev/zero >> /app/big; done"
            assert (await env.exec(hog, timeout_sec=60)).return_code == 137

    asyncio.run(go())


def test_plain_directories_are_counted_in_files_links_and_depth(tmp_path: Path) -> None:
    async def go() -> None:
        async with small(tmp_path, "directory") as env:
            held = env._box.storage
            assert held is not None
            empty = await held.use()
            await says(
                env,
                "cd /app && mkdir d && head -c 1M /dev/zero > d/a && ln d/a b && truncate -s 1G s && ln -s / l && chmod 0 d",
            )
            found = await held.use()
            assert found.inodes - empty.inodes == 4 and MIB <= found.bytes - empty.bytes < MIB + 64 * 1024
            await env.exec("cd /tmp; mkdir -p $(printf 'd/%.0s' $(seq 600))")  # the watch may be there first
            assert (await held.use()).inodes > held.inodes

    asyncio.run(go())


def test_too_little_room_is_said_before_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "free_bytes", lambda place: 3 << 30)
    asked = environment(tmp_path, storage="loop" if ROOT else "directory", config=EnvironmentConfig(storage_mb=4096))
    with pytest.raises(
        SandboxUnavailableError, match=r"needs 5120 MiB .*, 3072 are free: free 2048 MiB, .*storage: tmpfs"
    ):
        asyncio.run(asked.start(False))
    assert_nothing_left(tmp_path)

    async def go() -> None:
        async with running(tmp_path, storage=asked._storage) as env:  # nobody asked for ten gigabytes
            assert env.limits()["disk"].value == 1 << 30

    asyncio.run(go())


def test_a_host_that_runs_full_ends_the_sandbox_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def go() -> None:
        async with small(tmp_path, "loop" if ROOT else "directory") as env:
            monkeypatch.setattr(storagewatch, "free_bytes", lambda place: 1 << 20)
            with pytest.raises(SandboxGoneError, match="MiB are free at"):
                await env.exec("sleep 1000")
            with pytest.raises(SandboxGoneError, match="MiB are free at"):
                await env.freeze()

    asyncio.run(go())
    assert_nothing_left(tmp_path)


def test_a_means_that_is_none_or_does_not_work_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SandboxError, match=r"floppy.*'loop', 'tmpfs' or 'directory'"):
        asyncio.run(environment(tmp_path, storage="floppy").start(False))
    if not ROOT:
        with pytest.raises(SandboxUnavailableError, match="takes root"):
            asyncio.run(environment(tmp_path, storage="loop").start(False))
        return
    monkeypatch.setenv("LOOPSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("shutil.which", lambda name, **how: None if "mkfs" in name else "/usr/bin/bwrap")
    with pytest.raises(SandboxUnavailableError, match=r"mkfs.ext4 is not installed .*e2fsprogs"):
        asyncio.run(environment(tmp_path, storage="loop").start(False))

    async def go() -> None:
        async with running(tmp_path) as env:
            assert env.limits()["disk"].means == "tmpfs"
            assert env._box.storage is not None and "e2fsprogs" in env._box.storage.refused[0]

    asyncio.run(go())


def test_memory_is_what_a_tmpfs_takes(tmp_path: Path) -> None:
    async def go(means: str) -> tuple[int, int]:
        async with small(tmp_path, means) as env:
            assert env._box.storage is not None
            before = await env._box.storage.memory()
            await says(env, "head -c 10M /dev/zero > /app/x; cd /tmp; seq 1000 | xargs touch")
            return before, await env._box.storage.memory()

    before, after = asyncio.run(go("tmpfs"))
    assert after - before >= 10 * MIB + 1000 * storage.TMPFS_INODE_BYTES
    assert asyncio.run(go("directory")) == (0, 0)
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    assert storage._demand(storage.Kind.TMPFS, 1 << 30, tmp_path) <= half


@pytest.mark.parametrize("means", [*BOUNDED, "directory"])
def test_descriptors_are_given_back(tmp_path: Path, means: str) -> None:
    async def go() -> None:
        counts = []
        for _ in range(3):
            async with small(tmp_path, means) as env:
                await env.freeze()
            counts.append(len(list(Path("/proc/self/fd").iterdir())))
        assert counts[1] == counts[2]

    asyncio.run(go())


def test_no_descriptor_of_the_files_is_open_inside(tmp_path: Path) -> None:
    """A namespace of the host's that a process inside could enter would be a way out."""

    async def go() -> None:
        async with small(tmp_path, "auto") as env:
            look = "for p in /proc/[0-9]*; do ls -l $p/fd 2>/dev/null; done; true"
            seen = await says(env, look)
            assert "mnt:[" not in seen and "user:[" not in seen and ".disk" not in seen

    asyncio.run(go())


def test_removal_flattens_what_is_deep_and_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("stays")
    top = tmp_path / "top"
    at = top
    for _ in range(50):
        at = at / "d"
        at.mkdir(parents=True)
        (at / "f").write_text("x")
        (at / "l").symlink_to(outside)
    (top / ".loopscope-removed-1").write_text("taken")
    helper.remove({"at": [str(top)]}, [])
    assert list(top.iterdir()) == [] and (outside / "file").read_text() == "stays"


def test_stopped_without_delete_the_files_are_copied_out(tmp_path: Path) -> None:
    async def go(means: str) -> None:
        env: LocalEnvironment = environment(tmp_path, storage=means, scratch_dir=tmp_path / means)
        await env.start(False)
        await says(
            env, "mkdir /app/d; echo 1 > /app/d/f; echo 2 > /logs/agent/g; ln -s /etc/shadow /app/l; mkfifo /app/p"
        )
        await env.stop(delete=False)

    for means in [*BOUNDED, "directory"]:
        asyncio.run(go(means))
        assert (tmp_path / means / "app/d/f").read_text() == "1\n"
        assert (tmp_path / means / "logs/agent/g").read_text() == "2\n"


def test_only_an_image_of_ours_is_given_up(tmp_path: Path) -> None:
    for place in (tmp_path, Path("/"), Path("/dev")):
        root = os.open(place, os.O_RDONLY)
        if os.major(os.fstat(root).st_dev) != helper.LOOP_MAJOR:
            with pytest.raises(ValueError, match="not the root"):
                helper.give_up(root)
        os.close(root)


def test_a_limit_reads_as_json(tmp_path: Path) -> None:
    line = storage.Storage(storage.Kind.DIRECTORY, 5, ()).limit()
    assert json.loads(line.model_dump_json())["state"] == "watched" and line.hits == 0
