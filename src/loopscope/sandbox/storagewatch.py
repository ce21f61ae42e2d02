"""Looks at a sandbox's writable files while it runs, and acts where nothing else would: a watchdog."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.storage import MIB, RESERVE_BYTES, Kind, Storage, Use, free_bytes

Act = Callable[[], Awaitable[None]]


@dataclass
class Watch:
    """Looks at a sandbox's storage while it runs: for the peak, for a host that runs full, for directories over."""

    storage: Storage
    host: Path
    """Where the image or the directories lie."""
    kill: Act
    """Kills everything inside but the first process."""
    give_up: Callable[[str], Awaitable[None]]
    """Ends the sandbox, for this reason."""
    interval_sec: float = 1.0
    asking_sec: float = 0.25
    """Between looks at a file system, which knows what it holds: files that are there for long enough to count."""
    _last_hit: Use = field(default=Use(0, 0), init=False)

    async def run(self) -> None:
        """Until cancelled, or the sandbox was given up. A look takes at most a twentieth of the time.

        Directories that are over their limit are no reason to kill again while they do not grow: they are harvested.
        """
        while True:
            begin = time.monotonic()
            try:
                if await self._look():
                    return
            except (OSError, SandboxError):
                pass  # one look failed (a helper was killed, no descriptor was free): the next is due all the same
            pause = self.interval_sec if self.storage.kind is Kind.DIRECTORY else self.asking_sec
            await asyncio.sleep(max(pause, 20 * (time.monotonic() - begin)))

    async def _look(self) -> bool:
        """Look once and act; whether the sandbox was given up."""
        found = await self.storage.use()
        if self.storage.kind is not Kind.TMPFS and free_bytes(self.host) < RESERVE_BYTES // 2:
            await self.give_up(
                f"the sandbox was ended: less than {RESERVE_BYTES // 2 // MIB} MiB are free at {self.host}; "
                "free some, or lower the tasks' `storage_mb`"
            )
            return True
        over = found.bytes > self.storage.bytes or found.inodes > self.storage.inodes
        grown = found.bytes > self._last_hit.bytes or found.inodes > self._last_hit.inodes
        if self.storage.kind is Kind.DIRECTORY and over and grown:
            self.storage.hits += 1
            await self.kill()
            self._last_hit = await self.storage.use()  # it wrote on until it was dead
        return False
