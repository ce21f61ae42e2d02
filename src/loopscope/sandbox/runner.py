"""Runs programs inside a sandbox: pipes, bounded output, deadlines."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import IO, Any

from loopscope.sandbox.errors import SandboxError, SandboxGoneError, TransferTooLarge
from loopscope.sandbox.holes import HoleyFile
from loopscope.sandbox.namespace import Command, Process, Sandbox
from loopscope.sandbox.output import BoundedOutput, OnText, pump

TIMED_OUT = 124
_LEFT_OPEN_SEC = 0.25


class Runner:
    """A sandbox that may be replaced by another over the same files, and what is run in it."""

    def __init__(self) -> None:
        self.sandbox: Sandbox | None = None
        self.ended = ""
        """Why the sandbox was ended by us, where that was before anybody asked for it."""
        self.died = ""
        """Why a sandbox was gone while somebody used it; what came of it is not to be trusted, whoever hides it."""
        self.env: dict[str, str] = {}
        """The environment of programs for which none is given."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        user: tuple[int, int] = (0, 0),
        timeout: float | None = None,
        stdin: int | None = None,
        on_out: OnText | None = None,
        on_err: OnText | None = None,
        into: BoundedOutput | None = None,
    ) -> tuple[int, str, str]:
        """(exit code, stdout, stderr) of one program; exit code 124 after the timeout. `into` takes stdout instead.

        However this ends, nothing is left running of a program that has not ended by itself.
        """
        if self.sandbox is None:
            raise SandboxGoneError(self.ended or "the sandbox is not running")
        command = Command(argv, self.env if env is None else env, cwd, *user)
        out, err = BoundedOutput() if into is None else into, BoundedOutput()
        async with self._explained(self.sandbox), _Started(self.sandbox, command, stdin) as (process, fds):
            pumps = [asyncio.create_task(pump(fds[0], out, on_out)), asyncio.create_task(pump(fds[1], err, on_err))]
            try:
                code = await _deadline(process, pumps, timeout)
            finally:
                for task in pumps:
                    task.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
        for task in pumps:
            if not task.cancelled() and (failed := task.exception()) is not None:
                raise failed
        return code, out.text(), err.text()

    @contextlib.asynccontextmanager
    async def _explained(self, sandbox: Sandbox) -> AsyncIterator[None]:
        try:
            yield
        except SandboxGoneError as exc:
            if self.ended or not sandbox.is_closed:
                self.died = self.died or self.ended or str(exc)
            if self.ended:
                raise SandboxGoneError(self.ended) from exc
            raise


class Sink(BoundedOutput):
    """A stream that goes to a new host file, zeros as holes, with a hard cap. `finish` ends it."""

    def __init__(self, out: IO[bytes], label: str, max_bytes: int) -> None:
        super().__init__(keep=0)
        self._out = HoleyFile(out)
        self._label = label
        self._max_bytes = max_bytes

    def add(self, chunk: bytes) -> None:
        """Write the next bytes. Raises TransferTooLarge past the cap."""
        self.total += len(chunk)
        if self.total > self._max_bytes:
            raise TransferTooLarge(self._label, self._max_bytes)
        self._out.write(chunk)

    def finish(self) -> None:
        """Write what is held back; the file is whole then, and has its length."""
        self._out.finish()

    def text(self) -> str:
        """Nothing is kept."""
        return ""


class _Started:
    """A command with its pipes; when the block is left, nothing of it is left running on our account."""

    def __init__(self, sandbox: Sandbox, command: Command, stdin: int | None) -> None:
        self._sandbox = sandbox
        self._command = command
        self._stdin = stdin
        self._process: Process | None = None

    async def __aenter__(self) -> tuple[Process, tuple[int, int]]:
        out_r, out_w = os.pipe2(os.O_CLOEXEC)
        err_r, err_w = os.pipe2(os.O_CLOEXEC)
        null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            stdin = null if self._stdin is None else self._stdin
            self._process = await self._sandbox.spawn(self._command, stdin, out_w, err_w)
        except BaseException:
            os.close(out_r)
            os.close(err_r)
            raise
        finally:
            for fd in (out_w, err_w, null):
                os.close(fd)
        return self._process, (out_r, err_r)

    async def __aexit__(self, *failure: object) -> None:
        if self._process is None:
            return
        try:
            await asyncio.shield(self._process.kill())
        finally:
            self._process.close()


async def _deadline(process: Process, pumps: Sequence[asyncio.Task[None]], timeout: float | None) -> int:
    """The exit code, 124 after the timeout. A pump that fails (a cap was passed) ends the wait at once."""
    ended = asyncio.create_task(process.wait())
    try:
        async with asyncio.timeout(timeout):
            waiting: set[asyncio.Task[Any]] = {ended, *pumps}
            while not ended.done():
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if any(task is not ended and task.exception() for task in done):
                    return 125
            code = ended.result()
    except TimeoutError:
        await process.kill()
        code = TIMED_OUT
    finally:
        ended.cancel()
        with contextlib.suppress(asyncio.CancelledError, SandboxError):
            await ended
    # A process left in the background may hold the pipes open for ever; what was written so far is there at once.
    await asyncio.wait(pumps, timeout=_LEFT_OPEN_SEC)
    return code
