"""The verifier's deadline: the test command's alone."""

from __future__ import annotations

import asyncio

import pytest
from harbor.environments.base import ExecResult

from loopscope.engine.verifier import _Timed


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
