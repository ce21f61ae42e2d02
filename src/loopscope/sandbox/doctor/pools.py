"""What the machine has one pool of for all sandboxes: process numbers and pseudo-terminals."""

from __future__ import annotations

from collections.abc import Iterator

from loopscope.sandbox.doctor.finding import Area, Finding, Need, State
from loopscope.sandbox.doctor.machine import Machine
from loopscope.sandbox.keeper.bounds import PSEUDO_TERMINALS
from loopscope.sandbox.limits import DEFAULT_PIDS

NAME = "process numbers"
_ENOUGH = 16
"""Sandboxes that each hold all that they may, and the system has numbers left."""
_MOST_PIDS = 4_194_304
_RESERVED_TERMINALS = 1024
"""The kernel keeps these for the host's own /dev/pts."""


def look_pools(machine: Machine) -> Iterator[Finding]:
    """Held against what sandboxes may hold with the limits that they have when nothing else is asked for."""
    found = {name: machine.number(f"/proc/sys/kernel/{name}") for name in ("pid_max", "threads-max")}
    known = {name: number for name, number in found.items() if number is not None}
    if known:
        few = min(known.values())
        count = few // DEFAULT_PIDS
        fact = f"{few}: {count} sandboxes' limit of {DEFAULT_PIDS}"
        cost = f"{max(count, 1)} sandboxes that fork without end leave nobody on the machine a process"
        low = [name for name, number in known.items() if number < _ENOUGH * DEFAULT_PIDS]
        commands = tuple(machine.as_root(f"sysctl -w kernel.{name}={_MOST_PIDS}") for name in low)
        yield _row(NAME, fact, cost, "raise it, or lower `environment.kwargs.pids_limit` in the study file:", commands)
    terminals = machine.number("/proc/sys/kernel/pty/max")
    if terminals is not None:
        count = max(0, terminals - _RESERVED_TERMINALS) // PSEUDO_TERMINALS
        low_terminals = (machine.as_root("sysctl -w kernel.pty.max=65536"),) if count < _ENOUGH // 2 else ()
        fact = f"{terminals}: {count} sandboxes' limit of {PSEUDO_TERMINALS}"
        cost = "agents that work in a terminal (tmux) cannot start beside a few that hold all of theirs"
        yield _row("pseudo-terminals", fact, cost, "", low_terminals)


def _row(name: str, fact: str, cost: str, remedy: str, commands: tuple[str, ...]) -> Finding:
    if not commands:
        return Finding(Area.LIMITS, name, State.OK, fact)
    return Finding(Area.LIMITS, name, State.WEAK, fact, cost, remedy, commands, Need.ADVISED)
