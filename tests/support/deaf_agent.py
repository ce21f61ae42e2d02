"""An agent that does not mind when its sandbox dies: it ends as if all were well."""

from __future__ import annotations

import contextlib
from typing import Any

from harbor.agents.base import BaseAgent
from killing_processes import kill_all
from scripted_agent import IDENTITY

from loopscope.sandbox.errors import SandboxGoneError


class DeafAgent(BaseAgent):
    """Runs `commands`; then bubblewrap is killed `times` times over the life of this process.

    With `asks` it runs another command in the dead sandbox and swallows the error.
    """

    killed = 0

    def __init__(self, *args: Any, commands: list[str], times: int = 1, asks: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._commands, self._times, self._asks = commands, times, asks

    @staticmethod
    def name() -> str:
        return "deaf"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: Any) -> None:
        return

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        for command in self._commands:
            await environment.exec(command, env=IDENTITY)
        if DeafAgent.killed < self._times:
            DeafAgent.killed += 1
            kill_all("bwrap")
        if self._asks:
            with contextlib.suppress(SandboxGoneError):
                await environment.exec("echo more > value.txt")
