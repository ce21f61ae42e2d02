"""Whether this process lives in a chroot: there the kernel lets nobody make a user namespace, root least of all.

To nest namespaces, the root that a process sees must be that of its mount namespace (`current_chrooted` in the kernel's
fs/namespace.c). A chroot into a plain directory has nothing mounted at its / besides, so that no mount can be made
private: bubblewrap's first step, `mount none on /`, ends with EINVAL.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from loopscope.sandbox.errors import SandboxUnavailableError
from loopscope.sandbox.keeper.system import mount_point

WHY = "this is a chroot, and the kernel makes no sandbox in one (its / is not the root of a mount namespace)"
REMEDY = "leave it and enter it from outside, as root, by a mount namespace of its own:"
COMMAND = (
    """unshare --mount sh -c 'mount --rbind "$0" "$0" && cd "$0" && pivot_root . . && umount -l . && """
    """exec chroot . /bin/bash' /path/to/the/chroot"""
)
"""`unshare --root` and a chroot into a mount would both be a chroot again."""


def is_chroot(mountinfo: str | None, is_outside: Callable[[], bool] = lambda: False) -> bool:
    """Whether nothing is mounted at /, or `is_outside` (see `has_more_outside`) says that there is another root.

    `mountinfo`: the text of /proc/self/mountinfo; None where it cannot be read.
    """
    lines = (mountinfo or "").splitlines()
    return bool(lines) and (all(mount_point(line) != "/" for line in lines) or is_outside())


def has_more_outside(proc: Path = Path("/proc")) -> bool:
    """Whether the first process sees another root in the same mount namespace; False where one may not look."""
    try:
        if (proc / "1/ns/mnt").readlink() != (proc / "self/ns/mnt").readlink():
            return False
        first, ours = (proc / "1/root").stat(), (proc / "self/root").stat()
    except OSError:
        return False
    return (first.st_dev, first.st_ino) != (ours.st_dev, ours.st_ino)


def refuse() -> None:
    """Before a start that can only fail.

    Raises:
        SandboxUnavailableError: this process lives in a chroot; says so, and what to do.
    """
    try:
        mountinfo = Path("/proc/self/mountinfo").read_text(errors="replace")
    except OSError:
        return
    if is_chroot(mountinfo, has_more_outside):
        raise SandboxUnavailableError(f"no sandbox can be started: {WHY}; {REMEDY} {COMMAND}")
