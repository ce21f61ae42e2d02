"""One lock for the machine: what measures time runs alone, everything else shares.

Two files: `turn` is passed through by all and held by a waiting exclusive owner, so that newcomers queue behind
it instead of starving it; `run` is the lock itself. Locks end with their process.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

_POLL_SEC = 0.02


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


async def _acquire(fd: int, kind: int) -> None:
    while True:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(_POLL_SEC)
        else:
            return


@asynccontextmanager
async def machine(*, alone: bool) -> AsyncIterator[None]:
    """Hold the machine: `alone` against every other holder, else shared. Cancellable while waiting."""
    turn, run = _open("turn"), -1
    try:
        run = _open("run")
        kind = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
        await _acquire(turn, kind)
        await _acquire(run, kind)
        fcntl.flock(turn, fcntl.LOCK_UN)
        yield
    finally:
        for fd in (turn, run):
            if fd >= 0:
                os.close(fd)
