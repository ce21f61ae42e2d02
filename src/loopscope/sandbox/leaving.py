"""What is brought out of a sandbox at its stop, before its file system is gone."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from loopscope.sandbox.box import Box
from loopscope.sandbox.errors import SandboxError, TransferTooLarge
from loopscope.sandbox.export import ExportOnStop, LimitsFile, too_large_mark
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


async def export(env: LocalEnvironment, wanted: ExportOnStop) -> None:
    """Bring a directory out before it is gone, unless somebody did: whatever failed in between, it is not lost.

    Args:
        env: the sandbox; nothing runs in it afterwards.
        wanted: what, and where to.
    """
    if wanted.file.exists() or too_large_mark(wanted.file).exists():
        return
    seen = None
    try:
        await env.freeze()
        seen = env.seen()  # before our own tar uses anything
        await _bring_out(env, wanted)
    except (SandboxError, OSError) as exc:
        env.logger.error("%s could not be brought out: %s", wanted.path, exc)
    if wanted.limits is not None:
        _tell(env, seen or env.seen(), wanted.limits)


async def _bring_out(env: LocalEnvironment, wanted: ExportOnStop) -> None:
    partial = wanted.file.with_suffix(".export")
    try:
        await env.stream_tar(wanted.path, partial, wanted.max_bytes)
        partial.rename(wanted.file)
    except TransferTooLarge:
        too_large_mark(wanted.file).touch()
        raise
    finally:
        partial.unlink(missing_ok=True)


def _tell(env: LocalEnvironment, seen: LimitsFile, place: Path) -> None:
    """Write down what was seen of a sandbox. Failing at that (a full disk) is logged, and costs nothing else."""
    try:
        place.write_text(seen.model_dump_json())
    except OSError as exc:
        with contextlib.suppress(OSError):
            place.unlink(missing_ok=True)
        env.logger.error("what was seen of the limits could not be kept: %s", exc)
