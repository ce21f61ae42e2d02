"""Memory file systems that the processes of a sandbox hold: by mount, by what is open, by where somebody stands."""

from __future__ import annotations

import ctypes
import os

from loopscope.sandbox.keeper.system import libc, mount_point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

TMPFS, RAMFS = 0x01021994, 0x858458F6
"""Types of file systems as statfs(2) tells them."""


def in_use(fd: int) -> int:
    """Bytes in use in the file system of `fd`."""
    found = os.fstatvfs(fd)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def file_system(fd: int) -> int:
    """Type of the file system of `fd`; 0 where that cannot be told."""
    found = ctypes.create_string_buffer(256)
    if libc.fstatfs(fd, found):
        return 0
    return ctypes.c_long.from_buffer(found).value & 0xFFFFFFFF


def mounts(fd: int) -> list[str]:
    """Lines of a mountinfo, whose descriptor is closed."""
    with open(fd, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        return file.readlines()


def device_of(line: str) -> int:
    """The device that a line of mountinfo tells of."""
    major, _, minor = line.split(" ")[2].partition(":")
    return os.makedev(int(major), int(minor))


def outside() -> set[int]:
    """Devices of the file systems of this process itself: a command inside may have a host's file for its input."""
    return {device_of(line) for line in mounts(os.open("/proc/self/mountinfo", os.O_RDONLY))}


class Held:
    """What one look found; each file system is counted once."""

    def __init__(self, proc: int, known: Iterable[int] = (), unevictable: int = 0) -> None:
        """`proc`: the sandbox's own /proc; `known`: devices that count elsewhere or not at all, besides the host's.

        `unevictable`: bytes of the machine's memory that can never be given up. That is what a ramfs is taken to hold,
        for it counts nothing itself.
        """
        self.proc, self.unevictable = proc, unevictable
        self.devices = {*known, *outside()}
        """Of all file systems that were looked at."""
        self.bytes = 0

    def _add(self, path: str, folder: int, device: int | None = None) -> None:
        """Count the file system that a path leads to, if it is one of memory and, where that is given, this device."""
        try:
            if device is None and os.stat(path, dir_fd=folder).st_dev in self.devices:
                return
            fd = os.open(path, os.O_PATH, dir_fd=folder)
        except OSError:
            return
        try:
            found = os.fstat(fd).st_dev
            if found in self.devices or device not in (None, found):
                return
            self.devices.add(found)
            kind = file_system(fd)
            self.bytes += in_use(fd) if kind == TMPFS else self.unevictable if kind == RAMFS else 0
        finally:
            os.close(fd)

    def mounted(self, pid: str) -> None:
        """Count what a process sees mounted. Of what is covered the path leads elsewhere."""
        try:
            lines = mounts(os.open(f"{pid}/mountinfo", os.O_RDONLY, dir_fd=self.proc))
        except OSError:
            return
        for line in lines:
            before, _, after = line.partition(" - ")
            if after.startswith(("tmpfs ", "ramfs ")):
                self._add(f"{pid}/root{mount_point(before)}", self.proc, device_of(before))

    def referred(self, pid: str, folder: int, names: Iterable[str]) -> None:
        """Count what a process stands in or has open, also where no path leads to it any more.

        Args:
            pid: the process.
            folder: its directory of descriptors, open.
            names: of those to look at.
        """
        self._add(f"{pid}/cwd", self.proc)
        self._add(f"{pid}/root", self.proc)
        for name in names:
            self._add(name, folder)
