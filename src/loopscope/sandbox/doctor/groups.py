"""Control groups, loop devices and tmpfs: what the limits of a sandbox can be made of."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loopscope.sandbox import cgroup
from loopscope.sandbox.doctor.distribution import distribution
from loopscope.sandbox.doctor.finding import Area, Finding, Need, State
from loopscope.sandbox.doctor.machine import Machine
from loopscope.sandbox.doctor.surroundings import Surroundings, surroundings
from loopscope.sandbox.rootfs import SYSTEM_PATH

WANTED = ("memory", "pids", "cpu")
_DROP_IN = "/etc/systemd/system/user@.service.d"


@dataclass(frozen=True)
class Group:
    """Our own group of one controller."""

    version: int
    path: str
    """On this machine."""
    usable: bool
    """The controller is handed to it, and it can be written."""
    why: str = ""
    """What stands in the way."""
    read_only: str | None = None
    """Where it is mounted, when it is mounted read-only."""
    crowded: bool = False
    """Of version 2, and it holds processes that are not ours: the kernel then lets it hand nothing on."""


def own_group(machine: Machine, controller: str) -> Group | None:
    """Where groups with a controller would be made; None when no hierarchy with it is mounted."""
    mounts = machine.text("/proc/self/mountinfo") or ""
    at = cgroup.locate(mounts, machine.text("/proc/self/cgroup") or "", controller)
    if at is None:
        return None
    path = os.path.normpath(at.own)
    read_only = _read_only(mounts, path)
    if at.version == 2:
        controllers = (machine.text(f"{path}/cgroup.controllers") or "").split()
        if controller not in controllers:
            return Group(2, path, False, "not handed to our group")
    if read_only:
        return Group(at.version, path, False, "mounted read-only", read_only)
    if not os.access(machine.path(path), os.W_OK):
        return Group(at.version, path, False, "not writable for this user")
    if at.version == 2 and (pid := _stranger(machine, path)) is not None:
        return Group(2, path, False, f"our group holds other processes, such as {pid}", crowded=True)
    return Group(at.version, path, True)


def _stranger(machine: Machine, path: str) -> int | None:
    """A process besides ours in a group that can hand controllers on only when it holds none."""
    if Path(path).name.startswith(cgroup.LEAF) or not machine.exists(f"{path}/cgroup.type"):
        return None
    pids = map(int, (machine.text(f"{path}/cgroup.procs") or "").split())
    return next((pid for pid in pids if not cgroup.is_ours(pid)), None)


def _read_only(mounts: str, path: str) -> str | None:
    """The mount point that holds a group's directory, when it is read-only."""
    best, found = -1, None
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 6 or len(kind) < 3 or not kind[0].startswith("cgroup"):
            continue
        point = fields[4].rstrip("/")
        if f"{path}/".startswith(f"{point}/") and len(point) > best:
            closed = "ro" in fields[5].split(",") or "ro" in kind[2].split(",")
            best, found = len(point), point if closed else None
    return found


def kind_of(machine: Machine) -> str:
    """Version 1, version 2, both (`hybrid`), or none."""
    mounts = machine.text("/proc/self/mountinfo") or ""
    kinds = {line.partition(" - ")[2].split(" ")[0] for line in mounts.splitlines()}
    if {"cgroup", "cgroup2"} <= kinds:
        return "versions 1 and 2 (hybrid)"
    return "version 2" if "cgroup2" in kinds else "version 1" if "cgroup" in kinds else "none mounted"


def look_groups(machine: Machine) -> Iterator[Finding]:
    """Which hierarchies, and which controllers we may use beneath our own group."""
    groups = {name: own_group(machine, name) for name in WANTED}
    usable = [name for name, group in groups.items() if group and group.usable]
    lacking = {name: group for name, group in groups.items() if name not in usable}
    kind = kind_of(machine)
    if not lacking:
        fact = f"{kind}; {', '.join(usable)} can be limited beneath our own group"
        yield Finding(Area.LIMITS, "control groups", State.OK, fact, need=Need.OPTIONAL)
        return
    by_reason: dict[str, list[str]] = {}
    for name, group in lacking.items():
        by_reason.setdefault(group.why if group else "not mounted", []).append(name)
    reasons = "; ".join(f"{', '.join(names)}: {why}" for why, names in by_reason.items())
    remedy, commands = _delegation(machine, lacking, surroundings(machine))
    yield Finding(
        Area.LIMITS,
        "control groups",
        State.WEAK if usable else State.MISSING,
        f"{kind}; {f'only {chr(44).join(usable)}' if usable else 'nothing'} can be limited ({reasons})",
        cost=f"{', '.join(lacking)} of a sandbox is held by weaker means, see above",
        remedy=remedy,
        commands=commands,
        need=Need.OPTIONAL,
    )


def _delegation(machine: Machine, lacking: dict[str, Group | None], outer: Surroundings) -> tuple[str, tuple[str, ...]]:
    """How to be given a group of one's own."""
    if machine.exists("/run/systemd/system"):
        if machine.uid == 0:
            return "start loopscope in a group of its own:", (
                "systemd-run --scope -p Delegate=yes loopscope run STUDY",
            )
        commands = ["systemd-run --user --scope -p Delegate=yes loopscope run STUDY"]
        handed = machine.text(f"/sys/fs/cgroup/user.slice/user-{machine.uid}.slice/cgroup.controllers")
        if handed is not None and not set(lacking) <= set(handed.split()):
            commands = [
                machine.as_root(f"mkdir -p {_DROP_IN}"),
                "printf '[Service]\\nDelegate=cpu cpuset io memory pids\\n' | "
                + machine.as_root(f"tee {_DROP_IN}/delegate.conf"),
                machine.as_root("systemctl daemon-reload", f"systemctl restart user@{machine.uid}.service"),
                *commands,
            ]
        return "start loopscope in a group of its own:", tuple(commands)
    crowded = [group.path for group in lacking.values() if group and group.crowded]
    if crowded and len(crowded) == len(lacking):
        return "let what our group holds move into one beneath it:", (_make_room(crowded[0], tuple(lacking)),)
    if outer.container:
        return (
            "start the container with control groups it may write: `docker run --privileged --cgroupns=private ...`, "
            "or with podman `--security-opt unmask=/sys/fs/cgroup`",
            (),
        )
    if closed := sorted({group.read_only for group in lacking.values() if group and group.read_only}):
        return "", tuple(machine.as_root(f"mount -o remount,rw {point}") for point in closed)
    if machine.uid != 0 and any(group for group in lacking.values()):
        made = {(group.version, group.path): "" for group in lacking.values() if group}
        script = "; ".join(_let_in(version, path.rstrip("/"), machine.uid) for version, path in made)
        command = f"{machine.as_root(f'sh -c {shlex.quote(script)}')} $$"
        if command.startswith("su "):  # its words come after those of its own shell
            command = f"su -c {shlex.quote(script)} root $$"
        return "have groups of your own made, and let this shell enter them:", (command,)
    return "mount them, as root:", ("mount -t cgroup2 none /sys/fs/cgroup",)


def _hand_on(group: str, controllers: tuple[str, ...] = WANTED) -> str:
    return f"for c in {' '.join(controllers)}; do echo +$c >{group}/cgroup.subtree_control; done"


def _make_room(group: str, controllers: tuple[str, ...]) -> str:
    """Shell: a group of version 2 hands controllers on, and what it held lives in a leaf, as an engine's would."""
    leaf = f"{group.rstrip('/')}/{cgroup.LEAF}shell"
    move = f"for p in $(cat {group}/cgroup.procs); do echo $p >{leaf}/cgroup.procs; done"
    return f"mkdir -p {leaf}; {move} 2>/dev/null; {_hand_on(group, controllers)}"


def _let_in(version: int, path: str, uid: int) -> str:
    """Shell, as root: a group for the user below `path`, with the process $0 in it; on version 2 in a leaf of it."""
    own = f"{path}/loopscope-{uid}"
    if version == 1:
        return f"mkdir -p {own}; chown -R {uid} {own}; echo $0 >{own}/cgroup.procs"
    leaf = f"{own}/{cgroup.LEAF}shell"
    # With nsdelegate, which systemd sets by itself, an agent can neither freeze nor kill a group of its own user's.
    closed = f"mount -o remount,nsdelegate $(stat -c %m {path or '/'})"
    made = f"mkdir -p {leaf}; {_hand_on(own)}; chown -R {uid} {own}; echo $0 >{leaf}/cgroup.procs"
    return f"{closed}; {_hand_on(path)}; {made}"


def look_disk_means(machine: Machine) -> Iterator[Finding]:
    """What a sized file system for a sandbox could be: a loop image (root), else memory."""
    program = machine.which("mkfs.ext4", SYSTEM_PATH)
    mount = machine.which("mount", SYSTEM_PATH)
    device = machine.exists("/dev/loop-control")
    if machine.uid != 0:
        fact = "only root can mount them; sized tmpfs is used instead"
        yield Finding(
            Area.LIMITS,
            "loop images",
            State.WEAK,
            fact,
            cost="what agents write into limited directories counts as memory",
            remedy="start loopscope as root where agents write gigabytes",
            need=Need.OPTIONAL,
        )
    elif device and program and mount:
        yield Finding(Area.LIMITS, "loop images", State.OK, f"/dev/loop-control, {program}", need=Need.OPTIONAL)
    else:
        lacks = [
            text
            for text, there in (("/dev/loop-control", device), ("mkfs.ext4", program), ("mount", mount))
            if not there
        ]
        where = surroundings(machine)
        commands = () if program and mount else distribution(machine).install("e2fsprogs", "mount")
        inside = "start the container with `--privileged`" if where.container else "load the module: `modprobe loop`"
        yield Finding(
            Area.LIMITS,
            "loop images",
            State.MISSING,
            f"no {' and no '.join(lacks)}",
            cost="the size of a sandbox's files is held by tmpfs, which counts as memory",
            remedy="" if device else inside,
            commands=commands,
            need=Need.OPTIONAL,
        )
    if "\ttmpfs" not in f"\n{machine.text('/proc/filesystems') or ''}".replace("nodev", ""):
        yield Finding(
            Area.LIMITS,
            "tmpfs",
            State.MISSING,
            "this kernel has none",
            cost="temporary files and shared memory of a sandbox cannot be limited",
            remedy="boot a kernel with CONFIG_TMPFS",
            need=Need.REQUIRED,
        )
