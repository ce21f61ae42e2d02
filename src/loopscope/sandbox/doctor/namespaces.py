"""User namespaces: a real try, and what may stand in the way (sysctls, AppArmor, SELinux)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from loopscope.sandbox import bwrap, chroot
from loopscope.sandbox.doctor.finding import DECIDING_SEC, Area, Finding, Need, State
from loopscope.sandbox.doctor.machine import Machine, ask
from loopscope.sandbox.doctor.surroundings import surroundings
from loopscope.sandbox.errors import SandboxError

START = "a sandbox starts"
"""The row that decides."""
USERNS = "user namespaces"

_TRY = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def must(step, result):
    if result:
        sys.exit(f"{step}: {os.strerror(ctypes.get_errno())}")
depth = int(sys.argv[1])
for level in range(depth):
    uid, gid = os.geteuid(), os.getegid()
    must(f"unshare at depth {level + 1}", libc.unshare(0x10000000))
    try:
        open("/proc/self/setgroups", "w").write("deny")
        open("/proc/self/uid_map", "w").write(f"0 {uid} 1")
        open("/proc/self/gid_map", "w").write(f"0 {gid} 1")
    except OSError as error:
        sys.exit(f"mapping the user at depth {level + 1}: {error.strerror}")
must("a mount namespace", libc.unshare(0x00020000))
must("a private mount", libc.mount(b"none", b"/", None, ctypes.c_ulong(0x4000 | 1 << 18), None))
must("mounting a tmpfs", libc.mount(b"tmpfs", b"/tmp", b"tmpfs", ctypes.c_ulong(0), None))
"""
"""Namespaces in namespaces, and the right to mount in the innermost: AppArmor allows the first step, not the last."""


@dataclass(frozen=True)
class Mend:
    """A known obstacle: what it is, why it costs, what removes it."""

    fact: str
    remedy: str
    commands: tuple[str, ...]


def _sysctl(machine: Machine, name: str, value: int) -> tuple[str, ...]:
    """Now, and after the next start of the machine."""
    keep = f"echo '{name}={value}' | {machine.as_root('tee -a /etc/sysctl.d/90-loopscope.conf')}"
    return machine.as_root(f"sysctl -w {name}={value}"), keep


def blocked_by(machine: Machine) -> Mend | None:
    """What keeps this user from user namespaces, of the obstacles that can be read; None when there is none."""
    if chroot.is_chroot(machine.text("/proc/self/mountinfo"), lambda: chroot.has_more_outside(machine.path("/proc"))):
        return Mend("this is a chroot", chroot.REMEDY, (chroot.COMMAND,))
    if machine.number("/proc/sys/user/max_user_namespaces") == 0:
        return Mend(
            "user.max_user_namespaces is 0",
            "allow them:",
            _sysctl(machine, "user.max_user_namespaces", 10000),
        )
    if machine.number("/proc/sys/kernel/unprivileged_userns_clone") == 0 and machine.uid != 0:
        return Mend(
            "kernel.unprivileged_userns_clone is 0",
            "allow them to ordinary users:",
            _sysctl(machine, "kernel.unprivileged_userns_clone", 1),
        )
    if _restricted(machine) and machine.uid != 0:
        return _apparmor(machine)
    return None


def _restricted(machine: Machine) -> bool:
    return machine.number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1


def _program() -> str:
    try:
        return bwrap.find_bwrap()
    except SandboxError:
        return "/usr/bin/bwrap"


def _apparmor(machine: Machine) -> Mend:
    """A profile that lets bubblewrap alone have user namespaces; the restriction stays for everything else."""
    program = _program()
    place = "/etc/apparmor.d/loopscope-bwrap"
    if any(program in (machine.text(f"/etc/apparmor.d/{name}") or "") for name in machine.names("/etc/apparmor.d")):
        return Mend(
            f"AppArmor restricts user namespaces; a profile under /etc/apparmor.d names {program}",
            "see that the profile is loaded and allows `userns`, then load it again:",
            (machine.as_root("systemctl reload apparmor"),),
        )
    profile = (
        f"{machine.as_root(f'tee {place}')} >/dev/null <<'END'\n"
        "abi <abi/4.0>,\n"
        "include <tunables/global>\n"
        f"profile loopscope-bwrap {program} flags=(unconfined) {{\n"
        "  userns,\n"
        "}\n"
        "END"
    )
    return Mend(
        "AppArmor restricts user namespaces to programs with a profile, and bubblewrap has none",
        "give bubblewrap a profile (the restriction stays on for all else):",
        (profile, machine.as_root(f"apparmor_parser -r {place}")),
    )


def look(machine: Machine) -> Iterator[Finding]:
    """The real try, as deep as a sandbox and one more inside it need."""
    answer = ask([sys.executable, "-I", "-S", "-c", _TRY, "1"], machine.env, DECIDING_SEC - 0.5)
    if answer is None:
        yield Finding(Area.SANDBOX, USERNS, State.UNKNOWN, f"{sys.executable} does not start", need=Need.REQUIRED)
        return
    if answer.code == 0:
        most = machine.number("/proc/sys/user/max_user_namespaces")
        yield Finding(Area.SANDBOX, USERNS, State.OK, f"yes, at most {most}" if most else "yes", need=Need.REQUIRED)
        yield from _nested(machine)
        return
    mend = blocked_by(machine)
    where = surroundings(machine)
    if mend is None and where.opens_up:
        mend = Mend("the container forbids them", where.opens_up, ())
    yield Finding(
        Area.SANDBOX,
        USERNS,
        State.MISSING,
        f"no ({answer.first_line})" + (f": {mend.fact}" if mend else ""),
        cost="no local sandbox can be started",
        remedy=mend.remedy
        if mend
        else "ask whoever administers the machine to allow them, or run in a virtual machine",
        commands=mend.commands if mend else (),
        need=Need.REQUIRED,
    )


def _nested(machine: Machine) -> Iterator[Finding]:
    answer = ask([sys.executable, "-I", "-S", "-c", _TRY, "2"], machine.env)
    if answer is None or answer.code:
        yield Finding(
            Area.SANDBOX,
            "nested namespaces",
            State.WEAK,
            f"no ({answer.first_line if answer else 'no answer'})",
            cost="programs inside cannot make sandboxes of their own: verifiers that fence solutions, an agent's own",
            need=Need.OPTIONAL,
        )
    else:
        yield Finding(Area.SANDBOX, "nested namespaces", State.OK, "yes")


def look_policies(machine: Machine) -> Iterator[Finding]:
    """AppArmor and SELinux: what is on, and whether it restricts user namespaces."""
    modules = (machine.text("/sys/kernel/security/lsm") or "").split(",")
    enabled = (machine.text("/sys/module/apparmor/parameters/enabled") or "").startswith("Y")
    if enabled or "apparmor" in modules:
        restricts = _restricted(machine)
        mine = machine.text("/proc/self/attr/apparmor/current") or machine.text("/proc/self/attr/current") or ""
        fact = "on; restricts user namespaces to programs with a profile" if restricts else "on"
        confined = mine.split(" ")[0] if mine and not mine.startswith("unconfined") else ""
        yield Finding(Area.SANDBOX, "AppArmor", State.OK, fact + (f"; we run under {confined}" if confined else ""))
    enforce = machine.number("/sys/fs/selinux/enforce")
    if enforce is not None:
        yield Finding(Area.SANDBOX, "SELinux", State.OK, "enforcing" if enforce else "permissive")
    if not Path("/proc/self/ns/user").exists():
        yield Finding(
            Area.SANDBOX,
            "kernel",
            State.MISSING,
            "built without user namespaces (CONFIG_USER_NS)",
            cost="no local sandbox can be started",
            remedy="boot a kernel that has them; every distribution's own has",
            need=Need.REQUIRED,
        )


def settle(findings: list[Finding]) -> list[Finding]:
    """Other programs' namespaces do not matter when bubblewrap gets its own, by a profile of its own or by setuid."""
    if not any(f.name == START and f.state is State.OK for f in findings):
        return findings
    others = {State.MISSING: "for other programs no", State.UNKNOWN: "for other programs not tried"}
    return [
        replace(f, state=State.OK, fact=f"for bubblewrap yes, {others[f.state]}", cost="", remedy="", commands=())
        if f.name == USERNS and f.state in others
        else f
        for f in findings
    ]
