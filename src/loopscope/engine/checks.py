"""What a study file names, held against what this machine has: agents, secrets, the environment, the machine's lock."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from pathlib import Path

from harbor.environments.factory import EnvironmentFactory
from harbor.models.environment_type import EnvironmentType
from harbor.models.task.config import TaskConfig

from loopscope.agents.registry import AgentKind, AgentRefused, find_agent
from loopscope.engine.jobs import environment_config
from loopscope.engine.lock import lock_dir
from loopscope.models import AgentSpec, EnvironmentSpec, StudySpec
from loopscope.records import StudyError
from loopscope.sandbox.environment import LocalEnvironment
from loopscope.sandbox.options import INTERNAL, check_resources
from loopscope.sandbox.rootfs import SYSTEM_PATH


def check_machine(file: Path, spec: StudySpec) -> dict[str, AgentKind]:
    """How each agent is started, by label; everything else that trials need from outside the study is there too.

    Raises:
        StudyError: an agent, a variable, the environment or the lock's directory cannot be had; names file and field.
    """
    check_for_scoring(file, spec)
    return {agent.label: check_agent(f"{file}: agents.{index}", agent) for index, agent in enumerate(spec.agents)}


def check_for_scoring(file: Path, spec: StudySpec) -> None:
    """The part that verifications need too: no agent, no key."""
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # agents and environments of one's own may lie beside the study file
    _environment(f"{file}: environment", spec.environment)
    try:
        lock_dir()
    except OSError as error:
        raise StudyError(f"{error}; set LOOPSCOPE_LOCK_DIR to a directory that can be written") from None


def missing_git(spec: StudySpec) -> str | None:
    """A warning when agents in the local sandbox will find no git: they run, but none of their steps can be scored."""
    if spec.environment.type != "local" or spec.record_keeping == "none" or shutil.which("git", path=SYSTEM_PATH):
        return None
    return "git is missing on this machine, so no agent can commit and only final states are scored; install it"


def check_task(file: Path, spec: StudySpec, directory: Path) -> None:
    """A task's own resources, where the local sandbox has to hold them. StudyError names its file, field and remedy."""
    if spec.environment.type != "local":
        return
    toml = directory / "task.toml"
    try:
        wanted = TaskConfig.model_validate_toml(toml.read_text(encoding="utf-8")).environment
    except (OSError, ValueError) as error:
        raise StudyError(f"{file}: tasks: {toml}: {_one_line(error)}") from None
    memory_mb = None if spec.environment.memory_mb else wanted.memory_mb
    cpus = None if spec.environment.cpus else wanted.cpus
    if wrong := check_resources(memory_mb=memory_mb, cpus=cpus, storage_mb=wanted.storage_mb):
        raise StudyError(f"{file}: tasks: {toml}: environment.{wrong[0]}: {wrong[1]}")


def check_agent(where: str, agent: AgentSpec) -> AgentKind:
    """How an agent is started. Raises StudyError, beginning with `where`: it cannot be had, or lacks a variable."""
    try:
        kind = find_agent(agent)
    except AgentRefused as error:
        raise StudyError(f"{where}.{error.field}: {error}") from None
    for key, name in agent.references.items():
        if name not in os.environ:
            raise StudyError(f"{where}.env.{key}: the variable {name} is not set; export it before the start")
    return kind


def _environment(where: str, spec: EnvironmentSpec) -> None:
    types = {kind.value for kind in EnvironmentType}
    if ":" not in spec.type and spec.type not in types | {"local"}:
        close = difflib.get_close_matches(spec.type, [*sorted(types), "local"], n=3, cutoff=0.5)
        remedy = f"did you mean {' or '.join(close)}?" if close else f"write local or one of {', '.join(sorted(types))}"
        raise StudyError(
            f"{where}.type: unknown environment {spec.type!r}; {remedy} (or an import path `pkg.mod:Class`)"
        )
    config = environment_config(spec)
    try:
        found = EnvironmentFactory.get_environment_class(config.type, config.import_path)
    except Exception as error:  # whatever a stranger's module does when it is imported
        remedy = "; install its package, or put its folder on PYTHONPATH" if ":" in spec.type else ""
        raise StudyError(f"{where}.type: {_one_line(error)}{remedy}") from None
    if issubclass(found, LocalEnvironment) and (ours := INTERNAL & spec.kwargs.keys()):
        raise StudyError(f"{where}.kwargs: {min(ours)}: loopscope sets it for each rollout itself; remove it")
    try:
        found.parse_options(spec.kwargs)
    except ValueError as error:
        raise StudyError(f"{where}.kwargs: {_one_line(error)}") from None
    if spec.type == "local" and (wrong := check_resources(memory_mb=spec.memory_mb, cpus=spec.cpus)):
        raise StudyError(f"{where}.{wrong[0]}: {wrong[1]}")
    try:
        found.preflight(kwargs=spec.kwargs)
    except (Exception, SystemExit) as error:  # Harbor's environments say either way that a program or a key is missing
        raise StudyError(f"{where}.type: {spec.type} cannot be used here: {_one_line(error)}") from None


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
