"""Whether one study can run on this machine: doctor's rows on its agents, environment, tasks and what they ask for."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harbor.models.task.config import TaskConfig
from pydantic import ValidationError

from loopscope.engine.checks import check_agent, check_for_scoring, check_task, missing_git
from loopscope.engine.needs import rollout_bytes
from loopscope.models import StudySpec
from loopscope.records import StudyError, explain
from loopscope.sandbox import toolchain
from loopscope.sandbox.dockerfile import Plan, read_dockerfile
from loopscope.sandbox.doctor import Area, Finding, Machine, Need, State, machine_memory, processors
from loopscope.sandbox.doctor.distribution import distribution
from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.mounted import from_kwargs, path_on_host
from loopscope.sandbox.requirements import package_of
from loopscope.sandbox.rootfs import SYSTEM_PATH
from loopscope.sandbox.storage import SMALLER_MB
from loopscope.tasks.catalog import resolve
from loopscope.tasks.errors import TaskError
from loopscope.tasks.load import load_task

_NAMED = re.compile(r"python_packages: \[(.+)\]")
"""How a requirement says by which PyPI package a module is brought."""


@dataclass(frozen=True)
class _Asked:
    """What one task asks of the machine, with the study's own settings over the task's."""

    cpus: float
    memory_mb: int | None
    storage_mb: int | None
    gpus: int


def look_agents(file: Path, spec: StudySpec) -> Iterator[Finding]:
    """Every agent can be had, and every variable that it refers to is set."""
    fine = []
    for index, agent in enumerate(spec.agents):
        try:
            check_agent(f"agents.{index}", agent)
            fine.append(agent.label)
        except StudyError as error:
            yield _broken(f"agent {agent.label}", str(error))
    if fine:
        yield Finding(Area.STUDY, "agents", State.OK, ", ".join(fine))
    if warning := missing_git(spec):
        install = distribution(Machine()).install("git")
        yield Finding(Area.STUDY, "git", State.WEAK, warning.partition(";")[0], "steps have no scores", "", install)


def look_environment(file: Path, spec: StudySpec) -> Iterator[Finding]:
    """The environment's own preflight, and the machine-wide lock."""
    try:
        check_for_scoring(file, spec)
    except StudyError as error:
        yield _broken("environment", str(error))
    else:
        yield Finding(Area.STUDY, "environment", State.OK, spec.environment.type)


def _broken(name: str, message: str) -> Finding:
    fact, _, remedy = message.partition("; ")
    cost = "the study is refused"
    return Finding(Area.STUDY, name, State.MISSING, fact, cost=cost, remedy=remedy, need=Need.REQUIRED)


def look_tasks(file: Path, spec: StudySpec) -> Iterator[Finding]:
    """Every task can be read, and its image can be followed with what this machine has."""
    fine = []
    asked: dict[str, _Asked] = {}
    for written in spec.tasks:
        try:
            source = resolve(written, file.parent)
            info = load_task(source.directory, builtin=source.builtin)
            check_task(file, spec, source.directory)
            asked[info.name] = _asked(source.directory, spec, info.gpus)
        except (TaskError, ValidationError, OSError) as error:
            yield _broken(f"task {written}", explain(error) if isinstance(error, ValidationError) else str(error))
            continue
        except StudyError as error:
            yield _broken(f"task {written}", str(error).removeprefix(f"{file}: tasks: "))
            continue
        problems = list(_lacks(info.name, source.directory, spec)) if spec.environment.type == "local" else []
        yield from problems
        if not problems:
            fine.append(info.name)
    if fine:
        yield Finding(Area.STUDY, "tasks", State.OK, ", ".join(fine))
    yield from look_resources(Machine(), spec, asked, file.parent)


def _asked(directory: Path, spec: StudySpec, gpus: int) -> _Asked:
    wanted = TaskConfig.model_validate_toml((directory / "task.toml").read_text(encoding="utf-8")).environment
    return _Asked(
        cpus=float(spec.environment.cpus or wanted.cpus or 1),
        memory_mb=spec.environment.memory_mb or wanted.memory_mb,
        storage_mb=wanted.storage_mb,
        gpus=gpus,
    )


def _lacks(task: str, directory: Path, spec: StudySpec) -> Iterator[Finding]:
    """Tools and modules that the task's image would bring and the local sandbox will not have."""
    name, cost = f"task {task}", "its rollouts end before they begin"
    try:
        plan = read_dockerfile(directory / "environment" / "Dockerfile", {"PATH": SYSTEM_PATH, "HOME": "/root"})
    except (SandboxError, OSError) as error:
        yield Finding(Area.STUDY, name, State.MISSING, str(error), cost, "use `environment: docker`", (), Need.REQUIRED)
        return
    packages = tuple(spec.environment.kwargs.get("python_packages", toolchain.DEFAULT_PACKAGES))
    tools = plan.requirements.missing_tools(path_on_host(from_kwargs(spec.environment.kwargs)))
    tools = {t: hint for t, hint in tools.items() if not (packages and t in ("python", "python3"))}
    if tools:
        fact = f"its image would bring {', '.join(sorted(tools))}; the sandbox offers this machine's programs"
        known = [package for tool in sorted(tools) if (package := package_of(tool)) and tool != "nvcc"]
        hints = "; ".join(sorted({hint for tool, hint in tools.items() if package_of(tool) is None or tool == "nvcc"}))
        install = distribution(Machine()).install(*known) if known else ()
        yield Finding(Area.STUDY, name, State.MISSING, fact, cost, hints, install, Need.REQUIRED)
    modules = _missing_modules(plan, packages)
    if modules:
        fact = f"its image would bring the Python modules {', '.join(modules)}"
        named = [found[1] if (found := _NAMED.search(plan.requirements.modules[m])) else m for m in modules]
        listed = ", ".join([*packages, *named])
        remedy = f"in the study file: `environment: {{type: local, kwargs: {{python_packages: [{listed}]}}}}`"
        yield Finding(Area.STUDY, name, State.MISSING, fact, cost, remedy, (), Need.REQUIRED)


def _missing_modules(plan: Plan, packages: tuple[str, ...]) -> list[str]:
    """Modules that neither the standard library nor the sandbox's python has, as far as that is built already."""
    named = {package.lower().replace("-", "_") for package in packages}
    wanted = set(plan.requirements.modules) - named - set(sys.stdlib_module_names)
    if not packages or not wanted:
        return []  # then the system's own python runs inside; only the start itself can tell
    site = next(iter((toolchain.location(packages) / "lib").glob("python*/site-packages")), None)
    if site is None:
        return []
    there = {path.name.split(".")[0] for path in site.iterdir()}
    return sorted(module for module in wanted if module.split(".")[0] not in there)


def look_resources(machine: Machine, spec: StudySpec, asked: Mapping[str, _Asked], place: Path) -> Iterator[Finding]:
    """What runs at once, held against what is there. Only for trials that use this machine."""
    if spec.environment.type not in ("local", "docker", "podman") or not asked:
        return
    yield from _memory(machine_memory(machine), spec.concurrency, asked)
    yield from _processors(*processors(machine), asked)
    free = shutil.disk_usage(next(p for p in (place, *place.parents) if p.exists())).free
    yield from _disk(free, round(spec.schedule.disk_reserve_gb * 1e9), asked)
    if spec.environment.type == "local":
        for name, wants in asked.items():
            if wants.gpus:
                fact = f"asks for {wants.gpus} GPU{'s' if wants.gpus > 1 else ''}; local sandboxes show none"
                cost, remedy = "it cannot be solved as meant", "use an environment that has them"
                yield Finding(Area.STUDY, f"task {name}", State.MISSING, fact, cost, remedy, (), Need.REQUIRED)


def _memory(there: int, at_once: int, asked: Mapping[str, _Asked]) -> Iterator[Finding]:
    name, most = max(((n, a.memory_mb or 0) for n, a in asked.items()), key=lambda pair: pair[1])
    if not there or not most:
        return
    fact = f"{name} asks for {most} MB, there are {there >> 20}"
    if most << 20 > there:
        remedy = "set environment.memory_mb, or use a larger machine"
        yield _short("memory", fact, "rollouts that use it are killed", remedy)
    elif at_once * most << 20 > there:
        fact = f"{at_once} rollouts at once; {fact}"
        yield _short("memory", fact, "some may be killed", f"set `concurrency: {there // (most << 20)}`")


def _processors(count: int, quota: float | None, asked: Mapping[str, _Asked]) -> Iterator[Finding]:
    name, most = max(((n, a.cpus) for n, a in asked.items()), key=lambda pair: pair[1])
    there = min(count, quota or count)
    if most > there:
        fact = f"{name} asks for {most:g}, there are {there:g}"
        cost = "it runs slower than meant; its times compare with no other machine's"
        yield _short("processors", fact, cost, "set environment.cpus, or use a larger machine")


def _disk(free: int, reserve: int, asked: Mapping[str, _Asked]) -> Iterator[Finding]:
    """As `run` counts it; a task that says nothing is given less where there is less."""
    name, most = max(((n, a.storage_mb or SMALLER_MB[-1]) for n, a in asked.items()), key=lambda pair: pair[1])
    needed = rollout_bytes(most) + reserve
    if needed > free:
        fact = (
            f"a rollout of {name} needs {needed >> 20} MiB ({most} that it may write, what comes out of it, "
            f"{reserve >> 20} that stay free), {free >> 20} are free"
        )
        yield _short("disk", fact, "no rollout of it is started", "make room, or put the study elsewhere with --out")


def _short(name: str, fact: str, cost: str, remedy: str) -> Finding:
    return Finding(Area.STUDY, name, State.WEAK, fact, cost=cost, remedy=remedy)
