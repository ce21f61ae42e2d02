"""All checks, in the order in which their rows are shown."""

from __future__ import annotations

from pathlib import Path

from loopscope.sandbox.doctor import (
    groups,
    limits,
    namespaces,
    ourselves,
    pools,
    programs,
    start,
    storage,
    surroundings,
    timing,
)
from loopscope.sandbox.doctor.finding import DECIDING_SEC, Area, Check, Need


def checks(place: Path | None = None) -> list[Check]:
    """Everything that is looked at. `place`: where a study's results will go (the current directory)."""
    return [
        Check(Area.SANDBOX, namespaces.START, start.look_start, Need.REQUIRED, DECIDING_SEC),
        Check(Area.SANDBOX, "bubblewrap", start.look_bwrap, Need.REQUIRED),
        Check(Area.SANDBOX, namespaces.USERNS, namespaces.look, Need.REQUIRED, DECIDING_SEC),
        Check(Area.SANDBOX, "policies", namespaces.look_policies),
        Check(Area.SANDBOX, "surroundings", surroundings.look),
        Check(Area.LIMITS, "limits", limits.look),
        Check(Area.LIMITS, "control groups", groups.look_groups, Need.OPTIONAL),
        Check(Area.LIMITS, "loop images", groups.look_disk_means, Need.OPTIONAL),
        Check(Area.LIMITS, pools.NAME, pools.look_pools),
        Check(Area.LOOPSCOPE, "Harbor", ourselves.look_harbor, Need.REQUIRED, DECIDING_SEC),
        Check(Area.LOOPSCOPE, "Python", ourselves.look_python, Need.REQUIRED),
        Check(Area.LOOPSCOPE, "sandbox's python", ourselves.look_toolchain, Need.OPTIONAL),
        Check(Area.LOOPSCOPE, "texts", ourselves.look_texts, Need.OPTIONAL),
        storage.place_check(storage.study_place(place or Path.cwd())),
        Check(Area.STORAGE, "cache", storage.look_cache, Need.REQUIRED),
        storage.place_check(storage.temporary_place()),
        Check(Area.TIMING, "system", timing.look_system),
        Check(Area.TIMING, "processors", timing.look_processors),
        Check(Area.TIMING, "memory", timing.look_memory),
        Check(Area.TIMING, "load", timing.look_load, quiet=True),
        Check(Area.TIMING, "spread", timing.look_spread, quiet=True),
        Check(Area.TIMING, "frequency", timing.look_frequency, Need.OPTIONAL),
        Check(Area.TIMING, "clock", timing.look_clock),
        Check(Area.TIMING, "shell limits", timing.look_ulimits),
        *programs.tool_checks(),
        Check(Area.TOOLS, "GPU", programs.look_gpus, Need.OPTIONAL),
        *programs.cli_checks(),
        Check(Area.AGENTS, "docker", programs.look_docker, Need.OPTIONAL),
        Check(Area.AGENTS, "podman", programs.look_podman, Need.OPTIONAL),
        Check(Area.AGENTS, "keys", ourselves.look_keys, Need.OPTIONAL),
        Check(Area.TESTS, "browser", programs.look_browser, Need.OPTIONAL),
    ]
