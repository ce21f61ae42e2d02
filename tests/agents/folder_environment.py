"""A thin Harbor environment for agent tests: each command in a bubblewrap of its own around a temporary directory."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

_PRIVATE = ("app", "tests", "logs", "solution", "tmp", "data")


class FolderEnvironment(BaseEnvironment):
    """The files of `source` in /app of a sandbox whose /app, /tests, /logs, /solution and /tmp live under `root`."""

    def __init__(self, root: Path, source: Path | None = None) -> None:
        self.root = root
        for name in _PRIVATE:
            (root / name).mkdir(parents=True, exist_ok=True)
        (root / "logs" / "agent").mkdir(exist_ok=True)
        if source:
            shutil.copytree(source, root / "app", dirs_exist_ok=True)
        trial_paths = TrialPaths(root / "trial")
        trial_paths.mkdir()
        super().__init__(root, "folder", "folder", trial_paths, EnvironmentConfig())

    @property
    def app(self) -> Path:
        return self.root / "app"

    @staticmethod
    def type() -> str:
        return "folder"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        return

    async def start(self, force_build: bool) -> None:
        return

    async def stop(self, delete: bool) -> None:
        return

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        argv = ["bwrap", "--unshare-pid", "--unshare-net", "--die-with-parent", "--proc", "/proc", "--dev", "/dev"]
        for name in ("usr", "bin", "lib", "lib64", "sbin", "etc"):
            argv += ["--ro-bind-try", f"/{name}", f"/{name}"]
        for name in _PRIVATE:
            argv += ["--bind", str(self.root / name), f"/{name}"]
        variables = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", **(self._merge_env(env) or {})}
        argv += ["--clearenv", *(part for key, value in variables.items() for part in ("--setenv", key, value))]
        argv += ["--chdir", cwd or "/app", "bash", "-c", command]
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(timeout_sec):
                out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return ExecResult(
            stdout=out.decode(errors="replace"),
            stderr=err.decode(errors="replace"),
            return_code=process.returncode or 0,
        )

    def _host(self, path: str) -> Path:
        return self.root / str(path).lstrip("/")

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        self._host(target_path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, self._host(target_path))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._host(target_dir), dirs_exist_ok=True, symlinks=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self._host(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._host(source_dir), target_dir, dirs_exist_ok=True, symlinks=True)


def run_agent(agent: Any, environment: FolderEnvironment, instruction: str, limit_sec: float | None = None) -> Any:
    """Run an agent as Harbor does, with its timeout; the context it left, also after a cancel."""
    from harbor.models.agent.context import AgentContext

    context = AgentContext()

    async def go() -> None:
        await agent.setup(environment)
        await asyncio.wait_for(agent.run(instruction, environment, context), limit_sec)

    with contextlib.suppress(TimeoutError):
        asyncio.run(go())
    return context
