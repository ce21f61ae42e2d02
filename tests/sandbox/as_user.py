"""Run a command as an ordinary user, from root: `python as_user.py UID COMMAND...`.

The interpreter or the checkout may lie below a home that others cannot enter. In a mount namespace of our own such a home is
covered by an empty directory in which only what the tests need is shown again.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 1 << 18


def mount(source: str, target: str, kind: str | None, flags: int) -> None:
    if libc.mount(source.encode(), target.encode(), kind and kind.encode(), ctypes.c_ulong(flags), None):
        raise OSError(ctypes.get_errno(), f"mount {source} on {target}")


def closed_ancestor(path: Path) -> Path | None:
    """The first directory on the way to `path` that others may not enter."""
    for parent in reversed(path.parents):
        if not stat.S_IMODE(parent.stat().st_mode) & 0o001:
            return parent
    return None


def open_ways(needed: list[Path]) -> None:
    os.unshare(os.CLONE_NEWNS)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    closed: dict[Path, list[tuple[Path, int]]] = {}
    for path in needed:
        if (cover := closed_ancestor(path)) is not None:
            closed.setdefault(cover, []).append((path, os.open(path, os.O_PATH)))
    for cover, shown in closed.items():
        mount("open", str(cover), "tmpfs", 0)
        cover.chmod(0o755)
        for path, fd in shown:
            path.mkdir(parents=True, exist_ok=True)
            mount(f"/proc/self/fd/{fd}", str(path), None, MS_BIND | MS_REC)


def main() -> None:
    uid, command = int(sys.argv[1]), sys.argv[2:]
    here = Path(__file__).resolve().parents[2]
    needed = sorted({Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve(), here})
    open_ways(needed)
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.chdir(here)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
