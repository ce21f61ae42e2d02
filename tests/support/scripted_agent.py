"""An agent that runs given shell commands in the sandbox: what a model might do, without one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.agents.installed import base

IDENTITY = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


class ScriptedAgent(BaseAgent):
    """Runs `commands` one after the other; `fail` raises after them; `keep` logs the length of a variable it was given.

    `refusals`: a file with the messages with which a model's provider turns the next tries away, one a line.
    `provider_error` names an error of Harbor's about a model's provider, which is raised after the commands.
    """

    def __init__(
        self,
        *args: Any,
        commands: list[str],
        fail: str | None = None,
        keep: str | None = None,
        refusals: str | None = None,
        provider_error: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._commands, self._fail, self._keep, self._refusals = commands, fail, keep, refusals
        self._provider_error = provider_error

    @staticmethod
    def name() -> str:
        return "scripted"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: Any) -> None:
        return

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        if self._refusals:
            file = Path(self._refusals)
            message, _, rest = file.read_text().partition("\n")
            if message:
                file.write_text(rest)
                raise base.ApiRateLimitError(message)
        for command in self._commands:
            await environment.exec(command, env=IDENTITY)
        if self._keep:
            (self.logs_dir / "kept.txt").write_text(str(len(self.extra_env[self._keep])))
        if self._provider_error:
            raise getattr(base, self._provider_error)("the provider said so")
        if self._fail:
            raise RuntimeError(os.path.expandvars(self._fail))
