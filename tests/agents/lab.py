"""A local sandbox around a directory of files, and agents run in it as Harbor runs them."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trajectories import Trajectory
from harbor.models.trial.paths import TrialPaths

from loopscope.models.annotation import ANNOTATION_KEY, StepAnnotation, StepKind
from loopscope.sandbox.environment import LocalEnvironment

TASKS = Path(__file__).parent / "tasks"


@asynccontextmanager
async def sandbox(
    where: Path, source: Path | None = None, more: str = "", storage_mb: int | None = None, **kwargs: Any
) -> AsyncIterator[BaseEnvironment]:
    """A sandbox whose work dir holds the files of `source`; `more` goes into its Dockerfile."""
    context = where / "environment"
    shutil.copytree(source, context / "files") if source else (context / "files").mkdir(parents=True)
    (context / "Dockerfile").write_text(f"FROM debian:12\nWORKDIR /app\nCOPY files/ /app/\n{more}")
    paths = TrialPaths(where / "trial")
    paths.mkdir()
    if Path("/usr/bin/python3").exists():
        kwargs.setdefault("python_packages", ())
    environment = LocalEnvironment(
        context, "task", "task__1__env", paths, EnvironmentConfig(storage_mb=storage_mb), **kwargs
    )
    await environment.start(force_build=False)
    try:
        yield environment
    finally:
        await environment.stop(delete=True)


async def run_agent(
    agent: BaseAgent, environment: BaseEnvironment, instruction: str = "", limit_sec: float | None = None
) -> AgentContext:
    """Run an agent under Harbor's kind of deadline; what it reported, also when it was cancelled."""
    context = AgentContext()
    await agent.setup(environment)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(agent.run(instruction, environment, context), limit_sec)
    return context


async def sh(environment: BaseEnvironment, command: str) -> str:
    """Standard output of a command that must succeed."""
    result = await environment.exec(command)
    assert result.return_code == 0, (command, result.stdout, result.stderr)
    return result.stdout or ""


def in_loop[T](body: Callable[[], Awaitable[T]]) -> T:
    """Run an async test body."""

    async def go() -> T:
        return await body()

    return asyncio.run(go())


def logs_dir(where: Path) -> Path:
    """Where an agent of this test writes its logs."""
    return where / "trial" / "agent"


def transcript(where: Path) -> Trajectory:
    """The agent's transcript, validated by Harbor."""
    return Trajectory.model_validate_json((logs_dir(where) / "trajectory.json").read_bytes())


def annotations(trajectory: Trajectory, *kinds: StepKind) -> list[StepAnnotation]:
    """Annotations of the agent's steps, of these kinds or of all."""
    found = [StepAnnotation.model_validate(s.extra[ANNOTATION_KEY]) for s in trajectory.steps if s.extra]
    return [a for a in found if not kinds or a.kind in kinds]
