"""What this machine is, as far as seconds and ratios depend on it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path

from loopscope.models.calibration import Machine, SeenMachines
from loopscope.records.durable import RecordError, read_model, write_model

_COMPILERS = {
    "gcc": ("gcc", "--version"),
    "g++": ("g++", "--version"),
    "clang": ("clang", "--version"),
    "nvcc": ("nvcc", "--version"),
    "rustc": ("rustc", "--version"),
    "go": ("go", "version"),
    "python3": ("python3", "--version"),
}
"""What tasks build and run with."""
_PATIENCE_SEC = 20.0


@cache
def this_machine() -> Machine:
    """The machine that this process runs on; asked once."""
    return Machine(
        cpu=_cpu_model(),
        cores=len(os.sched_getaffinity(0)),
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)),
        architecture=platform.machine(),
        kernel=platform.release(),
        compilers={name: said for name, command in _COMPILERS.items() if (said := _version(command)) is not None},
    )


def note_machine(path: Path) -> None:
    """Write down in `path` (`calibration/machines.json` of a study) that verifications run on this machine."""
    try:
        seen = read_model(path, SeenMachines).machines if path.exists() else ()
    except RecordError:  # it says only which machines were met; it is begun anew
        seen = ()
    here = this_machine()
    if here not in seen:
        write_model(path, SeenMachines(machines=(*seen, here)))


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.lower().startswith(("model name", "cpu model")))
    return next(named, "") or platform.processor() or platform.machine()


def _version(command: tuple[str, ...]) -> str | None:
    """The first line that speaks of a version; None where there is no such program, or it does not answer."""
    program = shutil.which(command[0])
    if program is None:
        return None
    try:
        done = subprocess.run([program, *command[1:]], capture_output=True, timeout=_PATIENCE_SEC, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    release = [line.strip() for line in lines if "release" in line]  # nvcc says its own name first
    return next(iter((*release, *(line.strip() for line in lines if line.strip()))), None)
