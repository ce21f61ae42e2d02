"""One command inside a sandbox: enter, give up privileges, run; and kill it with all it started."""

from __future__ import annotations

import errno
import marshal
import os
import signal
import time

from loopscope.sandbox.keeper.bounds import COMMANDS_OOM_ADJ, Bounds, write_file
from loopscope.sandbox.keeper.system import (
    PR_CAPBSET_DROP,
    PR_SET_CHILD_SUBREAPER,
    PR_SET_DUMPABLE,
    PR_SET_NO_NEW_PRIVS,
    close_from,
    prctl,
    read_all,
    set_capabilities,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopscope.sandbox.keeper.requests import CommandRequest

SETUP_FAILED = signal.SIGUSR2
CANNOT_RUN = 126
_EXHAUSTED = (errno.EAGAIN, errno.ENOMEM)


def complain(fd: int, words: str) -> None:
    """Tell the command's caller, on its standard error, why there is no command."""
    try:
        os.write(fd, f"loopscope: {words}\n".encode(errors="replace"))
    except OSError:
        pass


def fork_inside(stderr: int) -> int:
    """fork(2); where the sandbox's limits leave no room, says so and ends this process as a command that cannot run."""
    try:
        return os.fork()
    except OSError as exc:
        if exc.errno in _EXHAUSTED:
            complain(stderr, f"no process can be started: {exc.strerror}; a limit of the sandbox is reached")
            os._exit(CANNOT_RUN)
        raise


def run_command(request: CommandRequest, stdio: list[int], caps: int) -> None:
    """Inside, in the forked child: give up what is not needed and become the command. Does not return."""
    code = CANNOT_RUN
    try:
        os.setsid()
        for target, fd in enumerate(stdio):
            os.dup2(fd, target)
        close_from(3)
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
        prctl(PR_SET_DUMPABLE, 1)  # nothing is left that others inside may not have; /proc/self is shut without it
        try:
            write_file("/proc/self/oom_score_adj", str(COMMANDS_OOM_ADJ))
        except OSError:
            pass  # /proc is covered: then the kernel judges by size alone
        code = 127
        os.execve(request["argv"][0], request["argv"], request["env"])
    except BaseException as exc:
        os.write(2, f"loopscope: cannot run in {request['cwd']}: {exc}\n".encode(errors="replace"))
    os._exit(code)


def exit_code(status: int) -> int:
    """A wait status as shells report it."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def reap_command(request: CommandRequest, stdio: list[int], caps: int) -> None:
    """First process of a command inside: holds its tree together until the command itself ends. Does not return."""
    try:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        prctl(PR_SET_DUMPABLE, 0)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        main = fork_inside(stdio[2])
        if main == 0:
            run_command(request, stdio, caps)
        close_from(0)
        while True:
            pid, status = os.wait()
            if pid == main:
                os._exit(exit_code(status))
    except BaseException:
        os._exit(125)


def enter(chain: list[int], fds: list[int], caps: int, bounds: Bounds) -> None:
    """In the forked child outside: join the namespaces, start the reaper, pass on its exit code. Does not return.

    `fds`: the request, standard input, output, error.
    """
    try:
        prctl(PR_SET_DUMPABLE, 0)
        os.setsid()
        request: CommandRequest = marshal.loads(read_all(fds[0]))
        stdio = fds[1:]
        for fd in chain:
            os.setns(fd, 0)
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        bounds.restrict()
        reaper = fork_inside(stdio[2])
        if reaper == 0:
            reap_command(request, stdio, caps)
        close_from(0)
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
