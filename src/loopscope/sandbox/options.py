"""What the local sandbox may be told: environment kwargs of a study, and resources, refused before anything starts."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from harbor.environments.options import EnvironmentOptions
from pydantic import Field, ValidationError

from loopscope.sandbox import bwrap, toolchain
from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.limits import DEFAULT_PIDS, MIN_PIDS, Strength
from loopscope.sandbox.mounted import Mounted, mounted

MIN_MEMORY_MB = 32
"""A shell, a python and a git at once; with less they are killed while they start."""

INTERNAL = frozenset({"export_on_stop"})
"""Options that the engine sets for a rollout; a study file that names one is refused."""

_MANY = 1 << 20
"""Processes at most where the kernel's own bound cannot be read."""


class LocalOptions(EnvironmentOptions):
    """Environment kwargs of `LocalEnvironment`, checked; docs/study.md names them for people."""

    scratch_dir: Path | None = None
    """Host directory for the writable files (default: beside the trial's results, else a temporary one)."""
    python_packages: tuple[str, ...] = toolchain.DEFAULT_PACKAGES
    """PyPI packages of the python3 that is offered inside; empty for none."""
    toolchains: dict[str, Path] = Field(default_factory=dict)
    """Compilers and runtimes of the host to show read-only, by name: the directory above their `bin` (`mounted.py`)."""
    private_dirs: tuple[str, ...] = ()
    """Further directories to make writable inside, such as `/models`."""
    export_on_stop: dict[str, Any] | None = None
    """As `export.ExportOnStop` reads it."""
    max_transfer_bytes: int = Field(default=2 << 30, gt=0)
    """Cap of one download; twice what the sandbox may write is one as well."""
    transfer_timeout_sec: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    """Cap of one transfer's time."""
    storage: Literal["auto", "loop", "tmpfs", "directory"] = "auto"
    """What bounds the writable files."""
    shm_mb: int = Field(default=bwrap.DEV_SHM_BYTES >> 20, ge=1)
    """MiB of /dev/shm; of a tmpfs 0 would mean all that there is."""
    limits: Strength = Strength.STRONGEST
    """What may hold memory, processes and processors."""
    pids_limit: int = Field(default=DEFAULT_PIDS, ge=MIN_PIDS)
    """Processes and threads inside at once."""

    @property
    def mounted(self) -> tuple[Mounted, ...]:
        """`toolchains`, held against the host. Raises SandboxError for one that will not do."""
        return mounted(self.toolchains)


def parse(kwargs: Mapping[str, Any]) -> LocalOptions:
    """The options that kwargs ask for, held against this machine.

    Raises:
        SandboxError: one of them is unknown, of another type, or more or less than makes sense; one line with its name.
    """
    try:
        options = LocalOptions.model_validate(dict(kwargs))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = str(first["loc"][0]) if first["loc"] else "kwargs"
        if first["type"] == "extra_forbidden":
            raise SandboxError(f"{name}: no option of the local sandbox; {_instead(name)}") from None
        place = ".".join(map(str, first["loc"]))
        said = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        default = LocalOptions.model_fields[name].get_default(call_default_factory=True)
        raise SandboxError(
            f"{place}: {first['input']!r} does not fit: {said}; remove it for {_shown(default)}"
        ) from None
    if options.pids_limit > (most := most_processes()):
        raise SandboxError(
            f"pids_limit: {options.pids_limit} is more than this machine has process numbers ({most}); "
            f"lower it, remove it for {DEFAULT_PIDS}, or raise kernel.pid_max"
        )
    if options.shm_mb > (most := memory_mb()):
        raise SandboxError(f"shm_mb: {options.shm_mb} is more than this machine's memory ({most} MiB); lower it")
    _ = options.mounted
    return options


def _shown(default: object) -> str:
    return "the default" if default in (None, (), {}) else f"the default ({default})"


def _instead(name: str) -> str:
    if name in ("memory_mb", "cpus"):
        return f"write it as `environment.{name}`, beside `kwargs`"
    if name == "storage_mb":
        return "it is the task's: write it into task.toml under [environment]"
    offered = sorted(LocalOptions.model_fields.keys() - INTERNAL)
    close = difflib.get_close_matches(name, offered, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close or offered)}?"


def check_resources(
    *, memory_mb: int | None = None, cpus: float | None = None, storage_mb: int | None = None
) -> tuple[str, str] | None:
    """(field, what is wrong with it and what to do) of resources that no sandbox can be held to; None when all can.

    None as a value: nothing is asked for.
    """
    if memory_mb is not None and memory_mb < MIN_MEMORY_MB:
        return "memory_mb", (
            f"{memory_mb} MiB are too little for a shell and its programs; give at least {MIN_MEMORY_MB}, or remove it"
        )
    if cpus is not None and not 0 < cpus < float("inf"):
        return "cpus", f"{cpus} is no number of processors; give a number above 0, or remove it"
    if storage_mb is not None and storage_mb < 1:
        return "storage_mb", f"{storage_mb} MiB hold no file; give at least 1, or remove it"
    return None


def most_processes(proc: Path = Path("/proc/sys/kernel")) -> int:
    """Process and thread numbers of this machine: no sandbox can hold more at once."""
    found = []
    for name in ("pid_max", "threads-max"):
        try:
            found.append(int((proc / name).read_text()))
        except (OSError, ValueError):
            continue
    return min(found, default=_MANY)


def memory_mb() -> int:
    """MiB of memory that this machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
