"""The few system calls that Python has no name for."""

from __future__ import annotations

import ctypes
import os
import resource
import struct

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_NOATIME = 2, 4, 8, 32, 1024
MS_BIND, MS_REC, MS_PRIVATE, MS_SLAVE = 0x1000, 0x4000, 1 << 18, 1 << 19

PF_EXITING = 4

SYS_CLOSE_RANGE = 436
"""The same on every architecture."""

libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int) -> None:
    """prctl(2) with one argument; errors are ignored where the kernel lacks the option."""
    libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """mount(2)."""
    kind_bytes, data = (None if text is None else text.encode() for text in (kind, options))
    if libc.mount(os.fsencode(source), os.fsencode(target), kind_bytes, ctypes.c_ulong(flags), data):
        raise OSError(ctypes.get_errno(), f"mount {source} on {target}")


def mount_point(line: str) -> str:
    """Where a line of /proc/<pid>/mountinfo says that a file system is mounted; blanks and the like are octal there."""
    parts = line.split(" ")[4].split("\\")
    return parts[0] + "".join(chr(int(part[:3], 8)) + part[3:] for part in parts[1:])


def is_ending(stat: int) -> bool:
    """Whether a process has ended, or has begun to; `stat`: its /proc/<pid>/stat, open."""
    try:
        return bool(int(os.pread(stat, 4096, 0).rsplit(b")", 1)[1].split()[6]) & PF_EXITING)
    except OSError:
        return True


def set_capabilities(keep: int) -> None:
    """Reduce permitted and effective capabilities to the bit mask `keep`; nothing is inheritable."""
    low, high = keep & 0xFFFFFFFF, keep >> 32
    header = struct.pack("=Ii", 0x20080522, 0)
    data = struct.pack("=6I", low, low, 0, high, high, 0)
    if libc.capset(header, data):
        raise OSError(ctypes.get_errno(), "capset")


def close_from(first: int) -> None:
    """Close every descriptor from `first` on.

    `os.closerange` would do it one by one in interpreters that were built for an old libc: a tenth of a second.
    """
    if libc.syscall(SYS_CLOSE_RANGE, ctypes.c_uint(first), ctypes.c_uint(0xFFFFFFFF), ctypes.c_uint(0)):
        os.closerange(first, min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1 << 16))


def close_on_exec(first: int) -> None:
    """Let no descriptor from `first` on outlive the next exec: what `socket.recv_fds` receives would."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= first:
            try:
                os.set_inheritable(int(name), False)
            except OSError:
                pass  # the one that listed them


def hide_arguments() -> None:
    """Blank this program's command line: its forks are visible in the sandbox and need not name host paths."""
    with open("/proc/self/stat", "rb") as f:
        fields = f.read().rsplit(b")", 1)[1].split()
    start, end = int(fields[45]), int(fields[46])
    name = b"loopscope-exec"
    if end - start > len(name):
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, name, len(name))


def read_all(fd: int, limit: int = 1 << 26) -> bytes:
    """Read `fd` to its end (at most `limit` bytes)."""
    parts = []
    while limit > 0 and (chunk := os.read(fd, min(limit, 1 << 16))):
        parts.append(chunk)
        limit -= len(chunk)
    return b"".join(parts)
