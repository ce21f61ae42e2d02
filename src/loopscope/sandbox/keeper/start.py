"""Starts one bubblewrap and holds on to its namespaces."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import time

from loopscope.sandbox.keeper import storage
from loopscope.sandbox.keeper.bounds import Bounds, bound_shares
from loopscope.sandbox.keeper.porter import Porter
from loopscope.sandbox.keeper.system import (
    MS_BIND,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_REC,
    PR_SET_PDEATHSIG,
    close_on_exec,
    is_ending,
    mount,
    prctl,
    read_all,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopscope.sandbox.keeper.requests import LaunchRequest

NS_GET_USERNS = 0xB701
START_TIMEOUT_SEC = 60.0
NAMESPACES = ("mnt", "pid", "net", "ipc", "uts", "cgroup")


def stage(where: str, binds: list[tuple[str, str]]) -> None:
    """As real root: gather what bubblewrap is to bind in one tmpfs that a mapped uid can reach.

    Mapped uids may not walk through a 0700 home on the way to a source; real root may.
    """
    os.unshare(os.CLONE_NEWNS)
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    fds = [(os.open(source, os.O_PATH | os.O_CLOEXEC), os.path.isdir(source), name) for source, name in binds]
    mount("stage", where, "tmpfs", MS_NOSUID | MS_NODEV)
    os.chmod(where, 0o755)
    for fd, is_dir, name in fds:
        target = f"{where}/{name}"
        if is_dir:
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
        mount(f"/proc/self/fd/{fd}", target, None, MS_BIND | MS_REC)


def become_bwrap(
    launch: LaunchRequest, namespaces: list[int], mapped: int, go: int, out: int, err: int, info: int
) -> None:
    """In the forked child: enter the files' namespaces, stage, map ids, and turn into bubblewrap. Does not return."""
    parent = os.getppid()
    try:
        null = os.open("/dev/null", os.O_RDWR)
        for target, fd in ((0, null), (1, out), (2, err)):
            os.dup2(fd, target)
        close_on_exec(3)
        storage.join(namespaces)
        if launch["shm"]:
            where, size, inodes = launch["shm"]
            storage.shared_memory(where, size, inodes, launch["ids"][0] if launch["ids"] else None)
        if launch["ids"]:
            stage(launch["stage"], launch["binds"])
            os.unshare(os.CLONE_NEWUSER)
        os.write(mapped, b"x")
        if os.read(go, 1) != b"x":
            os._exit(125)
        if launch["ids"]:
            os.setgroups([])
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        os.set_inheritable(info, True)
        argv = [arg.replace("@INFO@", str(info)) for arg in launch["argv"]]
        if launch["bounds"]["filter"]:
            argv[1:1] = ["--seccomp", str(filter_file(launch["bounds"]["filter"]))]
        os.execve(argv[0], argv, {"PATH": "/usr/bin:/bin"})
    except BaseException as exc:
        os.write(2, f"{type(exc).__name__}: {exc}\n".encode(errors="replace"))
    os._exit(125)


def filter_file(code: bytes) -> int:
    """An inheritable descriptor from which bubblewrap reads the system call filter of the first process inside."""
    fd = os.memfd_create("filter", 0)
    os.write(fd, code)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def wait_readable(fd: int, until: float) -> None:
    """Wait for data or end of file on `fd`; TimeoutError at the monotonic time `until`."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    if not poll.poll(max(0, int((until - time.monotonic()) * 1000))):
        raise TimeoutError("bubblewrap did not get ready")


class Sandbox:
    """One running bubblewrap: its process, its first process inside, and handles on its namespaces."""

    def __init__(self, launch: LaunchRequest, files: list[int]) -> None:
        """`files`: descriptors of the writable files' root and of the namespaces in which they are mounted."""
        until = time.monotonic() + START_TIMEOUT_SEC
        mapped_r, mapped_w = os.pipe()
        go_r, go_w = os.pipe()
        out_r, out_w = os.pipe()
        err_r, err_w = os.pipe()
        info_r, info_w = os.pipe()
        self.caps = launch["caps"]
        self.files = files[0] if files else -1
        self.init_fd = -1
        self.bounds = Bounds(launch["bounds"])
        self.bounds.make_groups()
        self.porter = Porter(self.bounds, self.caps)
        self.bwrap = os.fork()
        if self.bwrap == 0:
            become_bwrap(launch, files[1:], mapped_w, go_r, out_w, err_w, info_w)
        for fd in (mapped_w, go_r, out_w, err_w, info_w, *files[1:]):
            os.close(fd)
        try:
            # While it mounts: changing groups takes its time. What runs inside is born in them.
            self.bounds.move(self.bwrap)
            wait_readable(mapped_r, until)
            if launch["ids"]:
                base, count = launch["ids"]
                for name in ("uid_map", "gid_map"):
                    with open(f"/proc/{self.bwrap}/{name}", "w") as f:
                        f.write(f"0 {base} {count}\n")
            try:
                os.write(go_w, b"x")
            except BrokenPipeError:
                pass  # it ended, and said why
            wait_readable(info_r, until)
            info = read_all(info_r, 1 << 16)
            # The pid is announced before the mounts exist; only the first process itself can say it is ready.
            wait_readable(out_r, until)
            if os.read(out_r, 16) != b"ready\n":
                raise OSError("bubblewrap failed")
            pid = int(info.split(b'"child-pid":', 1)[1].split(b"}")[0].split(b",")[0])
            self.init = pid
            self._open(pid)
            self.terminals_errno = bound_shares(self.chain, f"/proc/{pid}/root/proc")
            self.porter.open(self.chain)
        except BaseException as exc:
            self.kill()
            said = read_all(err_r, 1 << 14).decode(errors="replace").strip()
            raise OSError(said or f"{type(exc).__name__}: {exc}") from exc
        finally:
            for fd in (mapped_r, go_w, out_r, err_r, info_r):
                os.close(fd)

    def _open(self, pid: int) -> None:
        self.init_fd = os.pidfd_open(pid)
        self.stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        opened = {name: os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY) for name in (*NAMESPACES, "user")}
        # Where bubblewrap nested a second user namespace, the others belong to the outer one: it is entered first.
        owner = fcntl.ioctl(opened["mnt"], NS_GET_USERNS)
        nested = opened.pop("user")
        same = os.fstat(owner).st_ino == os.fstat(nested).st_ino
        here = {name: os.stat(f"/proc/self/ns/{name}").st_ino for name in NAMESPACES}
        others = [fd for name, fd in opened.items() if os.fstat(fd).st_ino != here[name]]
        self.chain = [owner, *others] if same else [owner, *others, nested]

    def is_dead(self) -> bool:
        """Whether the first process inside has ended, or has begun to: everything else inside dies with it."""
        poll = select.poll()
        poll.register(self.init_fd, select.POLLIN)
        return bool(poll.poll(0)) or is_ending(self.stat)

    def purge(self, rounds: int = 20) -> None:
        """Kill everything inside but the first process, also where limits leave no room for a process that would."""
        proc = f"/proc/{self.init}/root/proc"
        for _ in range(rounds):
            living = False
            for name in os.listdir(proc):
                if not name.isdigit() or name == "1":
                    continue
                try:
                    fd = os.open(f"{proc}/{name}", os.O_RDONLY | os.O_DIRECTORY)
                except OSError:
                    continue
                try:
                    signal.pidfd_send_signal(fd, signal.SIGKILL)
                    living = True
                except OSError:
                    pass
                os.close(fd)
            if not living:
                return
            time.sleep(0.005)

    def kill_inside(self) -> None:
        """Kill the first process inside, and with it the whole pid namespace; return when all of it is gone."""
        if self.init_fd >= 0:
            try:
                signal.pidfd_send_signal(self.init_fd, signal.SIGKILL)
            except ProcessLookupError:
                pass
            poll = select.poll()
            poll.register(self.init_fd, select.POLLIN)
            poll.poll(10_000)

    def kill(self) -> None:
        """The same, and our own processes under the sandbox's bounds."""
        self.kill_inside()
        if self.bwrap:
            try:
                os.kill(self.bwrap, signal.SIGKILL)
                os.waitpid(self.bwrap, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
            self.bwrap = 0
        self.porter.kill()
        self.bounds.settle()
