"""What is brought out of a sandbox at its stop, before its file system is gone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from loopscope.sandbox.box import Box
from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.storage import Kind

if TYPE_CHECKING:
    from loopscope.sandbox.environment import LocalEnvironment


async def keep_files(env: LocalEnvironment, box: Box) -> None:
    """Copy the writable directories to the host, where they lie in a file system that ends with the sandbox."""
    if box.storage is None or box.storage.kind is Kind.DIRECTORY:
        return
    await env.freeze()
    for inside, place in zip(box.scratch.private, box.scratch.places, strict=True):
        try:
            await env.download_dir(inside, place)
        except (SandboxError, OSError) as exc:
            env.logger.error("%s could not be kept: %s", inside, exc)


async def export(env: LocalEnvironment, wanted: Mapping[str, str]) -> None:
    """Bring a directory out before it is gone, unless somebody did: whatever failed in between, it is not lost.

    Args:
        env: the sandbox; nothing runs in it afterwards.
        wanted: `export_on_stop` of `LocalEnvironment`.
    """
    target = Path(wanted["file"])
    if target.exists() or target.with_suffix(".too-large").exists():
        return
    partial = target.with_suffix(".export")
    try:
        await env.freeze()
        if place := wanted.get("limits"):
            found = {name: limit.model_dump(mode="json") for name, limit in env.limits().items()}
            Path(place).write_text(json.dumps({"limits": found}))
        await env.stream_tar(wanted["path"], partial, int(wanted["max_bytes"]))
        partial.rename(target)
    except (SandboxError, OSError) as exc:
        env.logger.error("%s could not be brought out: %s", wanted["path"], exc)
        partial.unlink(missing_ok=True)
