"""Whether local sandboxes work on this machine, and if not, what mends it."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from loopscope.sandbox import bwrap
from loopscope.sandbox.box import Box
from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.limits import Asked, Limits
from loopscope.sandbox.rootfs import Scratch
from loopscope.sandbox.runner import Runner

_MEMORY_BYTES, _PIDS, _STORAGE_MB = 256 << 20, 64, 64


@dataclass(frozen=True)
class Probe:
    """The answer to one real start."""

    works: bool
    ids: int
    """Ids that exist inside: 1 for an ordinary user, else a block."""
    message: str
    """One sentence: what was found, or what is wrong and the remedy."""


@asynccontextmanager
async def started() -> AsyncIterator[tuple[Runner, int]]:
    """An empty sandbox that runs under limits as a trial's does, and how many ids exist inside.

    Raises SandboxUnavailableError for what the machine lacks, with the remedy.
    """
    ids = bwrap.choose_ids()
    with tempfile.TemporaryDirectory(prefix="loopscope-probe-") as folder:
        runner = Runner()
        box = Box(runner, Scratch(Path(folder) / "s", (), ids), ids)
        try:
            await box.open(Limits(Asked(_MEMORY_BYTES, _PIDS, 1.0), one_id=ids is None), storage_mb=_STORAGE_MB)
            yield runner, ids[1] if ids else 1
        finally:
            await box.end(delete=True)


async def probe() -> Probe:
    """Start and end an empty sandbox. Never raises for what the machine lacks."""
    try:
        async with started() as (_, count):
            program = bwrap.find_bwrap()
            return Probe(True, count, f"sandboxes work ({program}, {count} id{'s' if count > 1 else ''} inside)")
    except SandboxError as exc:
        return Probe(False, 0, str(exc))
