"""The watchdog, where no control group holds a sandbox's memory and processes: it counts from outside and kills.

A tick costs one small file for each process inside. Only when that leaves the limit in doubt (anonymous memory, counted
twice where forks share it, and all of the machine's shared memory together would pass it) is the count made exact:
proportional shares, memory files by descriptor or mapping, /dev/shm and the memory file systems of nested namespaces.
What hides from that (memory files in flight on a socket or in descriptors of one thread's own, file systems that were
covered or left by chroot or that one thread alone sees, pages of the kernel's own) is caught by the second line: when
the machine itself runs short, the sandbox of ours that is seen to use most loses its largest process.
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
import time

from loopscope.sandbox.keeper.bounds import Board
from loopscope.sandbox.keeper.system import mount_point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHORTEST_SEC, LONGEST_SEC = 0.1, 1.0
SHARE = 0.005
"""Of one processor's time, at most, unless a tick of a crowded sandbox takes longer than LONGEST_SEC allows."""
PATIENCE = 3
"""Ticks over the limit in which the largest process is killed; then all are."""
_RESERVE_BYTES, _RESERVE_PART = 256 << 20, 0.02
_SLOT = struct.Struct("=QQ")
SLOTS = 1024


class Ranking:
    """Shared by the keepers of one hub: how much each one's sandbox uses."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, _SLOT.size * SLOTS)
        self.mine = 0

    def tell(self, used: int) -> None:
        """This keeper's sandbox uses so many bytes."""
        _SLOT.pack_into(self.memory, self.mine * _SLOT.size, os.getpid(), used)

    def is_first(self, used: int) -> bool:
        """Whether no living keeper's sandbox uses more."""
        for at in range(0, len(self.memory), _SLOT.size):
            pid, other = _SLOT.unpack_from(self.memory, at)
            if other > used and pid != os.getpid() and os.path.exists(f"/proc/{pid}"):
                return False
        return True


def kilobytes(text: bytes, names: tuple[bytes, ...]) -> dict[bytes, int]:
    """Of a text of `Name:  number kB` lines, the named ones in bytes; several lines of one name are added up."""
    found = dict.fromkeys(names, 0)
    for line in text.splitlines():
        name, _, rest = line.partition(b":")
        if name in found:
            found[name] += int(rest.split()[0]) << 10
    return found


class Watch:
    """Counts and bounds one sandbox."""

    def __init__(self, init: int, asked: dict[str, Any], board: Board, ranking: Ranking) -> None:
        self.memory: int = asked["memory"]
        self.pids: int = asked["pids"]
        self.board, self.ranking = board, ranking
        self.root = f"/proc/{init}/root"
        self.proc = os.open(f"{self.root}/proc", os.O_RDONLY | os.O_DIRECTORY)
        self.shm = os.open(f"{self.root}/dev/shm", os.O_RDONLY | os.O_DIRECTORY)
        self.mounts = os.readlink(f"/proc/{init}/ns/mnt")
        self.unevictable = 0
        self.known = {os.fstat(self.shm).st_dev, *self._memory_mounts("1")}
        self.total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        self.strikes = 0
        self.due = self.started = time.monotonic()

    # -- reading ------------------------------------------------------------------------------------------------------

    def _read(self, path: str) -> bytes:
        """A file of the sandbox's own /proc; empty when the process is gone."""
        try:
            fd = os.open(path, os.O_RDONLY, dir_fd=self.proc)
        except OSError:
            return b""
        try:
            parts = []
            while chunk := os.read(fd, 1 << 20):
                parts.append(chunk)
            return b"".join(parts)
        except OSError:
            return b""
        finally:
            os.close(fd)

    def _roughly(self) -> tuple[dict[str, int], int]:
        """(anonymous memory by process, threads in all): an upper bound, since forks share pages.

        A process is named as `pid`, or as `pid/task/tid` where its first thread has ended before the others: that
        one's files in /proc are empty.
        """
        used: dict[str, int] = {}
        threads = 0
        for pid in os.listdir(self.proc):
            if pid.isdigit() and (text := self._read(f"{pid}/status")):
                # From the line's start: a process may be called `Threads:`.
                own = int(text.partition(b"\nThreads:")[2].partition(b"\n")[0] or 0)
                threads += own
                at = pid
                if own > 1 and b"\nRssAnon:" not in text:
                    at, text = self._living(pid)
                used[at] = sum(kilobytes(text, (b"RssAnon", b"VmSwap", b"VmPTE")).values())
        return used, threads

    def _living(self, pid: str) -> tuple[str, bytes]:
        """(name, status) of a thread that has not ended; (pid, b"") when all have."""
        try:
            folder = os.open(f"{pid}/task", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.proc)
        except OSError:
            return pid, b""
        try:
            threads = os.listdir(folder)
        except OSError:
            return pid, b""
        finally:
            os.close(folder)
        for thread in threads:
            text = self._read(f"{pid}/task/{thread}/status")
            if b"\nRssAnon:" in text:
                return f"{pid}/task/{thread}", text
        return pid, b""

    def _exactly(self, pids: list[str]) -> tuple[dict[str, int], int]:
        """(own and proportional memory by process, bytes of shared memory that this sandbox holds)."""
        used: dict[str, int] = {}
        files: dict[tuple[int, int], int] = {}
        for pid in pids:
            share = kilobytes(self._read(f"{pid}/smaps_rollup"), (b"Pss_Anon", b"SwapPss", b"Pss_Shmem"))
            used[pid] = sum(share.values())
            self._memory_files(pid, files)
        mapped: dict[tuple[int, int], int] = {}
        own = {pid: used[pid] for pid in pids}
        for pid in pids:
            own[pid] -= self._mapped(pid, mapped)
        shared = sum(files.values()) + sum(size for key, size in mapped.items() if key not in files)
        shared += _in_use(self.shm) + self._nested(pids)
        return used, sum(max(0, size) for size in own.values()) + shared

    def _memory_files(self, pid: str, files: dict[tuple[int, int], int]) -> None:
        try:
            folder = os.open(f"{pid}/fd", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.proc)
        except OSError:
            return
        try:
            for name in os.listdir(folder):
                if os.readlink(name, dir_fd=folder).startswith("/memfd:"):
                    found = os.stat(name, dir_fd=folder)
                    files[found.st_dev, found.st_ino] = found.st_blocks * 512
        except OSError:
            pass
        finally:
            os.close(folder)

    def _mapped(self, pid: str, mapped: dict[tuple[int, int], int]) -> int:
        """Adds shared anonymous memory and mapped memory files to `mapped`; all shared memory that `pid` maps."""
        key: tuple[int, int] | None = None
        ours = False
        total = 0
        for line in self._read(f"{pid}/smaps").splitlines():
            head, _, rest = line.partition(b" ")
            if b"-" in head and not head.endswith(b":"):
                fields = rest.split(None, 4)
                name = fields[4] if len(fields) > 4 else b""
                ours = name.startswith((b"/memfd:", b"/dev/zero (deleted)", b"/dev/shm/"))
                major, minor = (int(part, 16) for part in fields[2].split(b":"))
                key = None if name.startswith(b"/dev/shm/") else (os.makedev(major, minor), int(fields[3]))
            elif ours and head == b"Pss:":
                size = int(rest.split()[0]) << 10
                total += size
                if key is not None:
                    mapped[key] = mapped.get(key, 0) + size
        return total

    def _nested(self, pids: list[str]) -> int:
        """Bytes in memory file systems that processes mounted in mount namespaces of their own."""
        seen, devices, total = {self.mounts}, set(self.known), 0
        for pid in pids:
            try:
                space = os.readlink(f"{pid}/ns/mnt", dir_fd=self.proc)
            except OSError:
                continue
            if space not in seen:
                seen.add(space)
                for device, size in self._memory_mounts(pid).items():
                    total += 0 if device in devices else size
                    devices.add(device)
        return total

    def _memory_mounts(self, pid: str) -> dict[int, int]:
        """Device and bytes in use of the memory file systems that a process sees."""
        found: dict[int, int] = {}
        for line in self._read(f"{pid}/mountinfo").decode(errors="surrogateescape").splitlines():
            before, _, after = line.partition(" - ")
            if not after.startswith(("tmpfs ", "ramfs ")):
                continue
            try:
                fd = os.open(f"{pid}/root{mount_point(before)}", os.O_PATH, dir_fd=self.proc)
            except OSError:
                continue
            # A ramfs counts nothing itself. What it holds is never given up, and the machine counts that.
            found[os.fstat(fd).st_dev] = self.unevictable if after.startswith("ramfs ") else _in_use(fd)
            os.close(fd)
        return found

    # -- acting -------------------------------------------------------------------------------------------------------

    def _kill(self, pids: list[str]) -> None:
        for pid in pids:
            try:
                fd = os.open(pid.partition("/")[0], os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.proc)
            except OSError:
                continue
            try:
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            except OSError:
                pass
            os.close(fd)

    def _over(self, used: dict[str, int]) -> None:
        """The largest goes first, as the kernel would have it; when that does not help, all but the first process."""
        self.strikes += 1
        self.board.seen["memory_hits"] += 1
        victims = sorted((pid for pid in used if pid != "1"), key=used.__getitem__, reverse=True)
        self._kill(victims[:1] if self.strikes <= PATIENCE else victims)

    def _count(self) -> None:
        rough, threads = self._roughly()
        with open("/proc/meminfo", "rb") as f:
            machine = kilobytes(f.read(), (b"MemAvailable", b"Shmem", b"Unevictable", b"Mlocked"))
        self.unevictable = max(0, machine[b"Unevictable"] - machine[b"Mlocked"])
        total = sum(rough.values()) + _in_use(self.shm)
        sizes = rough
        if self.memory and sum(rough.values()) + machine[b"Shmem"] + self.unevictable > self.memory:
            sizes, total = self._exactly(list(rough))
        self.ranking.tell(total)
        seen = self.board.seen
        seen["memory_peak"] = max(seen["memory_peak"], total)
        seen["pids_peak"] = max(seen["pids_peak"], threads)
        short = machine[b"MemAvailable"] < max(_RESERVE_BYTES, self.total * _RESERVE_PART)
        if self.memory and (total > self.memory or (short and self.ranking.is_first(total))):
            self._over(sizes)
        else:
            self.strikes = 0
        if self.pids and threads > self.pids:
            seen["pids_hits"] += 1
            self._kill([pid for pid in rough if pid != "1"])

    def tick(self) -> None:
        """Look once, act, and say when to look again (`due`)."""
        begin = time.process_time()
        try:
            self._count()
        except (OSError, ValueError):
            pass  # the sandbox is ending under our eyes
        cost = time.process_time() - begin
        seen = self.board.seen
        seen["watch_usec"] += int(cost * 1e6)
        seen["ticks"] += 1
        self.due = time.monotonic() + min(LONGEST_SEC, max(SHORTEST_SEC, cost / SHARE))
        self.board.write()


def _in_use(fd: int) -> int:
    """Bytes in use in the file system of `fd`."""
    found = os.fstatvfs(fd)
    return (found.f_blocks - found.f_bfree) * found.f_frsize
