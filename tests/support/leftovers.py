"""What a process and its machine hold, so that a test can tell what was left behind."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_mb() -> float:
    """Resident memory of this process, in 10^6 bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE / 1e6


@dataclass(frozen=True)
class Leftovers:
    """A look at everything that a sandbox could leave.

    Processes are those that descend from this one, or that orphans of its session became.
    """

    processes: frozenset[str]
    descriptors: frozenset[str]
    mounts: frozenset[str]
    groups: frozenset[str]
    loops: frozenset[str]
    files: frozenset[str]

    @classmethod
    def now(cls, folder: Path) -> Leftovers:
        """Look; `folder` is searched for files, and should be where this process makes its temporary ones."""
        return cls(
            processes=_processes(),
            descriptors=_descriptors(),
            mounts=frozenset(Path("/proc/self/mountinfo").read_text().splitlines()),
            groups=_groups(),
            loops=_loops(folder),
            files=frozenset(str(path) for path in folder.rglob("*")),
        )

    def left(self, later: Leftovers, expected: Iterable[Path] = ()) -> list[str]:
        """What a later look shows that this one did not, but for files below `expected`."""
        found = [
            f"{kind}: {item}"
            for kind in ("processes", "descriptors", "mounts", "groups", "loops", "files")
            for item in sorted(getattr(later, kind) - getattr(self, kind))
        ]
        known = tuple(f"files: {path}" for path in expected)
        return [line for line in found if not line.startswith(known)]


def _processes() -> frozenset[str]:
    """Whatever has this process among its ancestors, or runs in its session."""
    parents: dict[int, tuple[int, int, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                name, _, rest = (entry / "stat").read_text().rpartition(")")
                fields = rest.split()
                parents[int(entry.name)] = (int(fields[1]), int(fields[3]), f"{name.partition('(')[2]} {fields[0]}")
            except (OSError, ValueError):
                continue
    me, session = os.getpid(), os.getsid(0)

    def is_ours(pid: int) -> bool:
        seen = pid
        while seen in parents:
            if seen == me:
                return True
            seen = parents[seen][0]
        return parents[pid][1] == session and parents[pid][0] == 1

    return frozenset(f"{pid} {parents[pid][2]}" for pid in parents if pid != me and is_ours(pid))


def _descriptors() -> frozenset[str]:
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.append(f"{fd} {os.readlink(f'/proc/self/fd/{fd}')}")
        except OSError:
            continue
    return frozenset(line for line in found if not line.endswith("/fd"))


def _groups() -> frozenset[str]:
    """Control groups of ours."""
    root = Path("/sys/fs/cgroup")
    return frozenset(folder for folder, _, _ in os.walk(root) if "loopscope" in folder and f"-{os.getpid()}" in folder)


def _loops(folder: Path) -> frozenset[str]:
    """Loop devices that show a file below `folder`."""
    found = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            found.append(f"{backing.parts[3]} {backing.read_text().strip()}")
        except OSError:
            continue
    return frozenset(line for line in found if str(folder) in line)
