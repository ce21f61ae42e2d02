"""The watchdog, where no control group holds a sandbox's memory and processes: it counts from outside and kills.

A tick costs one small file for each process inside. Only when that leaves the limit in doubt (anonymous memory, counted
twice where forks share it, and all of the machine's shared memory together would pass it) is the count made exact:
proportional shares, memory files by descriptor or mapping, /dev/shm and memory file systems (`held.py`). What hides
from that (memory files in flight on a socket or in descriptors of one thread's own, file systems that are covered and
that no process stands in or has open, or that one thread alone sees, pages of the kernel's own) is caught by the second
line: when the machine itself runs short, the sandbox of ours that is seen to use most loses its largest process.
"""

from __future__ import annotations

import errno
import mmap
import os
import signal
import struct
import time

from loopscope.sandbox.keeper.bounds import Board
from loopscope.sandbox.keeper.held import Held, in_use
from loopscope.sandbox.keeper.system import is_ending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopscope.sandbox.keeper.bounds import Watched

SHORTEST_SEC, LONGEST_SEC = 0.1, 1.0
SHARE = 0.005
"""Of one processor's time, at most, unless a tick of a crowded sandbox takes longer than LONGEST_SEC allows."""
PATIENCE = 3
"""Ticks over the limit in which the largest process is killed; then all are."""
BLIND = 5
"""Looks in a row that failed before the sandbox is ended."""
_RESERVE_BYTES, _RESERVE_PART = 256 << 20, 0.02
_OURS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
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


def gone[T](exc: OSError, instead: T) -> T:
    """`instead` of what cannot be read since its process is gone; an error that is our own is raised."""
    if exc.errno in _OURS:
        raise exc
    return instead


class Watch:
    """Counts and bounds one sandbox."""

    def __init__(self, init: int, asked: Watched, board: Board, ranking: Ranking) -> None:
        self.memory = asked["memory"]
        self.pids = asked["pids"]
        self.board, self.ranking = board, ranking
        self.root = f"/proc/{init}/root"
        self.proc = os.open(f"{self.root}/proc", os.O_RDONLY | os.O_DIRECTORY)
        self.shm = os.open(f"{self.root}/dev/shm", os.O_RDONLY | os.O_DIRECTORY)
        self.mounts = os.readlink(f"/proc/{init}/ns/mnt")
        self.unevictable = 0
        held = Held(self.proc, [os.fstat(self.shm).st_dev])
        held.mounted("1")
        self.known = held.devices
        self.total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        self.strikes = 0
        self.stat = os.open(f"/proc/{init}/stat", os.O_RDONLY)
        self.failures = 0
        """Ticks in a row that failed."""
        self.due = self.started = time.monotonic()

    # -- reading ------------------------------------------------------------------------------------------------------

    def _read(self, path: str) -> bytes:
        """A file of the sandbox's own /proc; empty when the process is gone."""
        try:
            fd = os.open(path, os.O_RDONLY, dir_fd=self.proc)
        except OSError as exc:
            return gone(exc, b"")
        try:
            parts = []
            while chunk := os.read(fd, 1 << 20):
                parts.append(chunk)
            return b"".join(parts)
        except OSError as exc:
            return gone(exc, b"")
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
        except OSError as exc:
            return gone(exc, (pid, b""))
        try:
            threads = os.listdir(folder)
        except OSError as exc:
            return gone(exc, (pid, b""))
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
        held = Held(self.proc, self.known, self.unevictable)
        for pid in pids:
            share = kilobytes(self._read(f"{pid}/smaps_rollup"), (b"Pss_Anon", b"SwapPss", b"Pss_Shmem"))
            used[pid] = sum(share.values())
            self._open_files(pid, files, held)
        self._namespaces(pids, held)
        mapped: dict[tuple[int, int], int] = {}
        own = {pid: used[pid] for pid in pids}
        for pid in pids:
            own[pid] -= self._mapped(pid, mapped)
        shared = sum(files.values()) + sum(size for key, size in mapped.items() if key not in files)
        shared += in_use(self.shm) + held.bytes
        return used, sum(max(0, size) for size in own.values()) + shared

    def _open_files(self, pid: str, files: dict[tuple[int, int], int], held: Held) -> None:
        """Adds the memory files that a process has open to `files`, and what else it refers to, to `held`."""
        try:
            folder = os.open(f"{pid}/fd", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.proc)
        except OSError as exc:
            return gone(exc, None)
        others = []
        try:
            for name in os.listdir(folder):
                try:
                    target = os.readlink(name, dir_fd=folder)
                    if target.startswith("/memfd:"):
                        found = os.stat(name, dir_fd=folder)
                        files[found.st_dev, found.st_ino] = found.st_blocks * 512
                    elif target.startswith("/"):
                        others.append(name)
                except OSError:
                    continue  # closed meanwhile
            held.referred(pid, folder, others)
        except OSError as exc:
            gone(exc, None)
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

    def _namespaces(self, pids: list[str], held: Held) -> None:
        """Adds what processes mounted in mount namespaces of their own."""
        seen = {self.mounts}
        for pid in pids:
            try:
                space = os.readlink(f"{pid}/ns/mnt", dir_fd=self.proc)
            except OSError:
                continue
            if space not in seen:
                seen.add(space)
                held.mounted(pid)

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
        total = sum(rough.values()) + in_use(self.shm)
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

    def tick(self) -> bool:
        """Look once, act, and say when to look again (`due`).

        Returns whether to go on: after several looks in a row that failed nothing is bounded any more, and what cannot
        be watched has to end.
        """
        begin = time.process_time()
        seen = self.board.seen
        try:
            self._count()
            self.failures = 0
        except Exception:  # a file of the kernel's that we cannot read, of whatever kind, must not go unnoticed
            if not is_ending(self.stat):
                self.failures += 1
                seen["failed_ticks"] += 1
        cost = time.process_time() - begin
        seen["watch_usec"] += int(cost * 1e6)
        seen["ticks"] += 1
        self.due = time.monotonic() + min(LONGEST_SEC, max(SHORTEST_SEC, cost / SHARE))
        self.board.write()
        return self.failures < BLIND
