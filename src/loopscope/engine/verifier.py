"""The task's own verifier, run by Harbor, read leniently: it always ends in a verdict, never in an exception."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, override

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.models.trial.paths import EnvironmentPaths
from harbor.models.verifier.result import VerifierResult
from harbor.verifier.verifier import DownloadVerifierDirError, RewardFileNotFoundError, Verifier

from loopscope.models import Record, VerificationStatus
from loopscope.models.verdict import MAX_REWARD_FILE, Verdict, read_verdict
from loopscope.records import write_model

VERDICT_FILE = "loopscope-verdict.json"
"""Beside, not inside, the folder that comes out of the sandbox: nothing in there can name or replace it."""
OUTPUT_TAIL = 16 << 10
_WRITES = "f=$(mktemp) && head -c 65536 /dev/zero > $f; code=$?; rm -f $f; exit $code"
"""Fails where there is no room left inside."""
KILLED = "the verifier was killed (signal 9) before it wrote a reward"
"""Reason of an error. Whether the machine killed it or what it ran did, nothing tells."""
_KILLED_CODE = 128 + 9
_SLICE_SEC = 0.25
"""Of a deadline; a standstill costs at most twice as much of it."""


class VerdictFile(Record):
    """What one verification left for the engine."""

    status: VerificationStatus
    verdict_reason: str | None
    reward: str | None
    metrics: dict[str, str]
    output: str
    duration_sec: float


class _Timed:
    """An environment whose test command alone has a deadline: transfers on a busy machine are not its fault."""

    def __init__(self, environment: BaseEnvironment, test_output: str, deadline_sec: float) -> None:
        self._environment, self._test_output, self._deadline_sec = environment, test_output, deadline_sec
        self.timed_out = False
        self.killed = False
        self.duration_sec = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)

    async def exec(self, command: str, **kwargs: Any) -> ExecResult:
        if self._test_output not in command:
            return await self._environment.exec(command, **kwargs)
        started = time.monotonic()
        try:
            result: ExecResult | None = await ended_within(
                self._deadline_sec, self._environment.exec(command, **kwargs)
            )
            if result is None:
                self.timed_out = True
                return ExecResult(return_code=124)
            self.killed = result.return_code == _KILLED_CODE
            return result
        finally:
            self.duration_sec = time.monotonic() - started


async def ended_within[T](seconds: float, work: Coroutine[Any, Any, T]) -> T | None:
    """What `work` gives; None when it takes longer, and then it is cancelled and has ended.

    Time during which this process itself stood still (a full disk, a suspended machine) does not count: a verifier that
    ended meanwhile was in time, and one that did not gets what is left.
    """
    task, left = asyncio.ensure_future(work), seconds
    try:
        while left > 0:
            began, slice_sec = time.monotonic(), min(_SLICE_SEC, left)
            if (await asyncio.wait({task}, timeout=slice_sec))[0]:
                return task.result()
            left -= min(time.monotonic() - began, 2 * slice_sec)
        return None
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


class LenientVerifier(Verifier):
    """Harbor's verifier with a deadline of its own and our reading of the reward files."""

    def __init__(self, *args: Any, timeout_sec: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timeout_sec = timeout_sec

    @override
    def _parse_reward_json(self) -> dict[str, float | int]:
        return {}

    @override
    def _parse_reward_text(self) -> dict[str, float | int]:
        return {}

    @override
    async def verify(self) -> VerifierResult:
        timed = _Timed(self.environment, self.trial_paths.test_stdout_path.name, self._timeout_sec)
        self.environment = timed  # type: ignore[assignment]
        verdict = await self._verdict()
        if timed.timed_out:
            verdict = Verdict(VerificationStatus.TIMEOUT, reason=f"no end within {self._timeout_sec:g} s")
        elif timed.killed and verdict.reward is None:
            verdict = Verdict(VerificationStatus.ERROR, reason=KILLED)
        self._keep(verdict, timed.duration_sec)
        rewards = {name: float(value) for name, value in verdict.metrics.items()}
        return VerifierResult(
            rewards=rewards | ({"reward": float(verdict.reward)} if verdict.reward is not None else {})
        )

    async def _verdict(self) -> Verdict:
        try:
            await super().verify()
        except RewardFileNotFoundError:
            return read_verdict(None, None)
        except DownloadVerifierDirError:
            folder = EnvironmentPaths.for_os(self.environment.os).verifier_dir
            if (await self.environment.exec(f"test -d {folder} && ls {folder}", timeout_sec=60)).return_code == 0:
                if (await self.environment.exec(_WRITES, timeout_sec=60)).return_code == 0:
                    raise  # it is there: the transfer failed, which says nothing of the verifier
                reason = "the verification filled the sandbox's disk, and its logs cannot be brought out"
                return Verdict(VerificationStatus.NO_REWARD, reason=reason)
            reason = "the verifier removed its log directory, or left it unreadable"
            return Verdict(VerificationStatus.NO_REWARD, reason=reason)
        return read_verdict(
            _read(self.trial_paths.reward_json_path, MAX_REWARD_FILE),
            _read(self.trial_paths.reward_text_path, 4096),
        )

    def _keep(self, verdict: Verdict, duration: float) -> None:
        output = _read(self.trial_paths.test_stdout_path, None) or b""
        write_model(
            self.trial_paths.trial_dir / VERDICT_FILE,
            VerdictFile(
                status=verdict.status,
                verdict_reason=verdict.reason,
                reward=None if verdict.reward is None else str(verdict.reward),
                metrics={name: str(value) for name, value in verdict.metrics.items()},
                output=output[-OUTPUT_TAIL:].decode("utf-8", "replace"),
                duration_sec=round(duration, 3),
            ),
        )


def _read(path: Path, limit: int | None) -> bytes | None:
    """A regular file's first `limit` bytes (None: its last OUTPUT_TAIL); None when it is absent or no plain file."""
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        if limit is None:
            file.seek(max(0, path.stat().st_size - OUTPUT_TAIL))
            return file.read(OUTPUT_TAIL)
        return file.read(limit + 1)
