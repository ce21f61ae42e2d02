"""Whether local sandboxes work on this machine, and if not, what mends it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from loopscope.sandbox import bwrap
from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.namespace import Sandbox
from loopscope.sandbox.rootfs import Scratch


@dataclass(frozen=True)
class Probe:
    """The answer to one real start."""

    works: bool
    ids: int
    """Ids that exist inside: 1 for an ordinary user, else a block."""
    message: str
    """One sentence: what was found, or what is wrong and the remedy."""


async def probe() -> Probe:
    """Start and end an empty sandbox. Never raises for what the machine lacks."""
    try:
        program = bwrap.find_bwrap()
    except SandboxError as exc:
        return Probe(False, 0, str(exc))
    ids = bwrap.choose_ids()
    with tempfile.TemporaryDirectory(prefix="loopscope-probe-") as folder:
        scratch = Scratch(Path(folder) / "s", (), ids)
        scratch.create()
        try:
            launch = bwrap.build(scratch.layout(), program, ids, bwrap.staging_point() if ids else "")
            await (await Sandbox.launch(launch)).close()
        except SandboxError as exc:
            return Probe(False, 0, f"no sandbox can be started: {exc}; {bwrap.remedy(str(exc))}")
        finally:
            scratch.remove()
    count = ids[1] if ids else 1
    return Probe(True, count, f"sandboxes work ({program}, {count} id{'s' if count > 1 else ''} inside)")
