"""A guarded program under way: its pipes, its time limits, and its certain end."""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import signal
import socket
import time
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from . import layers


class GuardError(Exception):
    """The child did not do what was asked of it: it ended, was too slow, or answered too much."""


class Limits(NamedTuple):
    """What a child may use."""

    wall: float = 10.0
    """Seconds of wall clock, from its start."""
    cpu: int = 10
    """Seconds of processor."""
    memory: int = 1 << 30
    """Bytes of address space."""
    file: int = 16 << 20
    """Bytes of any one file it writes."""
    output: int = 4 << 20
    """Bytes of standard output."""
    processes: bool = False
    """Whether it may start processes and threads."""


class Handles(NamedTuple):
    """The child's ends, in the order of the numbers they get: 0, 1, 2, 3, and 4 until exec."""

    input: int
    output: int
    errors: int
    channel: int
    report: int

    def install(self) -> None:
        """Put them in place and close everything else; the last one, which reports a failure, closes at exec."""
        high = [fcntl.fcntl(handle, fcntl.F_DUPFD, len(self)) for handle in self]
        for target, source in enumerate(high):
            os.dup2(source, target, inheritable=target < 4)
        os.closerange(len(self), 1 << 16)


class Running:
    """A guarded program. Leaving the context kills it and everything it started."""

    def __init__(
        self,
        become: Callable[[Handles], None],
        limits: Limits,
        scratch: str,
        maps: tuple[int, int, bool] | None,
        sweep: int | None,
    ) -> None:
        """Start it: `become` turns the new process into the program.

        `maps`: uid, gid and whether this process may map any, for a child in namespaces; `sweep`: the uid whose every
        process is killed at the end. Raises OSError when the fence cannot be built.
        """
        self.limits, self.scratch, self.namespaced, self.sweep = limits, scratch, maps is not None, sweep
        self.status: int | None = None
        self.cpu = 0.0  # seconds of processor it has used, once it is over
        self.closed = False
        self._said = b""
        self.deadline = time.monotonic() + limits.wall
        self._stderr = os.memfd_create("stderr")
        self._channel, theirs = socket.socketpair()
        child_in, self._in = os.pipe()
        self._out, child_out = os.pipe()
        failed, report = os.pipe()
        ready, go = os.pipe()
        handles = Handles(child_in, child_out, self._stderr, theirs.fileno(), report)
        if maps:
            layers.prctl(layers.PR_SET_DUMPABLE, 1)  # else this process may not write the child's id maps
        self.pid = layers.clone_into_namespaces() if maps else os.fork()
        if self.pid == 0:
            _begin(become, handles, ready, go)
        for handle in (child_in, child_out, report, ready):
            os.close(handle)
        theirs.close()
        self._release(maps, go, failed)

    def _release(self, maps: tuple[int, int, bool] | None, go: int, failed: int) -> None:
        """Write the id maps of the waiting child, let it go on by closing `go`, and see that its program starts."""
        try:
            if maps:
                uid, gid, privileged = maps
                layers.map_ids(self.pid, uid, gid, privileged)
                layers.prctl(layers.PR_SET_DUMPABLE, 0)
            os.close(go)
            go = -1
            self._confirm(failed)
        except BaseException:
            self.close()
            raise
        finally:
            if go >= 0:  # only now: a child that has no maps must not go on
                os.close(go)
            os.close(failed)

    def _confirm(self, failed: int) -> None:
        """Wait until the child has executed its program: the handle closes then, or tells why not."""
        readable, _, _ = select.select([failed], [], [], 10)
        told = os.read(failed, 2000) if readable else b"the child did not start in 10 s"
        if told:
            raise OSError(told.decode(errors="replace"))

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- talking to it ------------------------------------------------------------------------------------------------

    def _await(self, reading: list[int], writing: list[int], what: str) -> None:
        left = self.deadline - time.monotonic()
        readable, writable, _ = select.select(reading, writing, [], left) if left > 0 else ([], [], [])
        if not (readable or writable):
            raise GuardError("timeout while %s" % what)

    def send(self, data: bytes) -> None:
        """Write all of `data` to its standard input; that it stops reading is not an error yet."""
        view = memoryview(data)
        os.set_blocking(self._in, False)
        while len(view):
            self._await([], [self._in], "it should have taken its input")
            try:
                view = view[os.write(self._in, view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                return

    def close_input(self) -> None:
        """The end of its standard input."""
        if self._in >= 0:
            os.close(self._in)
            self._in = -1

    def send_handle(self, handle: int) -> None:
        """Pass it an open file through its handle 3."""
        try:
            socket.send_fds(self._channel, [b"!"], [handle])
        except OSError as error:
            raise GuardError("it closed its channel") from error

    def read(self, count: int) -> bytes:
        """Exactly `count` bytes of its output."""
        parts: list[bytes] = []
        missing = count
        while missing:
            self._await([self._out], [], "its output was awaited")
            part = os.read(self._out, min(missing, 1 << 20))
            if not part:
                raise GuardError("it ended before its output was complete (%s)" % (self.wait() or "exit 0"))
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def read_all(self) -> bytes:
        """Its output up to the end, at most `limits.output` bytes."""
        parts: list[bytes] = []
        size = 0
        while True:
            self._await([self._out], [], "its output was awaited")
            part = os.read(self._out, 1 << 16)
            if not part:
                return b"".join(parts)
            size += len(part)
            if size > self.limits.output:
                raise GuardError("more than %d bytes of output" % self.limits.output)
            parts.append(part)

    def wait(self) -> str:
        """Wait for its end: why it failed, or an empty string."""
        while self.status is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.status, self.cpu = status, usage.ru_utime + usage.ru_stime
            elif time.monotonic() > self.deadline:
                raise GuardError("timeout while it should have ended")
            else:
                time.sleep(0.0005)
        if os.WIFSIGNALED(self.status):
            return "killed by signal %d" % os.WTERMSIG(self.status)
        return "exit %d" % os.WEXITSTATUS(self.status) if os.WEXITSTATUS(self.status) else ""

    def errors(self) -> str:
        """The beginning of its standard error; also when it is over."""
        if not self.closed:
            self._said = os.pread(self._stderr, 2000, 0)
        return self._said.decode(errors="replace")

    # -- its end ------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Kill it and everything it started, and forget its scratch files."""
        if self.closed:
            return
        self.errors()
        self.closed = True
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
        if not self.namespaced:  # elsewhere the end of its first process is the end of its whole pid namespace
            kill_group(self.pid)
        if self.status is None:
            self.status = os.waitpid(self.pid, 0)[1]
        if self.sweep is not None:
            kill_everything_of(self.sweep)
        if not self.namespaced:
            kill_orphans()
        self.close_input()
        os.close(self._out)
        os.close(self._stderr)
        self._channel.close()
        shutil.rmtree(self.scratch, ignore_errors=True)


def _begin(become: Callable[[Handles], None], handles: Handles, ready: int, go: int) -> NoReturn:
    """In the child: wait until the parent has written the id maps, then turn into the program or tell why not."""
    try:
        layers.prctl(layers.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.close(go)
        os.read(ready, 1)
        become(handles)
    except BaseException as error:
        try:
            os.write(handles.report, repr(error).encode()[:2000])
        except OSError:
            os.write(4, repr(error).encode()[:2000])
    finally:
        os._exit(127)


def kill_group(leader: int) -> None:
    """Kill a process group, if there is anything left of it."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except OSError:
        pass


def kill_everything_of(uid: int) -> None:
    """kill(-1) by that uid reaches every process of it at once, so that nothing can fork away from it."""
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            try:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                os.kill(-1, signal.SIGKILL)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)


def kill_orphans() -> None:
    """Kill what came to this process, the subreaper, until no child is left."""
    for _ in range(1000):
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid:
            continue
        try:
            with open("/proc/self/task/%d/children" % os.getpid()) as file:
                children = [int(word) for word in file.read().split()]
        except OSError:
            return
        for child in children:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.001)
