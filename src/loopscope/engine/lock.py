"""One lock for the machine: what measures time runs alone, everything else shares.

Two files: `turn` is passed through by all and held by a waiting exclusive owner, so that newcomers queue behind
it instead of starving it; `run` is the lock itself. Locks end with their process.

They are common to all users, so whoever can open the files can hold them, and nothing here takes them away: who waits
long is told for whom.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

_POLL_SEC = 0.02
PATIENCE_SEC = 60.0
"""After so long a wait for another process it is named, once."""

Tell = Callable[[str], None]


def nobody(_: str) -> None:
    """Tell it to nobody."""


def lock_dir() -> Path:
    """Directory of the lock files, common to all users; `LOOPSCOPE_LOCK_DIR` moves it (tests, containers)."""
    chosen = os.environ.get("LOOPSCOPE_LOCK_DIR")
    candidates = [Path(chosen)] if chosen else [Path("/run/lock"), Path(tempfile.gettempdir())]
    for folder in candidates:
        if folder.is_dir() and os.access(folder, os.W_OK):
            return folder
    raise OSError(f"no writable directory for the machine-wide lock among {[str(c) for c in candidates]}")


def _open(name: str) -> int:
    path = lock_dir() / f"loopscope-{name}.lock"
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        fd = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o444)
        os.fchmod(fd, 0o444)  # whatever the umask: the lock is everybody's
    return fd


def holders(fd: int) -> list[str]:
    """Who but this process holds a lock on an open file, as this user sees them: `process 12 of bob: loopscope run`."""
    inode, found = os.fstat(fd).st_ino, dict[int, str]()
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:  # not every kernel shows them, and nobody's wait ends for that
        return []
    for line in lines:
        fields = line.split()  # 1: FLOCK ADVISORY READ 12 fd:00:34 0 EOF; those that wait have `->` second
        if len(fields) == 8 and fields[1] == "FLOCK" and fields[5].endswith(f":{inode}"):
            found[int(fields[4])] = _process(int(fields[4]))
    found.pop(os.getpid(), None)
    return list(found.values())


def _process(pid: int) -> str:
    place = Path(f"/proc/{pid}")
    try:
        command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        owner = place.owner()
    except (OSError, KeyError):  # it ended, or is of another namespace
        return f"process {pid}"
    return f"process {pid} of {owner}: {command[:100]}"


async def _acquire(fd: int, kind: int, tell: Tell) -> None:
    since: float | None = asyncio.get_running_loop().time()
    while True:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if since is not None and asyncio.get_running_loop().time() - since >= PATIENCE_SEC:
                since = None
                if others := holders(fd):
                    tell(f"waiting for the machine, which is held by {'; '.join(others)} (lock files: {lock_dir()})")
            await asyncio.sleep(_POLL_SEC)
        else:
            return


@asynccontextmanager
async def machine(*, alone: bool, tell: Tell = nobody) -> AsyncIterator[None]:
    """Hold the machine: `alone` against every other holder, else shared. Cancellable while waiting.

    `tell` is called with one line when another process makes this wait long.
    """
    turn, run = _open("turn"), -1
    try:
        run = _open("run")
        kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
        await _acquire(turn, kind, tell)
        await _acquire(run, kind, tell)
        fcntl.flock(turn, fcntl.LOCK_UN)
        yield
    finally:
        for fd in (turn, run):
            if fd >= 0:
                os.close(fd)
