"""An agent whose every commit is the same on every day, and which says on the host when it begins."""

from __future__ import annotations

import os
import re
from typing import Any

from harbor.agents.base import BaseAgent

LEDGER = "KILLING_LEDGER"
"""Names the file to which each beginning of a rollout adds the rollout's id."""
_RUN_ID = re.compile(r"/\.tmp-[0-9a-f]+-([^/]+__s\d+)/")
_START = "git init -q -b main && git add -A && git commit -qm 'initial commit'"


class SteadyAgent(BaseAgent):
    """Commits each of `values` as `value.txt`, an hour apart by its own account."""

    def __init__(self, *args: Any, values: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._values = values

    @staticmethod
    def name() -> str:
        return "steady"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: Any) -> None:
        return

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        if ledger := os.environ.get(LEDGER):
            found = _RUN_ID.search(str(self.logs_dir))
            with open(ledger, "a") as file:
                file.write(f"{found[1] if found else self.logs_dir}\n")
        rounds = [
            f"echo {value} > value.txt && git commit -qam 'round {number}: change=value hypothesis=more'"
            for number, value in enumerate(self._values, 1)
        ]
        for hour, command in enumerate([_START, *rounds]):
            when = f"2026-01-01T{hour:02}:00:00+00:00"
            done = await environment.exec(
                f": killing-agent; {command}",
                env={
                    "GIT_AUTHOR_NAME": "a",
                    "GIT_AUTHOR_EMAIL": "a@b",
                    "GIT_COMMITTER_NAME": "a",
                    "GIT_COMMITTER_EMAIL": "a@b",
                    "GIT_AUTHOR_DATE": when,
                    "GIT_COMMITTER_DATE": when,
                },
            )
            (self.logs_dir / "codes.txt").open("a").write(f"{done.return_code}\n")
