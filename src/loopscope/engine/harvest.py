"""Where a rollout ends: everything the agent started is killed, the workspace is frozen and brought out.

Nothing is scored here.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, Protocol, override, runtime_checkable

from harbor.environments.base import BaseEnvironment
from harbor.models.verifier.result import VerifierResult
from harbor.verifier.base import BaseVerifier

from loopscope.records import draft_model
from loopscope.sandbox.errors import TransferTooLarge
from loopscope.sandbox.export import LimitsFile, too_large_mark

WORKSPACE = "loopscope-workspace.tar"
LIMITS = "loopscope-limits.json"
MAX_WORKSPACE_BYTES = 8 << 30
"""Of the tar. Of our sandbox also at most twice what it may hold."""
_REMOTE_TAR = "/tmp/.loopscope-workspace.tar"  # noqa: S108  # inside the sandbox
_KILL_ALL = "for i in 1 2 3 4 5; do kill -9 -1 2>/dev/null; sleep 0.05; done; true"


@runtime_checkable
class Freezable(Protocol):
    """An environment that can stop everything inside and stream a directory out (ours can)."""

    async def freeze(self) -> None:
        """Kill every process inside and see that none is left."""

    def seen(self) -> LimitsFile:
        """What its limits are and saw, and whether it died while somebody used it."""

    async def stream_tar(self, path: str, dest_file: Path, max_bytes: int) -> int:
        """Write a directory as a tar to a host file; bytes written."""


class HarvestVerifier(BaseVerifier):
    """Stands in the verifier's place in a rollout's job: Harbor calls it whenever an agent has ended, however."""

    def __init__(self, *args: Any, workdir: str, file: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._workdir, self._file = workdir, Path(file)

    @override
    async def verify(self) -> VerifierResult:
        try:
            await self._harvest()
        except TransferTooLarge:
            too_large_mark(self._file).touch()
            raise
        return VerifierResult(rewards={})

    async def _harvest(self) -> None:
        partial = self._file.with_suffix(".partial")
        if isinstance(self.environment, Freezable):
            await self._bring_out(self.environment, partial)
        else:
            await _export(self.environment, self._workdir, partial)
        partial.rename(self._file)

    async def _bring_out(self, environment: Freezable, partial: Path) -> None:
        seen = None
        try:
            await environment.freeze()
            seen = environment.seen()  # nothing of the agent's is left that could add to it, and nothing of ours runs
            await environment.stream_tar(self._workdir, partial, MAX_WORKSPACE_BYTES)
        finally:
            try:
                draft_model(self.trial_paths.trial_dir / LIMITS, seen or environment.seen())
            except OSError as error:  # a full disk, say; the workspace is worth more
                self.logger.error("what was seen of the limits could not be kept: %s", error)


async def _export(environment: BaseEnvironment, workdir: str, target: Path) -> None:
    """The same on any of Harbor's environments, by its exec and download alone."""
    await environment.exec(_KILL_ALL, user="root", timeout_sec=60)
    packed = await environment.exec(
        f"tar -cf {_REMOTE_TAR} -C {shlex.quote(workdir)} . && stat -c %s {_REMOTE_TAR}", user="root", timeout_sec=1800
    )
    size = (packed.stdout or "").strip()
    if packed.return_code > 1 or not size.isdecimal():  # 1: a file changed while it was read
        raise RuntimeError(f"the workspace could not be packed: {(packed.stderr or packed.stdout or '')[-500:]}")
    if int(size) > MAX_WORKSPACE_BYTES:
        raise TransferTooLarge(workdir, MAX_WORKSPACE_BYTES)
    await environment.download_file(_REMOTE_TAR, target)
