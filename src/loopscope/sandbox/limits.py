"""Limits of one sandbox on memory, processes and processors: by which means here, and what they saw.

By strength: a control group holds everything; without one, an rlimit in a user namespace holds processes, and affinity
with a system call filter whole processors; what is left is watched from outside (`keeper/watch.py`).
"""

from __future__ import annotations

import itertools
import math
import os
import platform
import re
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from loopscope.models import Limit, LimitState
from loopscope.sandbox import cgroup, groupfiles
from loopscope.sandbox.keeper import bounds, seccomp

DEFAULT_PIDS = 4096
MIN_PIDS = 16
"""Our own processes inside, and a shell's pipeline."""

DEFAULT_MEMORY_PART = 0.8
"""Of what this process could use, where the task names no memory."""

_turn = itertools.count(os.getpid())


class Strength(StrEnum):
    """Which means may be used."""

    STRONGEST = "strongest"
    WATCHDOG = "watchdog"
    """No control groups, also where they are there."""
    NONE = "none"


@dataclass(frozen=True)
class Asked:
    """What a sandbox is to be held to."""

    memory_bytes: int
    pids: int
    cpus: float | None


@dataclass(frozen=True)
class Means:
    """How one resource is held here, and why not better."""

    state: LimitState
    name: str
    why: str = ""
    value: int | None = None
    home: cgroup.Home | None = None

    @property
    def text(self) -> str:
        """As a record says it."""
        return f"{self.name} ({self.why})" if self.why else self.name


def counts_by_namespace(release: str = platform.release()) -> bool:
    """Whether RLIMIT_NPROC counts within a user namespace (Linux 5.14)."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return found is not None and (int(found[1]), int(found[2])) >= (5, 14)


def choose(asked: Asked, strength: Strength, one_id: bool, refused: str = "") -> dict[str, Means]:
    """The strongest permitted means for memory, pids and cpu.

    `one_id`: an ordinary user's sandbox. `refused`: what the kernel said when groups were to be made after all.
    """
    if strength is Strength.NONE:
        off = Means(LimitState.ABSENT, "", "limits: none was asked for")
        return {"memory": off, "pids": off, "cpu": off}
    homes: dict[str, cgroup.Home] = {}
    why = dict.fromkeys(cgroup.CONTROLLERS, refused or "control groups were not to be used")
    if strength is Strength.STRONGEST and not refused:
        for name in cgroup.CONTROLLERS:
            found = cgroup.find(name)
            if isinstance(found, cgroup.Home):
                homes[name] = found
            else:
                why[name] = found.why
    milli = None if asked.cpus is None else max(1, round(asked.cpus * 1000))
    values = {"memory": asked.memory_bytes, "pids": asked.pids, "cpu": milli}
    weaker = {"memory": _memory(why["memory"]), "pids": _pids(why["pids"], one_id), "cpu": _cpu(why["cpu"], milli)}
    chosen = {}
    for name, value in values.items():
        if name in homes and value is not None:
            chosen[name] = Means(LimitState.ENFORCED, f"cgroup v{homes[name].version}", "", value, homes[name])
        else:
            weak = weaker[name]
            # A group without a limit has a weight all the same: a thousand threads get no more than one neighbour.
            home = homes.get(name) if name == "cpu" else None
            chosen[name] = Means(weak.state, weak.name, weak.why, value if weak.value is None else weak.value, home)
    if "cpuacct" in homes:
        chosen["cpuacct"] = Means(LimitState.ABSENT, "cgroup v1", home=homes["cpuacct"])
    return chosen


def _memory(why: str) -> Means:
    return Means(LimitState.WATCHED, "watchdog", why)


def _pids(why: str, one_id: bool) -> Means:
    if one_id and counts_by_namespace():
        return Means(LimitState.ENFORCED, "rlimit in a user namespace")
    if one_id:
        return Means(LimitState.WATCHED, "watchdog", f"{why}; rlimits count by namespace from Linux 5.14 on")
    return Means(LimitState.WATCHED, "rlimit for each user inside, and watchdog for all", why)


def _cpu(why: str, milli: int | None) -> Means:
    if milli is None:
        return Means(LimitState.ABSENT, "", "not asked for")
    whole = min(math.ceil(milli / 1000), len(os.sched_getaffinity(0)))
    if seccomp.missing():
        return Means(LimitState.WATCHED, "affinity", f"can be reset from inside: {seccomp.missing()}", whole * 1000)
    return Means(LimitState.ENFORCED, "affinity and system call filter", value=whole * 1000)


def _sheltered(one_id: bool) -> dict[str, Means]:
    """A group for the sandbox alone, where an ordinary user's agent would live in the engine's otherwise."""
    home = cgroup.shelter() if one_id else None
    return {cgroup.SHELTER: Means(LimitState.ABSENT, "cgroup v2", home=home)} if home else {}


class Limits:
    """The limits of one environment's sandboxes, from its start on: kept through `freeze`, read at any time."""

    def __init__(self, asked: Asked, strength: Strength = Strength.STRONGEST, *, one_id: bool) -> None:
        """Makes ready what is shared by all sandboxes of this process. Falls back to weaker means where that fails."""
        self.means = choose(asked, strength, one_id) | _sheltered(one_id)
        try:
            cgroup.prepare({name: means.home for name, means in self.means.items() if means.home is not None})
        except OSError as exc:
            self.means = choose(asked, strength, one_id, f"control groups cannot be made ready: {exc}")
            self.means |= _sheltered(one_id)
        if any(means.home and means.home.version == 2 for key, means in self.means.items() if key != cgroup.SHELTER):
            self.means.pop(cgroup.SHELTER, None)
        name = cgroup.new_name()
        self._groups = {key: means.home.parent / name for key, means in self.means.items() if means.home is not None}
        self._cpus = self._processors()
        self.board = os.memfd_create("loopscope-board", os.MFD_CLOEXEC)
        self._one_id = one_id
        self._seen: dict[str, groupfiles.Seen] = {}
        self._board: dict[str, int] = {}
        self._began = time.monotonic()
        self._ended: float | None = None

    def _processors(self) -> list[int]:
        """Those to be held to by affinity; taken in turn, so that sandboxes side by side do not crowd one."""
        cpu = self.means["cpu"]
        if cpu.home is not None or cpu.value is None or cpu.state is LimitState.ABSENT:
            return []
        available = sorted(os.sched_getaffinity(0))
        first, count = next(_turn), min(cpu.value // 1000, len(available))
        return [available[(first + i) % len(available)] for i in range(count)]

    def _is_watched(self, resource: str) -> bool:
        return self.means[resource].state is LimitState.WATCHED

    def _watched(self, resource: str) -> int:
        """What the watchdog is to hold it to; 0 where it need not."""
        return (self.means[resource].value or 0) if self._is_watched(resource) else 0

    def bounds(self) -> bounds.Asked:
        """What the keeper is to do."""
        groups: dict[Path, list[tuple[str, str, bool]]] = {}
        places: dict[Path, Path] = {}
        for key, group in self._groups.items():
            home, value = self.means[key].home, self.means[key].value
            if home is None:
                continue
            places[group] = cgroup.place(home, group)
            wanted = groups.setdefault(group, list(groupfiles.CLOSED) if home.version == 2 else [])
            wanted += [] if value is None else groupfiles.settings(home, value)
        pids = self.means["pids"]
        has_rlimit = pids.home is None and pids.state is not LimitState.ABSENT
        extra = [name for name, asked in (("sched_setaffinity", bool(self._cpus)),
                                          ("shmget", self._is_watched("memory")),
                                          ("msgget", self._is_watched("memory")),
                                          ("semget", self._is_watched("memory"))) if asked]  # fmt: skip
        return {
            "groups": [(str(group), settings, str(places[group])) for group, settings in groups.items()],
            "nproc": pids.value if has_rlimit and pids.value and (not self._one_id or counts_by_namespace()) else 0,
            "cpus": self._cpus,
            "filter": b"" if seccomp.missing() else seccomp.program(tuple(extra)),
            "watch": {
                "memory": self._watched("memory"),
                "pids": self._watched("pids"),
            },
        }  # fmt: skip

    def _look(self) -> None:
        """Take what groups and board tell now; what they told before stays when they are gone."""
        for key, group in self._groups.items():
            home = self.means[key].home
            if home is not None and group.is_dir():
                self._seen[key] = groupfiles.seen(home, group)
        if self.board >= 0:
            self._board = bounds.read_board(self.board)

    def read(self) -> dict[str, Limit]:
        """Of memory, pids and cpu: what holds, and what was seen up to now (or to the end).

        Of `terminals` too where they could not be bounded, as they are in every sandbox otherwise.
        """
        self._look()
        found = {name: self._limit(name) for name in ("cpu", "memory", "pids")}
        if failed := self._board.get("terminals_errno"):
            found["terminals"] = Limit(state=LimitState.ABSENT, means=f"/dev/pts takes no limit: {os.strerror(failed)}")
        return found

    def _limit(self, name: str) -> Limit:
        means = self.means[name]
        peak = self._cpu_use() if name == "cpu" else self._seen.get(name, groupfiles.Seen()).peak
        hits = self._seen[name].hits if name in self._seen and means.value is not None else None
        text = means.text
        if means.state is LimitState.WATCHED and name in ("memory", "pids"):
            peak, hits = self._board.get(f"{name}_peak"), self._board.get(f"{name}_hits")
            if failed := self._board.get("failed_ticks"):
                text += f"; {failed} of {self._board['ticks']} looks failed"
        return Limit(state=means.state, means=text, value=means.value, peak=peak, hits=hits)

    def _cpu_use(self) -> int | None:
        """Thousandths of a processor, over the whole life."""
        counted = self._seen.get("cpuacct") or self._seen.get("cpu") or self._any_v2()
        used = counted.peak if counted is not None and counted.peak is not None else self._board.get("cpu_usec")
        wall = (self._ended or time.monotonic()) - self._began
        return round(used / wall / 1000) if used else None

    def _any_v2(self) -> groupfiles.Seen | None:
        """Every group of version 2 counts processor time, whatever it limits."""
        for key, group in self._groups.items():
            home = self.means[key].home
            if home is not None and home.version == 2 and group.is_dir():
                return groupfiles.seen(cgroup.Home("cpu", 2, home.parent), group)
        return None

    def finish(self) -> None:
        """The sandbox is dead: look once more, and remove the groups."""
        if self._ended is not None:
            return
        self._look()
        self._ended = time.monotonic()
        for group in set(self._groups.values()):
            cgroup.remove_soon(group)
        os.close(self.board)
        self.board = -1


def default_memory() -> int:
    """Bytes, where nothing is asked for."""
    return int(groupfiles.memory_bound() * DEFAULT_MEMORY_PART)
