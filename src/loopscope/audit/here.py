"""Whether a task can run in this machine's local sandbox, told without starting one: each obstacle with its remedy."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loopscope.sandbox import toolchain
from loopscope.sandbox.dockerfile import Plan, read_dockerfile
from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.mounted import Mounted, path_on_host
from loopscope.sandbox.options import LocalOptions, memory_mb, parse
from loopscope.sandbox.rootfs import SYSTEM_PATH
from loopscope.tasks.intake import Obstacle, ObstacleKind, ToolchainFact, slower_here, static_obstacles
from loopscope.tasks.load import TaskReading


class Here:
    """This machine with the options that its local sandboxes will be given.

    Args:
        kwargs: environment kwargs, as a study file has them.

    Raises:
        SandboxError: one of them makes no sense.
    """

    def __init__(self, kwargs: Mapping[str, Any]) -> None:
        self.options: LocalOptions = parse(kwargs)
        self.tools: tuple[Mounted, ...] = self.options.mounted
        self._path = path_on_host(self.tools)

    def toolchains(self) -> tuple[ToolchainFact, ...]:
        """What of the host is mounted, each with its own word on its version."""
        return tuple(
            ToolchainFact(name=tool.name, source=str(tool.source), inside=tool.inside, version=tool.version())
            for tool in self.tools
        )

    def obstacles(self, reading: TaskReading) -> list[Obstacle]:
        """What keeps the task from running here."""
        found = static_obstacles(reading.directory, reading.info, memory_mb())
        file = reading.directory / "environment" / "Dockerfile"
        where = "environment/Dockerfile"
        if not file.is_file():
            what = "has no Dockerfile; the local sandbox is filled by following it"
            remedy = "write environment/Dockerfile, or use an environment that takes its image"
            return [*found, Obstacle(kind=ObstacleKind.DOCKERFILE, what=what, where=where, remedy=remedy)]
        try:
            plan = read_dockerfile(file, {"PATH": SYSTEM_PATH, "HOME": "/root"})
        except (SandboxError, OSError) as error:
            what = " ".join(str(error).replace(str(file), where).split())[:300]
            remedy = "`environment: docker` builds it"
            return [*found, Obstacle(kind=ObstacleKind.DOCKERFILE, what=what, where=where, remedy=remedy)]
        return [*found, *self._tools(plan, where), *self._modules(plan, where)]

    def notes(self, reading: TaskReading) -> list[str]:
        """What is slower or stricter here than meant."""
        return slower_here(reading.directory, len(os.sched_getaffinity(0)))

    def _tools(self, plan: Plan, where: str) -> Iterator[Obstacle]:
        for tool, hint in sorted(plan.requirements.missing_tools(self._path).items()):
            if self.options.python_packages and tool in ("python", "python3"):
                continue
            remedy = f"{hint}; or mount one: `toolchains: {{{_toolchain_of(tool)}: PATH}}`"
            yield Obstacle(kind=ObstacleKind.TOOLCHAIN, what=f"lacks {tool}", where=where, remedy=remedy)

    def _modules(self, plan: Plan, where: str) -> Iterator[Obstacle]:
        """Modules of which nobody says that they are there. Without packages of ours the system's python decides."""
        packages = self.options.python_packages
        named = {package.split("=")[0].split("[")[0].lower().replace("-", "_") for package in packages}
        installed = _installed(packages)
        for module, hint in sorted(plan.requirements.modules.items()):
            top = module.split(".")[0]
            if (
                not packages
                or top in sys.stdlib_module_names
                or {module.lower(), top.lower()} & named
                or top in installed
            ):
                continue
            yield Obstacle(kind=ObstacleKind.PYTHON, what=f"lacks the Python module {module}", where=where, remedy=hint)


def _toolchain_of(tool: str) -> str:
    return {"cargo": "rust", "rustc": "rust", "javac": "java", "nvcc": "cuda"}.get(tool, tool)


def _installed(packages: tuple[str, ...]) -> set[str]:
    """Modules beside the named packages, as far as the sandbox's python with them is built already."""
    place: Path = toolchain.location(packages)
    return {
        path.name.split(".")[0] for site in (place / "lib").glob("python*/site-packages") for path in site.iterdir()
    }
