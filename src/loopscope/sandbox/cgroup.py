"""Control groups: where this process may make groups of its own, version 1 and 2, and what a group tells.

Groups are made only beneath the group that this process is in. On version 2 a group that hands controllers on may hold
no process itself; so this process moves into a leaf, but only out of a group that holds nobody else's processes.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CONTROLLERS = ("memory", "pids", "cpu", "cpuacct")
"""What is asked for; `cpuacct` exists on version 1 only and merely counts."""

SHELTER = "shelter"
"""In the place of a controller: none."""

LEAF = "loopscope-engine-"
"""Begins the name of a leaf with an engine, or with the shell it starts from; the group above hands controllers on."""

_INNER = "inside"
_GROUP = re.compile(r"loopscope-(?:engine-)?(\d+)-(\d+)(?:-[0-9a-f]+)?$")
_SCOPE = "`systemd-run {user}--scope -p Delegate=yes loopscope ...`"
_prepared: set[Path] = set()
_lock = threading.Lock()


@dataclass(frozen=True)
class Home:
    """A directory in which groups with this controller can be made."""

    controller: str
    version: int
    parent: Path
    moves: bool = False
    """This process has to move into a leaf first."""


@dataclass(frozen=True)
class Missing:
    """Why a controller cannot be used here, and what would help."""

    controller: str
    why: str


@dataclass(frozen=True)
class Hierarchy:
    """Where one version's groups are."""

    version: int
    own: Path
    """The directory of this process's own group."""


def locate(mountinfo: str, membership: str, controller: str) -> Hierarchy | None:
    """This process's own group, from the texts of /proc/self/{mountinfo,cgroup}; None when it is not mounted here."""
    paths: dict[str, str] = {}
    for line in membership.splitlines():
        _, names, path = line.split(":", 2)
        paths |= dict.fromkeys(names.split(","), path)
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        version = {"cgroup": 1, "cgroup2": 2}.get(kind)
        if version is None or (version == 1 and controller not in options.split(",")):
            continue
        if version == 2 and controller in paths:
            continue
        root, mountpoint = (field.replace(r"\040", " ") for field in before.split(" ")[3:5])
        path = paths.get(controller if version == 1 else "", "")
        inside = os.path.relpath(path, root) if path.startswith("/") and ".." not in path.split("/") else ".."
        if not inside.startswith(".."):
            return Hierarchy(version, Path(mountpoint, inside))
    return None


def own_group(controller: str) -> Hierarchy | None:
    """The same of this process now. OSError where the kernel does not tell."""
    mountinfo = Path("/proc/self/mountinfo").read_text(errors="replace")
    return locate(mountinfo, Path("/proc/self/cgroup").read_text(), controller)


def find(controller: str) -> Home | Missing:
    """Where groups with `controller` can be made by this process. Changes nothing."""
    try:
        at = own_group(controller)
        if at is None:
            return Missing(controller, "no cgroup file system with this controller is mounted here")
        return _on_v1(controller, at.own) if at.version == 1 else _on_v2(controller, at.own)
    except (OSError, ValueError) as exc:
        return Missing(controller, f"cgroups cannot be read: {exc}")


def shelter() -> Home | None:
    """Where an ordinary user's sandbox gets a group without any limit; None where it needs none.

    On version 2 an agent of the user's own id may mount the group that it lives in, and freeze or kill all of it unless
    that is mounted with `nsdelegate`: it is not to be the engine's.
    """
    try:
        at = own_group(SHELTER)
        return Home(SHELTER, 2, at.own) if at is not None and _may_place(at.own) else None
    except (OSError, ValueError):
        return None


def _help() -> str:
    """How to get a group that can be used."""
    if not Path("/run/systemd/system").exists():
        return "`loopscope doctor` says how to get a group of its own"
    scope = _SCOPE.format(user="" if os.geteuid() == 0 else "--user ")
    return f"{scope} gives loopscope a group of its own"


def _on_v1(controller: str, own: Path) -> Home | Missing:
    if os.access(own, os.W_OK | os.X_OK) and os.access(own / "cgroup.procs", os.W_OK):
        return Home(controller, 1, own)
    return Missing(controller, f"{own} cannot be written; run as root, or let it be owned by you, or use cgroup v2")


def _on_v2(controller: str, own: Path) -> Home | Missing:
    if own.name.startswith(LEAF):
        base = own.parent
        if controller in _words(base / "cgroup.subtree_control") and _may_place(base):
            return Home(controller, 2, base)
    if controller not in _words(own / "cgroup.controllers"):
        return Missing(controller, f"not delegated to {own}; {_help()}")
    if not (_may_place(own) and os.access(own / "cgroup.subtree_control", os.W_OK)):
        return Missing(controller, f"{own} cannot be written; {_help()}")
    if not (own / "cgroup.type").exists():  # the root of all groups may hold processes beside groups
        return Home(controller, 2, own)
    if others := [pid for pid in _pids(own) if not is_ours(pid)]:
        return Missing(controller, f"{own} holds other processes (pid {others[0]}); {_help()}")
    return Home(controller, 2, own, moves=True)


def _may_place(base: Path) -> bool:
    """Whether this process may make groups below `base` and move its own into them (the kernel asks for the latter)."""
    return os.access(base, os.W_OK | os.X_OK) and os.access(base / "cgroup.procs", os.W_OK)


def _words(file: Path) -> list[str]:
    return file.read_text().split()


def _pids(group: Path) -> list[int]:
    return [int(word) for word in _words(group / "cgroup.procs")]


def _stat(pid: int) -> tuple[int, int] | None:
    """(parent, start time in ticks) of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rsplit(")", 1)[1].split()
    except OSError:
        return None
    return int(fields[1]), int(fields[19])


def is_ours(pid: int) -> bool:
    """Whether it is this process or one of its descendants (or gone)."""
    for _ in range(64):
        if pid == os.getpid():
            return True
        found = _stat(pid)
        if found is None:
            return True
        pid = found[0]
        if pid <= 1:
            return False
    return False


def prepare(homes: Mapping[str, Home]) -> None:
    """Make the homes ready, once per process: leave the group on version 2, hand controllers on, sweep what is dead.

    Raises OSError when the kernel refuses after all.
    """
    with _lock:
        for parent in dict.fromkeys(home.parent for home in homes.values()):
            if parent in _prepared:
                continue
            sweep(parent)
            wanted = [home for home in homes.values() if home.parent == parent and home.version == 2]
            if any(home.moves for home in wanted):
                leaf = parent / f"{LEAF}{_identity()}"
                leaf.mkdir(exist_ok=True)
                for pid in _pids(parent):
                    if is_ours(pid):
                        (leaf / "cgroup.procs").write_text(str(pid))
            for home in wanted:
                if home.controller != SHELTER and home.controller not in _words(parent / "cgroup.subtree_control"):
                    (parent / "cgroup.subtree_control").write_text(f"+{home.controller}")
            _prepared.add(parent)


def _identity() -> str:
    found = _stat(os.getpid())
    return f"{os.getpid()}-{found[1] if found else 0}"


def new_name() -> str:
    """A group's name: whose it is (pid and start time, so that a dead engine's can be told), and a random word."""
    return f"loopscope-{_identity()}-{secrets.token_hex(4)}"


def sweep(parent: Path) -> None:
    """Remove empty groups that engines left which are dead. Nobody else's, and none that holds a process."""
    for group in parent.glob("loopscope-*"):
        if (name := _GROUP.match(group.name)) is None:
            continue
        found = _stat(int(name[1]))
        if found is None or found[1] != int(name[2]):
            remove(group)


def place(home: Home, group: Path) -> Path:
    """Where a limited group's processes live: on version 2 one group further down.

    What is delegated to an ordinary user is owned by the agent's own id. It can mount its group in a namespace of its
    own, but sees nothing above the group that it was born in: so the limits stand above that.
    """
    return group / _INNER if home.version == 2 else group


def remove(group: Path) -> bool:
    """Remove an empty group; whether it is gone."""
    try:
        if (group / _INNER).is_dir():
            (group / _INNER).rmdir()
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def remove_soon(group: Path, patience_sec: float = 5.0) -> bool:
    """The same for a group whose processes have just been killed: the kernel may still be letting go of them."""
    until = time.monotonic() + patience_sec
    while not remove(group):
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    return True
