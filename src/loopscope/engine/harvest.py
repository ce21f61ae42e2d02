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

from loopscope.models import Limit, Record
from loopscope.records import draft_model

WORKSPACE = "loopscope-workspace.tar"
LIMITS = "loopscope-limits.json"
TOO_LARGE = ".too-large"
"""Suffix of an empty file in the workspace's place: it holds more than MAX_WORKSPACE_BYTES."""
MAX_WORKSPACE_BYTES = 8 << 30
_REMOTE_TAR = "/tmp/.loopscope-workspace.tar"  # noqa: S108  # inside the sandbox
_KILL_ALL = "for i in 1 2 3 4 5; do kill -9 -1 2>/dev/null; sleep 0.05; done; true"


class TransferTooLarge(Exception):
    """As our sandbox's error of that name, for other environments."""


class LimitsFile(Record):
    """Limits of the sandbox that a rollout ran in."""

    limits: dict[str, Limit]


@runtime_checkable
class Freezable(Protocol):
    """An environment that can stop everything inside and stream a directory out (ours can)."""

    async def freeze(self) -> None:
        """Kill every process inside and see that none is left."""

    def limits(self) -> dict[str, Limit]:
        """What is enforced, watched or absent."""

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
        except Exception as error:
            if type(error).__name__ == "TransferTooLarge":
                self._file.with_suffix(TOO_LARGE).touch()
            raise
        return VerifierResult(rewards={})

    async def _harvest(self) -> None:
        partial = self._file.with_suffix(".partial")
        if isinstance(self.environment, Freezable):
            try:
                await self.environment.freeze()
            finally:  # only now nothing of the agent's is left that could add to what was seen
                draft_model(self.trial_paths.trial_dir / LIMITS, LimitsFile(limits=self.environment.limits()))
            await self.environment.stream_tar(self._workdir, partial, MAX_WORKSPACE_BYTES)
        else:
            await _export(self.environment, self._workdir, partial)
        partial.rename(self._file)


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
        raise TransferTooLarge(f"the workspace holds {size} bytes, more than {MAX_WORKSPACE_BYTES}")
    await environment.download_file(_REMOTE_TAR, target)
