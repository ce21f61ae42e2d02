"""The places where files go: room, kind of file system, and whether renames and locks really work there."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loopscope.sandbox import toolchain
from loopscope.sandbox.doctor.finding import Area, Check, Finding, Need, State
from loopscope.sandbox.doctor.machine import Machine
from loopscope.sandbox.errors import SandboxError

_RENAME_EXCHANGE = 2
_AT_FDCWD = -100
_GIB = 1 << 30
_NETWORK = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "lustre",
    "glusterfs",
    "fuse.sshfs",
    "fuse.glusterfs",
    "afs",
    "beegfs",
)
_OF_WINDOWS = ("9p", "drvfs", "virtiofs", "vboxsf", "fuse.vmhgfs-fuse")


@dataclass(frozen=True)
class Place:
    """A directory that is written to, and how much of it is wanted."""

    name: str
    path: Path
    bytes_wanted: int
    use: str
    need: Need = Need.ADVISED
    keeps_results: bool = False
    """Whether what is written there must outlive a restart of the machine."""


def place_check(place: Place) -> Check:
    """The check of one directory. A dead network mount hangs only this one."""
    return Check(Area.STORAGE, place.name, lambda machine: _look(machine, place), place.need)


def study_place(path: Path) -> Place:
    """Where a study's results go."""
    return Place("study's place", path, 10 * _GIB, "results", Need.REQUIRED, keeps_results=True)


def temporary_place() -> Place:
    """Where what lasts no longer than a trial goes."""
    return Place("temporary files", Path(tempfile.gettempdir()), 2 * _GIB, "scratch files", Need.REQUIRED)


def look_cache(machine: Machine) -> Iterator[Finding]:
    """The cache: an interpreter and packages for the sandbox are built there."""
    try:
        path = toolchain.cache_root()
    except SandboxError as error:
        yield Finding(
            Area.STORAGE,
            "cache",
            State.MISSING,
            str(error).partition(";")[0],
            cost="no python can be built for the sandbox",
            remedy="name a directory that can be written:",
            commands=("export LOOPSCOPE_CACHE=/path/to/a/directory",),
            need=Need.REQUIRED,
        )
        return
    yield from _look(machine, Place("cache", path, _GIB, "the sandbox's python"))


def file_system(machine: Machine, path: Path) -> tuple[str, frozenset[str]]:
    """Type and options of the mount that holds an absolute path, from mountinfo; `unknown` where that says nothing."""
    best, found = -1, ("unknown", frozenset[str]())
    for line in (machine.text("/proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 6 or len(kind) < 3:
            continue
        point = Path(fields[4].encode().decode("unicode_escape"))
        if path.is_relative_to(point) and len(point.parts) >= best:
            best = len(point.parts)
            found = (kind[0], frozenset([*fields[5].split(","), *kind[2].split(",")]))
    return found


def _look(machine: Machine, place: Place) -> Iterator[Finding]:
    existing = next(p for p in (place.path, *place.path.parents) if p.exists())
    path = existing.resolve()
    kind, options = file_system(machine, path)
    try:
        with tempfile.TemporaryDirectory(prefix=".loopscope-doctor-", dir=path) as folder:
            can = _tries(Path(folder))
    except OSError as error:
        yield _unwritable(machine, place, path, error)
        return
    yield _room(place, path, kind)
    yield from _weaknesses(place, path, kind, options, can)


@dataclass(frozen=True)
class _Abilities:
    exchange: bool
    lock: bool
    skew_sec: float
    """By how much the file system's clock is ahead of ours."""


def _tries(folder: Path) -> _Abilities:
    before = time.time()
    one, other = folder / "one", folder / "other"
    one.mkdir()
    other.mkdir()
    (one / "x").write_text("x")
    stamp, after = (one / "x").stat().st_mtime, time.time()
    skew = stamp - before if stamp < before else max(stamp - after, 0.0)
    return _Abilities(_exchanges(one, other), _locks(folder / "lock"), skew)


def _exchanges(one: Path, other: Path) -> bool:
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    done = rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0
    return bool(done and (other / "x").exists() and not (one / "x").exists())


def _locks(file: Path) -> bool:
    """Whether a lock that is held keeps out who asks for it by another opening of the file."""
    with file.open("w") as first, file.open("w") as second:
        try:
            fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno in (errno.EWOULDBLOCK, errno.EACCES)
    return False


def _unwritable(machine: Machine, place: Place, path: Path, error: OSError) -> Finding:
    command = {
        "study's place": "loopscope run STUDY --out /path/to/a/directory",
        "temporary files": "export TMPDIR=/path/to/a/directory",
        "cache": "export LOOPSCOPE_CACHE=/path/to/a/directory",
    }[place.name]
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return Finding(
        Area.STORAGE,
        place.name,
        State.MISSING,
        f"{path}: {error.strerror or error}",
        cost=f"{place.use} cannot be written",
        remedy="make room, or name another directory:" if full else "name a directory that this user can write:",
        commands=(command,),
        need=place.need,
    )


def _room(place: Place, path: Path, kind: str) -> Finding:
    found = os.statvfs(path)
    free, inodes = found.f_bavail * found.f_frsize, found.f_favail
    share = f"{free / _GIB:.1f} GiB free"
    counted = f", {_count(inodes)} files more" if found.f_files else ""
    fact = f"{path} ({kind}): {share}{counted}"
    if free < place.bytes_wanted // 100 or (found.f_files and inodes < 1000):
        state, cost = State.MISSING, "there is no room to begin"
    elif free < place.bytes_wanted:
        state, cost = State.WEAK, f"{place.use} may fill it; {place.bytes_wanted // _GIB} GiB are advised"
    elif found.f_files and inodes < 100_000:
        state, cost = State.WEAK, "many small files may use up the inodes"
    else:
        return Finding(Area.STORAGE, place.name, State.OK, fact, need=place.need)
    remedy = f"make room on the file system of {path}, or name another directory"
    return Finding(Area.STORAGE, place.name, state, fact, cost=cost, remedy=remedy, need=place.need)


def _count(number: int) -> str:
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def _weaknesses(place: Place, path: Path, kind: str, options: frozenset[str], can: _Abilities) -> Iterator[Finding]:
    def weak(what: str, fact: str, cost: str, remedy: str, need: Need = place.need) -> Finding:
        return Finding(Area.STORAGE, f"{place.name}: {what}", State.WEAK, fact, cost=cost, remedy=remedy, need=need)

    elsewhere = "put it on a local file system (ext4, xfs, btrfs)"
    if place.keeps_results and not can.exchange:
        yield weak(
            "renames",
            f"{kind} cannot exchange two names in one step",
            "a kill while a report or a task is replaced can leave it under its temporary name until the next start",
            elsewhere,
            Need.ADVISED,
        )
    if not can.lock:
        yield weak(
            "locks",
            f"{kind}: a second lock on a held file is granted or fails",
            "two engines on one study are not kept apart, nor two builds in one cache",
            elsewhere,
        )
    if abs(can.skew_sec) > 2:
        yield weak(
            "clock",
            f"its times are {abs(can.skew_sec):.0f} s {'ahead of' if can.skew_sec > 0 else 'behind'} this machine's",
            "times of files and of events do not fit together",
            "synchronise the clocks of this machine and of the file server",
        )
    if kind in _NETWORK or kind in _OF_WINDOWS:
        yield weak(
            "file system",
            f"{kind}: over a network" if kind in _NETWORK else f"{kind}: shared by the host's system",
            "slow for many small files; a lost connection stops every trial",
            elsewhere,
            Need.ADVISED,
        )
    if place.keeps_results and kind in ("tmpfs", "ramfs"):
        yield weak(
            "file system", f"{kind}: memory", "everything is lost when the machine stops", elsewhere, Need.ADVISED
        )
    if place.name == "cache" and "noexec" in options:
        yield Finding(
            Area.STORAGE,
            "cache: programs",
            State.MISSING,
            f"{path} is mounted noexec",
            cost="the sandbox's python may not start from there",
            remedy="name a directory on another file system:",
            commands=("export LOOPSCOPE_CACHE=/path/to/a/directory",),
        )
