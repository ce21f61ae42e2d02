"""Runs outside every sandbox: starts bubblewrap, enters its namespaces, kills what must die.

A standalone program of the standard library alone (`python -I -S _keeper.py FD`), never imported by loopscope. It
loads once per engine process as the *hub*; for each sandbox the hub forks a *keeper*. The keeper is bubblewrap's parent
and stays outside the sandbox's pid namespace: an agent can neither see nor signal it. When the engine dies, its socket
closes and the keeper kills the sandbox; when the keeper dies, bubblewrap's --die-with-parent does.

A running command is a chain: keeper -> entrant (joins the namespaces) -> reaper (first process inside; a child
subreaper, so that daemons of the command stay in its tree while it runs) -> the command.
"""

# pathlib and contextlib would double the time it takes to load (so pyproject.toml switches their lints off here).

from __future__ import annotations

import ctypes
import fcntl
import marshal
import os
import select
import signal
import socket
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
MS_BIND, MS_REC, MS_PRIVATE, MS_NOSUID, MS_NODEV = 0x1000, 0x4000, 1 << 18, 2, 4
NS_GET_USERNS = 0xB701
START_TIMEOUT_SEC = 60.0
NAMESPACES = ("mnt", "pid", "net", "ipc", "uts", "cgroup")
SETUP_FAILED = signal.SIGUSR2

libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int) -> None:
    """prctl(2) with one argument; errors are ignored where the kernel lacks the option."""
    libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))


def mount(source: str, target: str, kind: str | None, flags: int) -> None:
    """mount(2)."""
    kind_bytes = None if kind is None else kind.encode()
    if libc.mount(os.fsencode(source), os.fsencode(target), kind_bytes, ctypes.c_ulong(flags), None):
        raise OSError(ctypes.get_errno(), f"mount {source} on {target}")


def set_capabilities(keep: int) -> None:
    """Reduce permitted and effective capabilities to the bit mask `keep`; nothing is inheritable."""
    low, high = keep & 0xFFFFFFFF, keep >> 32
    header = struct.pack("=Ii", 0x20080522, 0)
    data = struct.pack("=6I", low, low, 0, high, high, 0)
    if libc.capset(header, data):
        raise OSError(ctypes.get_errno(), "capset")


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


# -- starting a sandbox ----------------------------------------------------------------------------------------------


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


def become_bwrap(launch: dict[str, Any], mapped: int, go: int, out: int, err: int, info: int) -> None:
    """In the forked child: stage and map ids where asked, then turn into bubblewrap. Does not return."""
    parent = os.getppid()
    try:
        null = os.open("/dev/null", os.O_RDWR)
        for target, fd in ((0, null), (1, out), (2, err)):
            os.dup2(fd, target)
        if launch["ids"]:
            stage(launch["stage"], launch["binds"])
            os.unshare(os.CLONE_NEWUSER)
            os.write(mapped, b"x")
            os.read(go, 1)
            os.setgroups([])
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        os.set_inheritable(info, True)
        argv = [arg.replace("@INFO@", str(info)) for arg in launch["argv"]]
        os.execve(argv[0], argv, {"PATH": "/usr/bin:/bin"})
    except BaseException as exc:
        os.write(2, f"{type(exc).__name__}: {exc}\n".encode(errors="replace"))
    os._exit(125)


def wait_readable(fd: int, until: float) -> None:
    """Wait for data or end of file on `fd`; TimeoutError at the monotonic time `until`."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    if not poll.poll(max(0, int((until - time.monotonic()) * 1000))):
        raise TimeoutError("bubblewrap did not get ready")


class Sandbox:
    """One running bubblewrap: its process, its first process inside, and handles on its namespaces."""

    def __init__(self, launch: dict[str, Any]) -> None:
        until = time.monotonic() + START_TIMEOUT_SEC
        mapped_r, mapped_w = os.pipe()
        go_r, go_w = os.pipe()
        out_r, out_w = os.pipe()
        err_r, err_w = os.pipe()
        info_r, info_w = os.pipe()
        self.caps = launch["caps"]
        self.init_fd = -1
        self.bwrap = os.fork()
        if self.bwrap == 0:
            become_bwrap(launch, mapped_w, go_r, out_w, err_w, info_w)
        for fd in (mapped_w, go_r, out_w, err_w, info_w):
            os.close(fd)
        try:
            if launch["ids"]:
                wait_readable(mapped_r, until)
                base, count = launch["ids"]
                for name in ("uid_map", "gid_map"):
                    with open(f"/proc/{self.bwrap}/{name}", "w") as f:
                        f.write(f"0 {base} {count}\n")
                os.write(go_w, b"x")
            wait_readable(info_r, until)
            info = read_all(info_r, 1 << 16)
            # The pid is announced before the mounts exist; only the first process itself can say it is ready.
            wait_readable(out_r, until)
            if os.read(out_r, 16) != b"ready\n":
                raise OSError("bubblewrap failed")
            pid = int(info.split(b'"child-pid":', 1)[1].split(b"}")[0].split(b",")[0])
            self._open(pid)
        except BaseException as exc:
            self.kill()
            said = read_all(err_r, 1 << 14).decode(errors="replace").strip()
            raise OSError(said or f"{type(exc).__name__}: {exc}") from exc
        finally:
            for fd in (mapped_r, go_w, out_r, err_r, info_r):
                os.close(fd)

    def _open(self, pid: int) -> None:
        self.init_fd = os.pidfd_open(pid)
        opened = {name: os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY) for name in (*NAMESPACES, "user")}
        # Where bubblewrap nested a second user namespace, the others belong to the outer one: it is entered first.
        owner = fcntl.ioctl(opened["mnt"], NS_GET_USERNS)
        nested = opened.pop("user")
        same = os.fstat(owner).st_ino == os.fstat(nested).st_ino
        here = {name: os.stat(f"/proc/self/ns/{name}").st_ino for name in NAMESPACES}
        others = [fd for name, fd in opened.items() if os.fstat(fd).st_ino != here[name]]
        self.chain = [owner, *others] if same else [owner, *others, nested]

    def kill(self) -> None:
        """Kill the first process inside, and with it the whole pid namespace; return when all of it is gone."""
        if self.init_fd >= 0:
            try:
                signal.pidfd_send_signal(self.init_fd, signal.SIGKILL)
            except ProcessLookupError:
                pass
            poll = select.poll()
            poll.register(self.init_fd, select.POLLIN)
            poll.poll(10_000)
        if self.bwrap:
            try:
                os.kill(self.bwrap, signal.SIGKILL)
                os.waitpid(self.bwrap, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
            self.bwrap = 0


# -- running a command inside ----------------------------------------------------------------------------------------


def run_command(request: dict[str, Any], stdio: list[int], caps: int) -> None:
    """Inside, in the forked child: give up what is not needed and become the command. Does not return."""
    code = 126
    try:
        os.setsid()
        for target, fd in enumerate(stdio):
            os.dup2(fd, target)
        os.closerange(3, 1 << 20)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for caught in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(caught, signal.SIG_DFL)
        os.umask(0o022)
        uid, gid = request["user"]
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        for number in range(64):
            if not caps >> number & 1:
                prctl(PR_CAPBSET_DROP, number)
        try:
            os.setgroups([])
        except PermissionError:
            pass  # a single mapped id: the kernel denies setgroups, as it does to bubblewrap
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        set_capabilities(caps if uid == 0 else 0)
        os.chdir(request["cwd"])
        code = 127
        os.execve(request["argv"][0], request["argv"], request["env"])
    except BaseException as exc:
        os.write(2, f"loopscope: cannot run in {request['cwd']}: {exc}\n".encode(errors="replace"))
    os._exit(code)


def exit_code(status: int) -> int:
    """A wait status as shells report it."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def reap_command(request: dict[str, Any], stdio: list[int], caps: int) -> None:
    """First process of a command inside: holds its tree together until the command itself ends. Does not return."""
    try:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        prctl(PR_SET_DUMPABLE, 0)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        main = os.fork()
        if main == 0:
            run_command(request, stdio, caps)
        os.closerange(0, 1 << 20)
        while True:
            pid, status = os.wait()
            if pid == main:
                os._exit(exit_code(status))
    except BaseException:
        os._exit(125)


def enter(chain: list[int], request: dict[str, Any], stdio: list[int], caps: int) -> None:
    """In the forked child outside: join the namespaces, start the reaper, pass on its exit code. Does not return."""
    try:
        os.setsid()
        for fd in chain:
            os.setns(fd, 0)
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        reaper = os.fork()
        if reaper == 0:
            reap_command(request, stdio, caps)
        os.closerange(0, 1 << 20)
        _, status = os.waitpid(reaper, 0)
        os._exit(exit_code(status))
    except BaseException:
        signal.signal(SETUP_FAILED, signal.SIG_DFL)
        os.kill(os.getpid(), SETUP_FAILED)
        os._exit(125)


def process_tree(root: int) -> list[tuple[int, bytes]]:
    """Living descendants of `root`, parents first, as (pid, state)."""
    children: dict[int, list[tuple[int, bytes]]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as f:
                    state, parent = f.read().rsplit(b")", 1)[1].split()[:2]
            except (OSError, ValueError):
                continue
            children.setdefault(int(parent), []).append((int(name), state))
    found, at = list(children.get(root, ())), 0
    while at < len(found):
        found += children.get(found[at][0], ())
        at += 1
    return [(pid, state) for pid, state in found if state not in b"ZX"]


def send(pid: int, number: int) -> None:
    """kill(2), not minding that the process is gone."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def kill_tree(entrant: int, rounds: int = 200) -> None:
    """Kill a command and all it started. The reaper is stopped first: until the end, orphans stay in the tree."""
    tree = process_tree(entrant)
    if tree:
        reaper = tree[0][0]
        send(reaper, signal.SIGSTOP)
        for _ in range(rounds):
            rest = [entry for entry in process_tree(entrant) if entry[0] != reaper]
            if not rest:
                break
            running = [pid for pid, state in rest if state not in b"Tt"]
            # All are stopped before any is killed: a fork bomb outruns killing, but not stopping.
            for pid in running or [pid for pid, _ in rest]:
                send(pid, signal.SIGSTOP if running else signal.SIGKILL)
            time.sleep(0.001)
        for pid, _ in process_tree(entrant):
            send(pid, signal.SIGKILL)
    send(entrant, signal.SIGKILL)


# -- the loops -------------------------------------------------------------------------------------------------------


class Keeper:
    """Serves one sandbox: each message on the control socket starts a command; end of file ends everything."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.by_pid: dict[int, socket.socket] = {}
        self.wake_r, wake_w = os.pipe()
        for fd in (self.wake_r, wake_w):
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)

    def launch(self) -> Sandbox:
        """Read the launch request and start bubblewrap; tells the engine how it went."""
        _, fds, _, _ = socket.recv_fds(self.control, 16, 1)
        request = marshal.loads(read_all(fds[0]))
        os.close(fds[0])
        try:
            sandbox = Sandbox(request)
        except OSError as exc:
            self.control.send(f"failed {exc}".encode(errors="replace")[:60000])
            os._exit(1)
        self.control.send(b"ready")
        return sandbox

    def start_command(self, sandbox: Sandbox) -> bool:
        """Take one request; False when the engine is gone or asks to end."""
        message, fds, _, _ = socket.recv_fds(self.control, 16, 8)
        if message != b"run" or len(fds) != 5:
            return False
        request = marshal.loads(read_all(fds[0]))
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            enter(sandbox.chain, request, fds[1:4], sandbox.caps)
        for fd in fds[:4]:
            os.close(fd)
        self.by_pid[pid] = socket.socket(fileno=fds[4])
        return True

    def collect(self, sandbox: Sandbox) -> None:
        """Report commands that ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == sandbox.bwrap:
                sandbox.bwrap = 0
            if (status_socket := self.by_pid.pop(pid, None)) is not None:
                failed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == SETUP_FAILED
                try:
                    status_socket.send(b"gone" if failed else b"exit %d" % exit_code(status))
                except OSError:
                    pass
                status_socket.close()

    def serve(self, sandbox: Sandbox) -> None:
        """Until the engine asks to end or is gone."""
        while True:
            poll = select.poll()
            poll.register(self.control, select.POLLIN)
            poll.register(self.wake_r, select.POLLIN)
            sockets = {sock.fileno(): (pid, sock) for pid, sock in self.by_pid.items()}
            for fd in sockets:
                poll.register(fd, select.POLLIN)
            for fd, _ in poll.poll():
                if fd == self.wake_r:
                    os.read(fd, 4096)
                elif fd == self.control.fileno():
                    if not self.start_command(sandbox):
                        return
                elif fd in sockets:  # a word, or the end, on a command's own socket: it is to die
                    pid, sock = sockets[fd]
                    kill_tree(pid)
                    try:
                        sock.recv(16)
                    except OSError:
                        pass
            self.collect(sandbox)

    def main(self) -> None:
        """Start, serve, and leave nothing behind."""
        sandbox = self.launch()
        try:
            self.serve(sandbox)
        finally:
            sandbox.kill()
            for pid in self.by_pid:
                send(pid, signal.SIGKILL)


def hub(connection: socket.socket) -> None:
    """Fork a keeper for each socket received, until the engine closes its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, fds, _, _ = socket.recv_fds(connection, 16, 1)
        if not message:
            return
        if os.fork() == 0:
            code = 1
            try:
                connection.close()
                os.setsid()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                Keeper(socket.socket(fileno=fds[0])).main()
                code = 0
            finally:
                os._exit(code)
        os.close(fds[0])


if __name__ == "__main__":
    number = int(sys.argv[1])
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)  # Ctrl-C is the engine's to handle; it ends us by closing the socket
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hide_arguments()
    hub(socket.socket(fileno=number))
    os._exit(0)
