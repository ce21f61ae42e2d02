"""The files of one control group: what is written to limit it, and what they tell."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from loopscope.sandbox.cgroup import Home, own_group

PERIOD_USEC = 100_000
SOCKETS_PART = 8
"""On version 1 TCP and UDP sockets may hold an eighth of the memory limit besides what counts against it."""


def settings(home: Home, value: int) -> list[tuple[str, str, bool]]:
    """(file, text, whether it must succeed) that limit a group: bytes, processes, or thousandths of a processor.

    What waits in TCP and UDP sockets version 1 counts apart from memory, and only where it has a limit of its own.
    """
    one = home.version == 1
    if home.controller == "memory" and one:
        return [("memory.limit_in_bytes", str(value), True), ("memory.memsw.limit_in_bytes", str(value), False),
                ("memory.swappiness", "0", False),
                ("memory.kmem.tcp.limit_in_bytes", str(value // SOCKETS_PART), False)]  # fmt: skip
    if home.controller == "memory":
        return [("memory.max", str(value), True), ("memory.swap.max", "0", False), ("memory.oom.group", "0", False)]
    if home.controller == "pids":
        return [("pids.max", str(value), True)]
    quota = max(1000, value * PERIOD_USEC // 1000)
    # As much weight as its processes would have had alone: beside one, a group counts as one process.
    times = max(1, value // 1000)
    if one:
        return [("cpu.cfs_period_us", str(PERIOD_USEC), True), ("cpu.cfs_quota_us", str(quota), True),
                ("cpu.shares", str(1024 * times), False)]  # fmt: skip
    return [("cpu.max", f"{quota} {PERIOD_USEC}", True), ("cpu.weight", str(min(10_000, 100 * times)), False)]


CLOSED = [("cgroup.max.descendants", "1", True)]
"""Settings of a group of version 2 in which an agent is to make no groups."""


@dataclass(frozen=True)
class Seen:
    """What a group tells of the past; None where this kernel does not."""

    peak: int | None = None
    """Bytes or processes; for cpu microseconds used."""
    hits: int | None = None


def seen(home: Home, group: Path) -> Seen:
    """The greatest use so far and how often the limit was met."""
    if home.controller == "memory":
        if home.version == 1:
            return Seen(_number(group / "memory.max_usage_in_bytes"), _event(group / "memory.oom_control", "oom_kill"))
        return Seen(_number(group / "memory.peak"), _event(group / "memory.events", "oom_kill"))
    if home.controller == "pids":
        return Seen(_number(group / "pids.peak"), _event(group / "pids.events", "max"))
    if home.controller == "cpuacct":
        used = _number(group / "cpuacct.usage")
        return Seen(None if used is None else used // 1000)
    return Seen(_event(group / "cpu.stat", "usage_usec"), _event(group / "cpu.stat", "nr_throttled"))


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


def _event(file: Path, name: str) -> int | None:
    try:
        pairs = dict(line.split(" ", 1) for line in file.read_text().splitlines() if " " in line)
        return int(pairs[name])
    except (OSError, ValueError, KeyError):
        return None


def memory_bound() -> int:
    """Bytes that this process could use at all: the machine's memory, or less where a group above us is limited."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        at = own_group("memory")
    except OSError:
        return total
    own = None if at is None else at.own
    while at is not None and own is not None and (own / "cgroup.procs").exists():
        limit = _number(own / ("memory.limit_in_bytes" if at.version == 1 else "memory.max"))
        total, own = min(total, limit or total), own.parent
    return total
