"""What bounds a sandbox, applied by the processes that enter: control groups, rlimits, processors, the OOM killer."""

from __future__ import annotations

import errno
import os
import resource
import struct
import time

from loopscope.sandbox.keeper.system import MS_NOEXEC, MS_NOSUID, MS_REMOUNT, mount

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    class Watched(TypedDict):
        """What the watchdog is to hold; 0 for what it need not."""

        memory: int
        """Bytes."""
        pids: int
        """Processes and threads."""

    class Asked(TypedDict):
        """The bounds of one sandbox, as the engine asks for them."""

        groups: list[tuple[str, list[tuple[str, str, bool]], str]]
        """(group, its settings as (file, text, whether it must succeed), the group that holds the processes: itself or
        one below it)."""
        nproc: int
        """RLIMIT_NPROC; 0: none."""
        cpus: list[int]
        """Processors to be held to by affinity; empty: none."""
        filter: bytes
        """Of system calls; empty: none."""
        watch: Watched


FIELDS = ("memory_peak", "memory_hits", "pids_peak", "pids_hits", "cpu_usec", "watch_usec", "ticks", "failed_ticks",
          "terminals_errno")  # fmt: skip
"""What the board holds, in this order, each as an unsigned 64-bit number."""

_BOARD = struct.Struct(f"={len(FIELDS)}Q")
BOARD_BYTES = _BOARD.size
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)
"""(soft, hard) number of descriptors, as this program was started with it."""
ENTRANTS_OOM_ADJ, COMMANDS_OOM_ADJ = 500, 1000
"""The kernel kills commands first, then what is ours inside, and neither engine nor keeper while those are there."""


class Board:
    """A memory file shared with the engine: the watchdog writes what it saw, the engine reads it at any time."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        found = os.pread(fd, BOARD_BYTES, 0)
        values = _BOARD.unpack(found) if len(found) == BOARD_BYTES else (0,) * len(FIELDS)
        self.seen = dict(zip(FIELDS, values, strict=True))
        """Goes on from what an earlier keeper of the same sandbox saw."""

    def write(self) -> None:
        """Publish `seen`."""
        os.pwrite(self.fd, _BOARD.pack(*(self.seen[name] for name in FIELDS)), 0)


def read_board(fd: int) -> dict[str, int]:
    """The board's present values."""
    return Board(fd).seen


def write_file(path: str, text: str) -> None:
    """One write(2), as control files want it."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


class Bounds:
    """The bounds of one sandbox, but for what the watchdog holds."""

    def __init__(self, asked: Asked) -> None:
        self.groups, self.nproc = asked["groups"], asked["nproc"]
        self.cpus, self.filter = asked["cpus"], asked["filter"]

    def make_groups(self) -> None:
        """Make the groups and set their limits; what exists already (after a freeze) is kept with its counts."""
        for group, settings, place in self.groups:
            try:
                os.mkdir(group, 0o755)
            except FileExistsError:
                leave_room(group, settings)
                self.thaw()
            else:
                for name, text, must in settings:
                    try:
                        write_file(f"{group}/{name}", text)
                    except OSError:
                        if must:
                            raise
            if not os.path.isdir(place):
                os.mkdir(place, 0o755)

    def join(self) -> None:
        """Put this process, and so all that it will fork, under the bounds that are inherited.

        Changing the group costs up to a tenth of a second when no other process did lately (the kernel waits for all
        processors), hence once for each sandbox and not for each command.
        """
        for _, _, place in self.groups:
            write_file(f"{place}/cgroup.procs", "0")
        if self.cpus:
            os.sched_setaffinity(0, self.cpus)
        try:
            write_file("/proc/self/oom_score_adj", str(ENTRANTS_OOM_ADJ))
        except OSError:
            pass  # somebody raised it above that already

    def move(self, pid: int) -> None:
        """Put another process, that has no child yet, into the groups."""
        for _, _, place in self.groups:
            write_file(f"{place}/cgroup.procs", str(pid))
        if self.cpus:
            os.sched_setaffinity(pid, self.cpus)

    def thaw(self) -> None:
        """Let the processes in the groups run on, if an agent has frozen them.

        On version 2 an ordinary user's agent owns the group that it lives in; where the file system is not mounted with
        `nsdelegate` it may freeze that, and with it the porter. SIGKILL ends what is frozen as well.
        """
        for group, _, place in self.groups:
            if place != group:
                try:
                    write_file(f"{place}/cgroup.freeze", "0")
                except OSError:
                    pass  # Linux before 5.2 cannot freeze it either

    def restrict(self) -> None:
        """What is set inside the user namespace, where the kernel counts by that namespace."""
        # How many descriptors may be in flight on sockets is counted by user and held against the sender's own limit.
        # An ordinary user's sandboxes share their user with engine and keepers, whose limit has to stay the higher.
        most = FILES[1] // 2 if FILES[1] > 0 else 1 << 19
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES[0], most) if FILES[0] > 0 else most, most))
        if self.nproc:
            highest = resource.getrlimit(resource.RLIMIT_NPROC)[1]
            bound = self.nproc if highest == resource.RLIM_INFINITY else min(self.nproc, highest)
            resource.setrlimit(resource.RLIMIT_NPROC, (bound, bound))

    def settle(self) -> None:
        """Wait until the groups hold no process; all of them have been killed."""
        until = time.monotonic() + 5
        for _, _, place in self.groups:
            while time.monotonic() < until:
                try:
                    with open(f"{place}/cgroup.procs") as f:
                        if not f.read(1):
                            break
                except OSError:
                    break
                time.sleep(0.001)

    def remove_groups(self) -> None:
        """Remove the groups; their processes are dead."""
        until = time.monotonic() + 5
        for group, _, place in self.groups:
            for folder in dict.fromkeys((place, group)):
                while time.monotonic() < until:
                    try:
                        os.rmdir(folder)
                        break
                    except FileNotFoundError:
                        break
                    except OSError:
                        time.sleep(0.002)


INSIDE = {
    **dict.fromkeys(
        (f"max_{kind}_namespaces" for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time")), 256
    ),
    "max_inotify_instances": 32,
}
"""Of what the kernel counts by user and gives to all sandboxes together, so much to each."""


PSEUDO_TERMINALS = 256
"""In a sandbox's own /dev/pts; all sandboxes together have kernel.pty.max less 1,024, which is 3,072 as a rule."""


def bound_shares(chain: list[int], proc: str) -> int:
    """Set `INSIDE` and `PSEUDO_TERMINALS`, by a process of its own; errno of why the latter could not be, 0 otherwise.

    `chain`: a sandbox's namespaces, those of users and of mounts first; `proc`: a procfs that can be written.
    """
    pid = os.fork()
    if pid == 0:
        failed = errno.EPROTO
        try:
            os.setns(chain[0], 0)
            for name, most in INSIDE.items():
                try:
                    write_file(f"{proc}/sys/user/{name}", str(most))
                except OSError:
                    continue  # this kernel has no such limit, or shows it read-only
            os.setns(chain[1], 0)
            options = f"max={PSEUDO_TERMINALS},ptmxmode=666,mode=620"
            mount("devpts", "/dev/pts", None, MS_REMOUNT | MS_NOSUID | MS_NOEXEC, options)
            failed = 0
        except OSError as exc:
            failed = exc.errno or failed
        finally:
            os._exit(failed)
    _, status = os.waitpid(pid, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else errno.EPROTO


def leave_room(group: str, settings: list[tuple[str, str, bool]]) -> None:
    """Before processes return to a group: what earlier ones left in memory file systems is not held against the new."""
    limits = {name: text for name, text, _ in settings if name in ("memory.limit_in_bytes", "memory.max")}
    for name, text in limits.items():
        try:
            with open(f"{group}/memory.stat") as f:
                stat = dict(line.split() for line in f)
        except (OSError, ValueError):
            return
        left = int(stat.get("total_shmem", stat.get("shmem", "0")))
        swap = f"{group}/memory.memsw.limit_in_bytes"
        order = [swap, f"{group}/{name}"] if left else [f"{group}/{name}", swap]
        for path in order:
            try:
                write_file(path, str(int(text) + left))
            except OSError:
                continue
