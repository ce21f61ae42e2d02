"""The reference solution as an agent: Harbor's oracle, between two commits."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, override

from harbor.agents.oracle import OracleAgent as HarborOracle
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.trial.paths import TrialPaths

from loopscope.agents.atif import Call, TranscriptWriter
from loopscope.agents.git import COMMIT_FAILED, GIT_ENV, INITIAL_COMMAND, commit_command, sha_of
from loopscope.models.annotation import StepAnnotation, StepKind, StepStatus


class OracleAgent(HarborOracle):
    """Runs `solution/solve.sh`, with one commit before it and one after it where git exists in the sandbox.

    Args:
        logs_dir: Harbor's directory for the agent's logs.
        task_dir: the task, with its `solution/`.
        trial_paths: of the trial; the directory above `logs_dir` when Harbor does not pass them
            (it does so only for its own oracle).
        kwargs: passed on to Harbor's oracle.
    """

    def __init__(
        self, logs_dir: Path, task_dir: Path | str, trial_paths: TrialPaths | None = None, **kwargs: Any
    ) -> None:
        super().__init__(
            logs_dir=logs_dir,
            task_dir=Path(task_dir),
            trial_paths=trial_paths or TrialPaths(Path(logs_dir).parent),
            **kwargs,
        )

    @override
    def version(self) -> str:
        return "1"

    @override
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        transcript = TranscriptWriter(
            self.logs_dir / "trajectory.json", self.name(), self.version(), self.session_id, instruction
        )
        context.n_input_tokens = context.n_cache_tokens = context.n_output_tokens = 0
        context.cost_usd = 0.0
        try:
            has_git = (await environment.exec("command -v git")).return_code == 0
            if has_git:
                await _commit(environment, transcript, INITIAL_COMMAND, 0)
            await self._solve(instruction, environment, context, transcript)
            if has_git:
                message = "round 1: change=reference solution hypothesis=the task's author knows how"
                await _commit(environment, transcript, commit_command(message, ["."]), 1)
            context.metadata = {"git": has_git}
        finally:
            transcript.flush()

    async def _solve(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext, transcript: TranscriptWriter
    ) -> None:
        started = datetime.now(UTC)
        await super().run(instruction, environment, context)
        code_file = self.logs_dir / "exit-code.txt"
        code = int(code_file.read_text()) if code_file.exists() else 0
        status = StepStatus.OK if code == 0 else StepStatus.RUNTIME_FAILURE
        annotation = StepAnnotation(kind=StepKind.EDIT, status=status, round=1)
        arguments = {"command": "bash /solution/solve.sh"}
        transcript.record(Call("bash", arguments, "(output in oracle.txt)", code, started, annotation))


async def _commit(environment: BaseEnvironment, transcript: TranscriptWriter, command: str, number: int) -> None:
    """Commit if git lets us: a repository that the solution broke is a finding, not a reason to lose the run."""
    started = datetime.now(UTC)
    result = await environment.exec(command, env=GIT_ENV)
    output = f"{result.stdout or ''}{result.stderr or ''}"
    sha = None
    if result.return_code == 0:
        sha = sha_of((await environment.exec("git rev-parse HEAD", env=GIT_ENV)).stdout)
    status = StepStatus.OK if sha else COMMIT_FAILED
    annotation = StepAnnotation(kind=StepKind.COMMIT, status=status, commit=sha, round=number)
    transcript.record(Call("bash", {"command": command}, output, result.return_code, started, annotation))
