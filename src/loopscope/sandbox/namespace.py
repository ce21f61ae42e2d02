"""The engine's side of a running sandbox: launch it, run commands in it, end it. The other side is `keeper/`."""

from __future__ import annotations

import asyncio
import atexit
import marshal
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from loopscope.sandbox.bwrap import Launch
from loopscope.sandbox.errors import SandboxError, SandboxGoneError

if TYPE_CHECKING:
    from loopscope.sandbox.keeper.bounds import Asked
    from loopscope.sandbox.keeper.requests import CommandRequest, LaunchRequest, StorageRequest

_SOURCES = Path(__file__).parents[2]
_START = (
    "import sys; sys.path.insert(0, sys.argv[2]); from loopscope.sandbox.keeper import hub; hub.main(int(sys.argv[1]))"
)
_KILL_GRACE_SEC = 15.0
_NO_BOUNDS: Asked = {"groups": [], "nproc": 0, "cpus": [], "filter": b"", "watch": {"memory": 0, "pids": 0}}


class _Hub:
    """One small process per engine process, from which keepers are forked: loaded once, it makes a start cheap."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._owner = 0

    def _spawn(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _START, str(theirs.fileno()), str(_SOURCES)],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": "/usr/bin:/bin"},
            )
        self._owner = os.getpid()
        # Above what sandboxes are given (keeper/bounds.py), or an agent of our own user could keep us from sending any.
        highest = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest, highest))
        return ours

    def request(self, word: bytes) -> socket.socket:
        """The socket of a fresh process of the hub's, b"keeper" or b"storage"; the hub is started if there is none."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, self._lock:
            for _ in range(2):
                if self._socket is None or self._owner != os.getpid():
                    self._socket = self._spawn()
                try:
                    socket.send_fds(self._socket, [word], [theirs.fileno()])
                    return ours
                except (BrokenPipeError, ConnectionError):
                    self._socket.close()
                    self._socket = None
        ours.close()
        raise SandboxError(
            f"the sandbox helper does not start under {sys.executable}; its own words are on standard error"
        )

    def close(self) -> None:
        """At the end of the engine: the hub ends with its socket. Keepers stay until their own sandboxes are done."""
        if self._socket is not None and self._owner == os.getpid():
            self._socket.close()
            self._socket = None
            self._process.wait(timeout=5)


_HUB = _Hub()
atexit.register(_HUB.close)


@dataclass(frozen=True)
class Command:
    """One program to run inside: absolute `argv[0]`, the whole environment, the directory, and ids as mapped inside."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str = "/"
    uid: int = 0
    gid: int = 0


def _payload(content: LaunchRequest | CommandRequest | StorageRequest) -> int:
    """A memory file with `content`, for requests of any size."""
    fd = os.memfd_create("loopscope-request", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(fd), "wb") as f:
        f.write(marshal.dumps(content))  # type: ignore[arg-type]  # a typed dict of plain values
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


async def ask_storage(word: bytes, content: StorageRequest, fds: Sequence[int] = ()) -> tuple[str, list[int]]:
    """Have a helper (keeper/storage.py) do one thing to a sandbox's files; its answer, and descriptors, ours to close.

    Raises OSError with its words when it fails.
    """
    control = _HUB.request(b"storage")
    with control:
        control.setblocking(False)
        request = _payload(content)
        try:
            socket.send_fds(control, [word], [request, *fds])
        finally:
            os.close(request)
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(control.fileno(), ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(control.fileno())
        said, answered, _, _ = socket.recv_fds(control, 1 << 13, 8)
    for fd in answered:
        os.set_inheritable(fd, False)
    state, _, words = said.decode(errors="replace").partition(" ")
    if state != "ok":
        raise OSError(words or "the storage helper died")
    return words, answered


class Process:
    """A command running inside. `wait` for its exit code; `kill` it with everything it started."""

    def __init__(self, status: socket.socket) -> None:
        self._status = status
        self._exit = asyncio.create_task(self._receive())

    async def _receive(self) -> int | None:
        word = await asyncio.get_running_loop().sock_recv(self._status, 64)
        return int(word[5:]) if word.startswith(b"exit ") else None

    async def wait(self) -> int:
        """The exit code, 128 + n for signal n. Raises SandboxGoneError when the sandbox died."""
        try:
            code = await asyncio.shield(self._exit)
        except ConnectionError:
            code = None
        if code is None:
            raise SandboxGoneError("the sandbox is gone: its first process ended or was killed")
        return code

    async def kill(self) -> None:
        """Kill the command's whole tree and wait until it is dead; nothing to do when it has ended."""
        if self._exit.done():
            return
        try:
            self._status.send(b"kill")
            async with asyncio.timeout(_KILL_GRACE_SEC):
                await self.wait()
        except (OSError, SandboxGoneError, TimeoutError):
            return

    def close(self) -> None:
        """Let go of it; a command still running is killed."""
        self._exit.cancel()
        self._status.close()


class Sandbox:
    """A running sandbox. It lives until `close`, or until this process is gone, however that ends."""

    def __init__(self, control: socket.socket) -> None:
        self._control: socket.socket | None = control

    @classmethod
    async def launch(cls, launch: Launch, bounds: Asked | None = None, board: int | None = None) -> Sandbox:
        """Start bubblewrap and wait until its first process runs with every mount in place.

        `bounds`: what to hold it to, as keeper/bounds.py takes it; `board`: a memory file for what is seen of that.
        """
        control = _HUB.request(b"keeper")
        control.setblocking(False)
        request = _payload(
            {
                "argv": list(launch.argv),
                "ids": launch.ids,
                "stage": launch.stage,
                "binds": list(launch.binds),
                "caps": launch.capabilities,
                "shm": launch.shm,
                "bounds": bounds or _NO_BOUNDS,
            }
        )
        try:
            told = os.memfd_create("loopscope-board", os.MFD_CLOEXEC) if board is None else os.dup(board)
            try:
                socket.send_fds(control, [b"launch"], [request, told, *launch.files])
            finally:
                os.close(told)
            answer = await asyncio.get_running_loop().sock_recv(control, 1 << 16)
        except BaseException:
            control.close()
            raise
        finally:
            os.close(request)
        if answer != b"ready":
            control.close()
            raise SandboxError(answer.removeprefix(b"failed ").decode(errors="replace") or "the sandbox helper died")
        return cls(control)

    async def spawn(self, command: Command, stdin: int, stdout: int, stderr: int) -> Process:
        """Start a command on the given descriptors, which stay the caller's to close."""
        if self._control is None:
            raise SandboxGoneError("the sandbox is stopped")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        request = _payload(
            {
                "argv": list(command.argv),
                "env": dict(command.env),
                "cwd": command.cwd,
                "user": (command.uid, command.gid),
            }
        )
        with theirs:
            try:
                while True:
                    try:
                        socket.send_fds(self._control, [b"run"], [request, stdin, stdout, stderr, theirs.fileno()])
                        break
                    except BlockingIOError:  # the keeper is busy killing something; its queue is short
                        await asyncio.sleep(0.002)
            except BaseException as exc:
                ours.close()
                if isinstance(exc, OSError):
                    raise SandboxGoneError("the sandbox is gone: its keeper ended") from exc
                raise
            finally:
                os.close(request)
        return Process(ours)

    async def purge(self) -> None:
        """Kill every process inside but the first; commands end as killed."""
        if self._control is not None:
            await asyncio.get_running_loop().sock_sendall(self._control, b"purge")

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called: what ends from then on is meant to."""
        return self._control is None

    async def close(self) -> bool:
        """Kill every process inside and wait until none is left. False when the sandbox had died before."""
        control, self._control = self._control, None
        if control is None:
            return True
        last = b""
        try:
            control.send(b"end")
            while word := await asyncio.get_running_loop().sock_recv(control, 16):  # until the keeper itself is gone
                last = word
        except OSError:
            pass
        finally:
            control.close()
        return last == b"ended"
