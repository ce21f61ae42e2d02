"""The porter lives under a sandbox's bounds and forks each command's way in: so no command has to be moved there.

It is a child of the keeper, which stays outside the bounds: neither the OOM killer nor a processor quota that an agent
has used up delays the killing of a command. What the porter says to the keeper: `pid N` once for each request, in
order, then `end N STATUS`; `full` where no process could be made.
"""

from __future__ import annotations

import os
import select
import signal
import socket

from loopscope.sandbox.keeper.bounds import Bounds
from loopscope.sandbox.keeper.command import complain, enter
from loopscope.sandbox.keeper.seccomp import install
from loopscope.sandbox.keeper.system import PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG, close_from, prctl


class Porter:
    """The keeper's handle on the porter's process."""

    def __init__(self, bounds: Bounds, caps: int) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                # Nothing of the keeper's stays open here: what it waits for the end of would never end.
                os.dup2(theirs.detach(), 3)
                close_from(4)
                theirs = socket.socket(fileno=3)
                _Loop(theirs, bounds, caps).main()
            except BaseException as exc:
                try:
                    theirs.send(f"failed {exc}".encode(errors="replace")[:1000])
                except OSError:
                    pass
            os._exit(1)
        theirs.close()

    def open(self, chain: list[int]) -> None:
        """Tell it which namespaces to enter. OSError when it could not get under its bounds."""
        try:
            socket.send_fds(self.socket, [b"chain"], chain)
        except OSError:
            pass  # it failed, and said why
        answer = self.socket.recv(1024)
        if answer != b"open":
            raise OSError(answer.removeprefix(b"failed ").decode(errors="replace") or "the porter died")

    def start(self, fds: list[int]) -> bool:
        """Ask for one command: [request, stdin, stdout, stderr]. False when the porter is gone."""
        try:
            socket.send_fds(self.socket, [b"run"], fds)
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """End it; its children are not its own to end."""
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


class _Loop:
    """In the porter itself."""

    def __init__(self, keeper: socket.socket, bounds: Bounds, caps: int) -> None:
        self.keeper, self.bounds, self.caps = keeper, bounds, caps

    def main(self) -> None:
        """Until the keeper is gone."""
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        self.bounds.join()
        message, self.chain, _, _ = socket.recv_fds(self.keeper, 16, 16)
        if message != b"chain":
            os._exit(0)
        if self.bounds.filter:
            # Once for all commands, which are born with it: the machine's room for filters may be used up later.
            prctl(PR_SET_NO_NEW_PRIVS, 1)
            install(self.bounds.filter)
        wake_r, wake_w = os.pipe()
        for fd in (wake_r, wake_w):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
        self.keeper.send(b"open")
        poll = select.poll()
        poll.register(self.keeper, select.POLLIN)
        poll.register(wake_r, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == wake_r:
                    os.read(fd, 4096)
                elif not self._start():
                    os._exit(0)
            self._collect()

    def _start(self) -> bool:
        message, fds, _, _ = socket.recv_fds(self.keeper, 16, 8)
        if not message:
            return False
        try:
            pid = os.fork()
        except OSError as exc:
            complain(fds[3], f"no process can be started: {exc.strerror}; a limit of the sandbox is reached")
            self.keeper.send(b"full")
        else:
            if pid == 0:
                signal.set_wakeup_fd(-1)
                enter(self.chain, fds, self.caps, self.bounds)
            self.keeper.send(b"pid %d" % pid)
        for fd in fds:
            os.close(fd)
        return True

    def _collect(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.keeper.send(b"end %d %d" % (pid, status))
