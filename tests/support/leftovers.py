"""What a process and its machine hold, so that a test can tell what was left behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_mb() -> float:
    """Resident memory of this process, in 10^6 bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE / 1e6


@dataclass(frozen=True)
class Leftovers:
    """A look at everything that a sandbox could leave, and nothing of another test's that runs beside this one.

    Processes are those that descend from this one, orphans among them after `adopt_orphans`; mounts and loop devices those
    of the folder.
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
            mounts=frozenset(line for line in _mounts() if str(folder) in line),
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


def adopt_orphans(adopt: bool = True) -> None:
    """Become the parent of descendants whose own parent ends, in the place of init, which has everybody's."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def reap() -> None:
    """Take note of orphans that ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


def _processes() -> frozenset[str]:
    """Whatever has this process among its ancestors."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                name, _, rest = (entry / "stat").read_text().rpartition(")")
                fields = rest.split()
                parents[int(entry.name)] = (int(fields[1]), f"{name.partition('(')[2]} {fields[0]}")
            except (OSError, ValueError):
                continue
    me = os.getpid()

    def is_ours(pid: int) -> bool:
        seen = pid
        while seen in parents:
            if seen == me:
                return True
            seen = parents[seen][0]
        return False

    return frozenset(f"{pid} {parents[pid][1]}" for pid in parents if pid != me and is_ours(pid))


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
