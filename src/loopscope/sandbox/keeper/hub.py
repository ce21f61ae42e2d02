"""The two loops: the hub, which forks keepers, and the keeper of one sandbox."""

from __future__ import annotations

import marshal
import os
import resource
import select
import signal
import socket
import time

from loopscope.sandbox.keeper import storage
from loopscope.sandbox.keeper.bounds import FILES, Board
from loopscope.sandbox.keeper.command import CANNOT_RUN, SETUP_FAILED, exit_code, kill_tree, send
from loopscope.sandbox.keeper.start import Sandbox
from loopscope.sandbox.keeper.system import PR_SET_CHILD_SUBREAPER, hide_arguments, prctl, read_all
from loopscope.sandbox.keeper.watch import SLOTS, Ranking, Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from loopscope.sandbox.keeper.requests import LaunchRequest


class Running:
    """A command that was asked for: the engine's socket for it, and its entrant's pid once the porter has told."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.pid = 0
        self.doomed = False


class Keeper:
    """Serves one sandbox: each message on the control socket starts a command; end of file ends everything."""

    def __init__(self, control: socket.socket, ranking: Ranking) -> None:
        self.control, self.ranking = control, ranking
        self.watch: Watch | None = None
        self.starting: list[Running] = []
        self.by_pid: dict[int, Running] = {}
        self.engine_lives = True
        self.told_to_end = False
        self.wake_r, wake_w = os.pipe()
        for fd in (self.wake_r, wake_w):
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)

    def launch(self) -> Sandbox:
        """Read the launch request and start bubblewrap; tells the engine how it went."""
        _, fds, _, _ = socket.recv_fds(self.control, 16, 8, socket.MSG_CMSG_CLOEXEC)
        request: LaunchRequest = marshal.loads(read_all(fds[0]))
        os.close(fds[0])
        self.board = Board(fds[1])
        try:
            sandbox = Sandbox(request, fds[2:])
            self.board.seen["terminals_errno"] = sandbox.terminals_errno
            self.board.write()
            watched = request["bounds"]["watch"]
            if watched["memory"] or watched["pids"]:
                self.watch = Watch(sandbox.init, watched, self.board, self.ranking)
        except OSError as exc:
            self.control.send(f"failed {exc}".encode(errors="replace")[:60000])
            os._exit(1)
        self.control.send(b"ready")
        return sandbox

    def start_command(self, sandbox: Sandbox) -> bool:
        """Take one request; False when the engine is gone or asks to end."""
        message, fds, _, _ = socket.recv_fds(self.control, 16, 8)
        if message == b"purge":
            sandbox.purge()
            return True
        if message != b"run" or len(fds) != 5:
            self.engine_lives, self.told_to_end = bool(message), message == b"end"
            return False
        self.starting.append(Running(socket.socket(fileno=fds[4])))
        started = sandbox.porter.start(fds[:4])
        for fd in fds[:4]:
            os.close(fd)
        return started

    def listen(self, sandbox: Sandbox) -> bool:
        """Take one word of the porter's; False when it is gone."""
        try:
            word, *numbers = sandbox.porter.socket.recv(64).split()
        except (OSError, ValueError):
            return False
        if word == b"end":
            pid, status = map(int, numbers)
            failed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == SETUP_FAILED
            if (running := self.by_pid.pop(pid, None)) is not None:
                code = exit_code(status)
                # Killed with everything else inside, or never begun: no end of its own.
                failed = failed or (code != 0 and sandbox.is_dead())
                self.report(running, b"gone" if failed else b"exit %d" % code)
            return True
        running = self.starting.pop(0)
        if word == b"full":
            self.report(running, b"gone" if sandbox.is_dead() else b"exit %d" % CANNOT_RUN)
            return True
        running.pid = int(numbers[0])
        self.by_pid[running.pid] = running
        if running.doomed:
            self.end(running.pid, sandbox)
        return True

    @staticmethod
    def end(entrant: int, sandbox: Sandbox) -> None:
        """Kill a command; what is frozen could not be stopped first, and the porter not tell how it ended."""
        sandbox.bounds.thaw()
        kill_tree(entrant)
        sandbox.bounds.thaw()

    @staticmethod
    def report(running: Running, words: bytes) -> None:
        """Tell the engine how a command ended."""
        try:
            running.sock.send(words)
        except OSError:
            pass
        running.sock.close()

    def collect(self, sandbox: Sandbox) -> None:
        """Reap bubblewrap, should it have ended."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == sandbox.bwrap:
                sandbox.bwrap = 0

    def serve(self, sandbox: Sandbox) -> None:
        """Until the engine asks to end or is gone."""
        while True:
            poll = select.poll()
            for fixed in (self.control.fileno(), self.wake_r, sandbox.porter.socket.fileno()):
                poll.register(fixed, select.POLLIN)
            known = (*self.by_pid.values(), *self.starting)
            commands = {running.sock.fileno(): running for running in known if not running.doomed}
            for fd in commands:
                poll.register(fd, select.POLLIN)
            if self.watch is not None and time.monotonic() >= self.watch.due and not self.watch.tick():
                return
            for fd, _ in poll.poll(self.patience()):
                if fd == self.wake_r:
                    os.read(fd, 4096)
                elif fd == self.control.fileno():
                    if not self.start_command(sandbox):
                        return
                elif fd == sandbox.porter.socket.fileno():
                    if not self.listen(sandbox):
                        return
                else:  # a word, or the end, on a command's own socket: it is to die
                    commands[fd].doomed = True
                    if commands[fd].pid:
                        self.end(commands[fd].pid, sandbox)
            self.collect(sandbox)

    def patience(self) -> int | None:
        """Milliseconds until the watchdog is to look again; None without one."""
        return None if self.watch is None else 1 + max(0, int((self.watch.due - time.monotonic()) * 1000))

    def main(self) -> None:
        """Start, serve, and leave nothing behind."""
        sandbox = self.launch()
        stood = False
        try:
            self.serve(sandbox)
            self.collect(sandbox)
            stood = self.told_to_end and bool(sandbox.bwrap) and not sandbox.is_dead()
        finally:
            sandbox.kill_inside()
            sandbox.bounds.thaw()  # the porter has yet to tell how commands ended
            for pid in self.by_pid:
                send(pid, signal.SIGKILL)
            while self.by_pid and self.listen(sandbox):  # until they are gone they hold the mounts
                pass
            sandbox.kill()
            self.ranking.tell(0)  # another process may get our pid
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.board.seen["cpu_usec"] += int((used.ru_utime + used.ru_stime) * 1e6)
            self.board.write()
            if not self.engine_lives:
                sandbox.bounds.remove_groups()
            elif stood:
                self.control.send(b"ended")


def hub(connection: socket.socket) -> None:
    """Fork a keeper, or a helper for storage, for each socket received, until the engine closes its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # A killed command's first process may outlive the one outside that waited for it. It comes here, where it is gone
    # at once; the machine's first process reaps late, a container's perhaps never, and until then no sandbox can end.
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    ranking = Ranking()
    while True:
        message, fds, _, _ = socket.recv_fds(connection, 16, 1)
        if not message:
            return
        if message != b"storage":  # helpers come each second, and would give a living keeper's slot away
            ranking.mine = (ranking.mine + 1) % SLOTS
        if os.fork() == 0:
            code = 1
            try:
                connection.close()
                os.setsid()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                ours = socket.socket(fileno=fds[0])
                storage.serve(ours) if message == b"storage" else Keeper(ours, ranking).main()
                code = 0
            finally:
                os._exit(code)
        os.close(fds[0])


def main(number: int) -> None:
    """The hub's whole life; `number` is the descriptor of the engine's socket."""
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)  # Ctrl-C is the engine's to handle; it ends us by closing the socket
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES[1], FILES[1]))
    hide_arguments()
    hub(socket.socket(fileno=number))
    os._exit(0)
