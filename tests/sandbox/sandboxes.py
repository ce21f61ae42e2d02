"""A running LocalEnvironment for tests, and what the tests ask of it."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

from loopscope.sandbox.environment import LocalEnvironment

PLAIN = "FROM debian:12\nWORKDIR /app\n"
ROOT = os.geteuid() == 0

Body = Callable[[LocalEnvironment, Path], Awaitable[None]]


def environment(
    where: Path, dockerfile: str = PLAIN, files: dict[str, str] | None = None, **kwargs: Any
) -> LocalEnvironment:
    context = where / "environment"
    context.mkdir(parents=True, exist_ok=True)
    (context / "Dockerfile").write_text(dockerfile)
    for name, text in (files or {}).items():
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        (context / name).write_text(text)
    trial = where / "trial"
    trial.mkdir(exist_ok=True)
    return LocalEnvironment(
        environment_dir=context,
        environment_name="task",
        session_id="task__abc__env",
        trial_paths=TrialPaths(trial),
        task_env_config=kwargs.pop("config", None) or EnvironmentConfig(),
        **{"python_packages": (), **kwargs},
    )


@asynccontextmanager
async def running(where: Path, *args: Any, **kwargs: Any) -> AsyncIterator[LocalEnvironment]:
    env = environment(where, *args, **kwargs)
    await env.start(force_build=False)
    try:
        yield env
    finally:
        await env.stop(delete=True)


def inside(*args: Any, **kwargs: Any) -> Callable[[Body], Callable[[Path], None]]:
    """Turns an async test of (environment, tmp_path) into one that pytest runs, with the sandbox around it."""

    def decorate(body: Body) -> Callable[[Path], None]:
        def test(tmp_path: Path) -> None:
            async def go() -> None:
                async with running(tmp_path, *args, **kwargs) as env:
                    await body(env, tmp_path)

            asyncio.run(go())

        test.__name__, test.__doc__ = body.__name__, body.__doc__
        return test

    return decorate


async def says(sandbox: LocalEnvironment, command: str, **how: Any) -> str:
    """Standard output of a command that must succeed."""
    result = await sandbox.exec(command, **how)
    assert result.return_code == 0, (command, result)
    return (result.stdout or "").strip()


@functools.cache
def marker() -> str:
    """A word to find this test run's processes by."""
    return f"sleep-{os.getpid()}"


def processes(word: str) -> list[int]:
    """Host pids of living processes whose arguments contain `word`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if word.encode() in (entry / "cmdline").read_bytes().split(b"\0") and int(entry.name) != os.getpid():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
