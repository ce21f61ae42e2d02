"""Who works for an engine, as /proc tells it."""

from __future__ import annotations

import os
import select
import signal
from dataclasses import dataclass


@dataclass(frozen=True)
class Process:
    """A living process; `role` is `hub`, `keeper`, `bwrap`, `verifier` or nothing."""

    pid: int
    parent: int
    command: str
    role: str


def _read(name: str) -> tuple[int, str, str, str] | None:
    """(parent, state, name of the program, command line)."""
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            head, _, tail = file.read().rpartition(b")")
        with open(f"/proc/{name}/cmdline", "rb") as file:
            command = file.read(4096).replace(b"\0", b" ").decode(errors="replace").strip()
    except (OSError, ValueError):
        return None
    state, parent = tail.split()[:2]
    return int(parent), state.decode(), head.partition(b"(")[2].decode(errors="replace"), command


def descendants(root: int) -> list[Process]:
    """All living processes below `root`, parents first."""
    children: dict[int, list[tuple[int, str, str]]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := _read(name)) and found[1] not in "ZX":
            children.setdefault(found[0], []).append((int(name), found[2], found[3]))
    result: list[Process] = []
    waiting = [(root, "root")]
    while waiting:
        parent, above = waiting.pop(0)
        for pid, program, command in children.get(parent, ()):
            role = _role(command, above)
            result.append(Process(pid, parent, f"{program}: {command}", role))
            waiting.append((pid, role))
    return result


def _role(command: str, above: str) -> str:
    if "--die-with-parent" in command and "--unshare-pid" in command:
        return "bwrap"
    if command.startswith("loopscope-exec") or "loopscope.sandbox.keeper" in command:
        return "hub" if above == "root" else "keeper" if above == "hub" else ""
    return "verifier" if "(/tests/test.sh)" in command else ""


def kill_all(role: str) -> None:
    """Kill every process of this role below this one, as the machine might; returns when they have ended."""
    for process in descendants(os.getpid()):
        if process.role == role:
            try:
                handle = os.pidfd_open(process.pid)
            except ProcessLookupError:
                continue
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            poll.poll()
            os.close(handle)
