"""Inside a start of the engine: counts what it does to the study's files and deals the blow at the chosen moment.

Nothing in loopscope knows of this. The calls through which Python reaches the kernel are wrapped in this process
alone, before the command begins.
"""

from __future__ import annotations

import builtins
import ctypes
import io
import json
import marshal
import os
import resource
import signal
import socket
import tarfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import killing_clock
from killing_blows import DURABLE, Blow
from killing_processes import descendants

AGENT_MARK = b"killing-agent"
"""In every command of the agents that these tests run."""
_FIND_SEC = 1.0

os_write, os_open, os_fsync, os_replace = os.write, os.open, os.fsync, os.replace


class Saboteur:
    """Counts events and strikes once. `trace` keeps every counted operation of the study, in order."""

    def __init__(self, study: Path, blow: Blow, report: Path) -> None:
        self._study = str(study)
        self._parent = str(study.parent)
        self._blow = blow
        self._report = os_open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._lock = threading.RLock()
        self._count = 0
        self._struck = False
        self._at_work = False
        self._unsynced: dict[tuple[int, int], int] = {}
        self.trace: list[tuple[str, str, str]] = []

    # -- counting ----------------------------------------------------------------------------------------------------

    def tell(self, **facts: object) -> None:
        """Write a line that outlives this process."""
        os_write(self._report, json.dumps(facts).encode() + b"\n")

    def place(self, path: object, dir_fd: int | None = None) -> str:
        """An absolute path below the study, or nothing when it lies elsewhere."""
        try:
            if isinstance(path, int):
                path = os.readlink(f"/proc/self/fd/{path}")
            text = os.fsdecode(path)  # type: ignore[arg-type]
            if dir_fd is not None:
                text = f"{os.readlink(f'/proc/self/fd/{dir_fd}')}/{text}"
        except (OSError, TypeError):
            return ""
        text = os.path.abspath(text)
        return text if text.startswith(self._study + "/") or text in (self._study, self._parent) else ""

    def kind(self, kind: str, place: str) -> str:
        """What lies in a trial's own scratch directory is nothing that is ever read again."""
        inside = place.removeprefix(self._study).lstrip("/")
        return "scratch" if inside.startswith(".tmp-") and "/" in inside else kind

    def moment(self, kind: str, when: str, place: str, other: str = "") -> None:
        """One side of an operation; strikes when it is the chosen one."""
        with self._lock:
            kind = self.kind(kind, place)
            if when == "after" and kind != "scratch":
                self.trace.append((kind, place, other))
            wanted = self._blow.event
            if self._blow.late and not self._at_work:
                return
            if kind != wanted and not (wanted == "any" and kind in DURABLE):
                return
            self._count += when == "before"
            if self._blow.victim == "error" and self._struck and self._blow.sticky and when == "before":
                raise OSError(self._blow.errno, os.strerror(self._blow.errno), place)
            if self._struck or self._count != self._blow.k or self._blow.when != when:
                return
            self._strike(f"{when} {kind} {place.removeprefix(self._study)}")

    def _strike(self, where: str) -> None:
        self._struck = True
        self.tell(struck=self._blow.victim, at=where)
        match self._blow.victim:
            case "engine":
                self.die()
            case "pause":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "error":
                raise OSError(self._blow.errno, os.strerror(self._blow.errno), where.split(" ")[-1])
            case "files":
                highest = max(int(name) for name in os.listdir("/proc/self/fd"))
                resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
            case "clock":
                killing_clock.jump(self._blow.seconds)
            case "hub" | "keeper" | "bwrap" | "verifier":
                self._kill_other(self._blow.victim)

    def die(self) -> None:
        """End as by kill -9; after a power cut what was not synced is shorter, or gone."""
        if self._blow.cut:
            for (_, inode), fd in self._unsynced.items():
                with suppress(OSError):
                    size = os.fstat(fd).st_size
                    os.ftruncate(fd, size * (inode % 3) // 3)
        os.kill(os.getpid(), signal.SIGKILL)

    def _kill_other(self, role: str) -> None:
        until = time.monotonic() + _FIND_SEC
        while time.monotonic() < until:
            found = [process for process in descendants(os.getpid()) if process.role == role]
            if found:
                os.kill(found[-1].pid, signal.SIGKILL)
                self.tell(killed=role)
                return
        self.tell(missed=role)

    # -- files -------------------------------------------------------------------------------------------------------

    def opened(self, file: Any, place: str) -> Any:
        """A file that was opened for writing: what is written to it may be lost until it is synced."""
        if self.kind("open", place) == "scratch":
            return file
        fd = file if isinstance(file, int) else file.fileno()
        status = os.fstat(fd)
        with self._lock, suppress(OSError):
            self._unsynced[status.st_dev, status.st_ino] = os_open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_CLOEXEC)
        if self._blow.when == "torn" and not isinstance(file, int):
            with self._lock:
                if self._count == self._blow.k and not self._struck and self._blow.event in ("open", "any"):
                    self._tear(file, place)
        return file

    def _tear(self, file: Any, place: str) -> None:
        write = file.write

        def torn(data: Any) -> int:
            write(data[: len(data) // 2])
            file.flush()
            self._strike(f"torn open {place.removeprefix(self._study)}")
            return 0

        file.write = torn

    def synced(self, fd: int) -> None:
        """What was written to this file will be there."""
        status = os.fstat(fd)
        with self._lock:
            kept = self._unsynced.pop((status.st_dev, status.st_ino), None)
        if kept is not None:
            os.close(kept)

    # -- wrapping ----------------------------------------------------------------------------------------------------

    def install(self) -> None:
        """Wrap what is to be counted."""
        for name, kind in (("rename", "rename"), ("replace", "rename"), ("link", "link")):
            setattr(os, name, self._two(getattr(os, name), kind))
        for name, kind in (("mkdir", "mkdir"), ("unlink", "unlink"), ("remove", "unlink"), ("rmdir", "unlink")):
            setattr(os, name, self._one(getattr(os, name), kind))
        os.fsync = self._fsync  # type: ignore[assignment]
        os.open = self._os_open(os.open)  # type: ignore[assignment]
        wrapped = self._open(io.open)
        for module, name in ((builtins, "open"), (io, "open"), (tarfile, "bltn_open")):
            setattr(module, name, wrapped)
        ctypes.CDLL = self._library(ctypes.CDLL)  # type: ignore[misc]
        socket.send_fds = self._send_fds(socket.send_fds)  # type: ignore[assignment]

    def _two(self, original: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def call(source: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            place = self.place(target, kwargs.get("dst_dir_fd"))
            if not place:
                return original(source, target, *args, **kwargs)
            before = self.place(source, kwargs.get("src_dir_fd"))
            self.moment(kind, "before", place, before)
            result = original(source, target, *args, **kwargs)
            self.moment(kind, "after", place, before)
            return result

        return call

    def _one(self, original: Callable[..., Any], kind: str) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **kwargs: Any) -> Any:
            place = self.place(path, kwargs.get("dir_fd"))
            if not place:
                return original(path, *args, **kwargs)
            self.moment(kind, "before", place)
            result = original(path, *args, **kwargs)
            self.moment(kind, "after", place)
            return result

        return call

    def _fsync(self, fd: Any) -> None:
        number = fd if isinstance(fd, int) else fd.fileno()
        place = self.place(number)
        if place:
            self.moment("fsync", "before", place)
        os_fsync(fd)
        if place:
            self.synced(number)
            self.moment("fsync", "after", place)

    def _os_open(self, original: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            place = self.place(path, kwargs.get("dir_fd")) if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) else ""
            if not place:
                return original(path, flags, *args, **kwargs)
            self.moment("open", "before", place)
            fd: int = self.opened(original(path, flags, *args, **kwargs), place)
            self.moment("open", "after", place)
            return fd

        return call

    def _open(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            place = self.place(file) if set(mode) & set("wxa+") and not isinstance(file, int) else ""
            if not place:
                return original(file, mode, *args, **kwargs)
            self.moment("open", "before", place)
            result = self.opened(original(file, mode, *args, **kwargs), place)
            self.moment("open", "after", place)
            return result

        return call

    def _library(self, original: type[ctypes.CDLL]) -> type[ctypes.CDLL]:
        saboteur = self

        class Counted(original):  # type: ignore[misc,valid-type]
            def __getattr__(self, name: str) -> Any:
                function = super().__getattr__(name)
                if name != "renameat2":
                    return function

                def call(one_at: Any, one: bytes, other_at: Any, other: bytes, flags: Any) -> Any:
                    place = saboteur.place(other)
                    before = saboteur.place(one)
                    if place:
                        saboteur.moment("rename", "before", place, before)
                    result = function(one_at, one, other_at, other, flags)
                    if place:
                        saboteur.moment("rename", "after", place, before)
                    return result

                self.renameat2 = call
                return call

        return Counted

    def _send_fds(self, original: Callable[..., int]) -> Callable[..., int]:
        def call(sock: Any, buffers: Any, fds: Any, *args: Any) -> int:
            sent = original(sock, buffers, fds, *args)
            self._at_work = True
            if list(buffers) == [b"run"]:
                for kind in self._command(fds[0]):
                    if kind != "command":
                        self.tell(began=kind)
                    self._count_command(kind)
            return sent

        return call

    def _command(self, request: int) -> list[str]:
        """What a request to a keeper is about. It is read where the keeper, which shares the offset, does not mind."""
        with original_open(f"/proc/self/fd/{request}", "rb") as file:
            argv = b" ".join(str(part).encode() for part in marshal.loads(file.read())["argv"])
        if b"test-stdout.txt" in argv and b"/tests/" in argv and b"chmod" not in argv:
            return ["command", "verifier"]
        return ["command", "agent"] if AGENT_MARK in argv else ["command"]

    def _count_command(self, kind: str) -> None:
        with self._lock:
            if self._blow.event == kind:
                self._count += 1
                if self._count == self._blow.k and not self._struck:
                    self._strike(f"after {kind} {self._count}")


original_open = io.open
