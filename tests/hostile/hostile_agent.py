"""The agent that plays any hostile kind: honest work first, then the kind's script, its claims and its error."""

from __future__ import annotations

import os
from typing import Any

from harbor.agents.base import BaseAgent
from kinds import KINDS, Hostile
from scripted_agent import IDENTITY
from toy_study import START

HONEST = f"{START} && echo 0.3 > value.txt && git commit -qam 'round 1: change=value'"


class HostileAgent(BaseAgent):
    """Plays `kind`; none is honest. The host's own places are told to the script: attackers are assumed to know them."""

    def __init__(self, *args: Any, kind: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._kind = KINDS[kind] if kind else Hostile("honest", "does nothing hostile")

    @staticmethod
    def name() -> str:
        return "hostile\x1b[31m<xss-mark>"

    def version(self) -> str:
        return "1\x1b]0;owned\x07<script>alert('xss-mark')</script>"

    async def setup(self, environment: Any) -> None:
        return

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        host = {key: value for key, value in os.environ.items() if key.startswith("HOST_")}
        told = {**IDENTITY, **host, "HOST_PID": str(os.getpid()), "MARK": os.environ["HOST_MARK"]}
        await environment.exec(HONEST, env=told)
        for key, value in self._kind.claims.items():
            object.__setattr__(context, key, _cycle() if value == "CYCLE" else value)
        if self._kind.script:
            await environment.exec(self._kind.script, env=told)
        if self._kind.raises:
            raise RuntimeError(self._kind.raises)


def _cycle() -> dict[str, Any]:
    deep: list[Any] = []
    for _ in range(3000):
        deep = [deep]
    cycle: dict[str, Any] = {"deep": deep, "object": object()}
    cycle["itself"] = cycle
    return cycle
