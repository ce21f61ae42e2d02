"""An agent that does one known thing, so that a verifier can be asked about it: for calibration and the audit."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any, override

from harbor.agents.base import BaseAgent
from harbor.agents.oracle import OracleAgent as HarborOracle
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.trial.paths import TrialPaths

from loopscope.agents.replay import check_state

ACTED = "acted.txt"
"""In the agent's logs: exit code and output of the command."""


class ActorAgent(BaseAgent):
    """Solves the task by its own solution, lays files over the work dir, runs a command; each where it is asked for.

    Args:
        logs_dir: Harbor's directory for the agent's logs; the command's exit code and output go there (`ACTED`).
        task_dir: the task.
        workdir: absolute directory in the sandbox, where files are laid and the command runs.
        solve: run `solution/solve.sh` first.
        overlay: path on the host of an uncompressed tar with names relative to the work dir; files get the time of now.
        command: a shell command, run as the agent's user.
        kwargs: passed on to Harbor's base class.
    """

    def __init__(
        self,
        logs_dir: Path,
        task_dir: str | Path,
        workdir: str,
        solve: bool = False,
        overlay: str | Path | None = None,
        command: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(logs_dir=logs_dir, **kwargs)
        self._task_dir, self._workdir = Path(task_dir), workdir
        self._solve, self._command = solve, command
        self._overlay = Path(overlay) if overlay is not None else None

    @staticmethod
    @override
    def name() -> str:
        return "actor"

    @override
    def version(self) -> str:
        return "1"

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        return

    @override
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        if self._solve:
            paths = TrialPaths(Path(self.logs_dir).parent)
            solver = HarborOracle(logs_dir=self.logs_dir, task_dir=self._task_dir, trial_paths=paths)
            await solver.run(instruction, environment, context)
        if self._overlay is not None:
            check_state(self._overlay)
            inside = f"/tmp/.overlay-{uuid.uuid4().hex}.tar"  # noqa: S108 - in the sandbox, whose /tmp is private
            await environment.upload_file(self._overlay, inside)
            unpack = f"tar -xpomf {inside}; code=$?; rm -f {inside}; exit $code"
            result = await environment.exec(unpack, cwd=self._workdir, user="root")
            if result.return_code != 0:
                raise RuntimeError(f"files could not be laid over the work dir: {result.stderr or result.stdout}")
        if self._command is not None:
            result = await environment.exec(self._command, cwd=self._workdir)
            text = f"{result.return_code}\n{result.stdout or ''}{result.stderr or ''}"
            (Path(self.logs_dir) / ACTED).write_text(text, encoding="utf-8", errors="replace")
