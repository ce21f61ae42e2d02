"""Fills a fresh sandbox by following its plan, and checks that it offers what the task's image would."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loopscope.sandbox import transfer
from loopscope.sandbox.copying import entries
from loopscope.sandbox.dockerfile import CopyStep, DirStep, Plan, RunStep
from loopscope.sandbox.errors import DockerfileError, MissingTools
from loopscope.sandbox.files import Files
from loopscope.sandbox.rootfs import SYSTEM_PATH, private_root
from loopscope.sandbox.runner import Runner

RUN_TIMEOUT_SEC = 600.0
_FIND_MODULES = """
import importlib.util, sys
for name in sys.argv[1:]:
    try:
        found = importlib.util.find_spec(name)
    except ImportError:
        found = None
    if found is None:
        print(name)
"""


def check_tools(plan: Plan, offers_python: bool, path: str = SYSTEM_PATH) -> None:
    """Raise MissingTools for what the image would bring and no directory of `path`, as on the host, has."""
    missing = plan.requirements.missing_tools(path)
    if offers_python:
        missing = {tool: hint for tool, hint in missing.items() if tool not in ("python", "python3")}
    if missing:
        raise MissingTools(missing, str(plan.path))


@dataclass(frozen=True)
class Filler:
    """One plan followed in one sandbox."""

    runner: Runner
    files: Files
    plan: Plan
    ids_of: Callable[[str | int | None], tuple[int, int]]
    """(uid, gid) inside of a user."""
    known_modules: frozenset[str]

    async def fill(self, workdir: str) -> None:
        """Follow every step in order. Raises DockerfileError naming the line, or MissingTools."""
        pending: list[CopyStep] = []
        for step in self.plan.steps:
            if isinstance(step, CopyStep):
                pending.append(step)
                continue
            await self._copy(pending)
            pending = []
            if isinstance(step, DirStep):
                await self._make(step.path, step.line)
            else:
                await self._follow(step)
        await self._copy(pending)
        await self._make(workdir, 0)
        await self._check_modules()

    async def _make(self, path: str, line: int) -> None:
        root = private_root(path)
        if root is not None and root != path:  # the private directories themselves are there
            await self._checked(f"WORKDIR {path}", ["/usr/bin/mkdir", "-p", "--", path], line)

    async def _copy(self, steps: Sequence[CopyStep]) -> None:
        """Consecutive COPYs in one archive: entering the sandbox costs more than a small file."""
        if not steps:
            return
        listed = []
        for step in steps:
            is_dir = not step.into and (private_root(step.dest) == step.dest or await self._is_dir(step.dest))
            user, _, group = (step.owner or "0").partition(":")
            owner = (self.ids_of(user)[0], self.ids_of(group or user)[1])
            listed += list(entries(step, self.plan.path.parent, self.plan.path, owner, is_dir))
        with tempfile.TemporaryFile() as archive:
            await asyncio.to_thread(transfer.pack, listed, archive)
            archive.seek(0)
            await self.files.extract(archive, "/")

    async def _is_dir(self, path: str) -> bool:
        code, _, _ = await self.runner.run(["/usr/bin/test", "-d", path])
        return code == 0

    async def _follow(self, step: RunStep) -> None:
        env = {**self.runner.env, **step.env}
        argv = [*step.shell, step.command]
        user = self.ids_of(step.user)
        await self._checked(f"RUN {step.command[:200]}", argv, step.line, env=env, cwd=step.workdir, user=user)

    async def _checked(self, what: str, argv: Sequence[str], line: int, **how: Any) -> None:
        code, out, err = await self.runner.run(argv, timeout=RUN_TIMEOUT_SEC, **how)
        if code:
            said = (err.strip() or out.strip())[-1000:]
            raise DockerfileError(f"{self.plan.path}:{line}: {what}: exit code {code} in the local sandbox: {said}")

    async def _check_modules(self) -> None:
        wanted = {m: hint for m, hint in self.plan.requirements.modules.items() if m not in self.known_modules}
        if not wanted:
            return
        argv = ["/bin/sh", "-c", 'exec python3 -c "$0" "$@"', _FIND_MODULES, *sorted(wanted)]
        code, out, _ = await self.runner.run(argv, timeout=60, env={**self.runner.env, **self.plan.env})
        if code:
            raise MissingTools({"python3": "Debian: apt-get install python3"}, str(self.plan.path))
        if absent := out.split():
            raise MissingTools({f"python module {name}": wanted[name] for name in absent}, str(self.plan.path))
