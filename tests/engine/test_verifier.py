"""The verifier's deadline: the test command's alone."""

from __future__ import annotations

import asyncio
import os
import threading
import time

import pytest
from harbor.environments.base import ExecResult

from loopscope.engine.verifier import _Timed, ended_within


class Slow:
    """An environment whose commands never end, or raise."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    async def exec(self, command: str) -> ExecResult:
        if self.error:
            raise self.error
        if "test-stdout.txt" in command:
            await asyncio.Event().wait()
        return ExecResult(return_code=0)


def test_only_the_test_command_is_stopped():
    timed = _Timed(Slow(), "test-stdout.txt", 0.05)  # type: ignore[arg-type]
    assert asyncio.run(timed.exec("mkdir x")).return_code == 0
    assert not timed.timed_out
    assert asyncio.run(timed.exec("bash /tests/test.sh > test-stdout.txt")).return_code == 124
    assert timed.timed_out


def test_a_timeout_of_the_environments_own_is_its_failure():
    timed = _Timed(Slow(TimeoutError("transport")), "test-stdout.txt", 60)  # type: ignore[arg-type]
    with pytest.raises(TimeoutError, match="transport"):
        asyncio.run(timed.exec("bash /tests/test.sh > test-stdout.txt"))
    assert not timed.timed_out


def test_a_standstill_of_the_engine_is_no_time_of_the_verifiers():
    """The verifier ends while the event loop is blocked for longer than the deadline."""

    async def verifier() -> str:
        read, write = os.pipe()
        threading.Timer(0.05, os.write, (write, b"x")).start()
        ready = asyncio.Event()
        asyncio.get_running_loop().add_reader(read, ready.set)
        asyncio.get_running_loop().call_soon(time.sleep, 0.6)  # what blocks
        try:
            await ready.wait()
            for _ in range(20):  # and its end takes its way through some more steps of the loop
                await asyncio.sleep(0)
            return "ended"
        finally:
            asyncio.get_running_loop().remove_reader(read)
            os.close(read)
            os.close(write)

    assert asyncio.run(ended_within(0.55, verifier())) == "ended"


def test_what_is_stopped_has_ended_and_a_cancellation_passes_on():
    ended = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    async def cancelled() -> None:
        task = asyncio.create_task(ended_within(60, endless()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert asyncio.run(ended_within(0.01, endless())) is None
    asyncio.run(cancelled())
    assert ended == [True, True]
