"""What would hold each resource of a sandbox on this machine, for doctor and for Harbor. Changes nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from loopscope.models import LimitState
from loopscope.sandbox import bwrap, cgroup
from loopscope.sandbox.keeper import seccomp
from loopscope.sandbox.limits import DEFAULT_PIDS, Asked, Means, Strength, choose, default_memory


@dataclass(frozen=True)
class Fact:
    """One line for people: what would hold a resource of a sandbox started now."""

    resource: str
    """network, cpu, memory, pids, disk, seccomp."""
    state: LimitState
    means: str
    why: str = ""
    """Why no stronger means is used, and what to do about it; empty where there is none stronger."""


def _disk(one_id: bool) -> Fact:
    if one_id:
        why = "a loop image takes root; what is written to a tmpfs takes memory"
    elif not os.access("/dev/loop-control", os.R_OK | os.W_OK):
        why = "there is no /dev/loop-control: `modprobe loop`, or give the container the loop devices"
    elif shutil.which("mkfs.ext4", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
        why = "there is no mkfs.ext4: `apt-get install e2fsprogs`"
    else:
        return Fact("disk", LimitState.ENFORCED, "loop image (ext4)")
    return Fact("disk", LimitState.ENFORCED, "tmpfs", why)


def survey() -> tuple[Fact, ...]:
    """What would hold each resource of a sandbox that this process started now, and why not more. Changes nothing.

    In the order network, cpu, memory, pids, disk, seccomp; cpu as if one processor were asked for.
    """
    one_id = bwrap.choose_ids() is None
    chosen: Mapping[str, Means] = choose(Asked(default_memory(), DEFAULT_PIDS, 1.0), Strength.STRONGEST, one_id)
    facts = [Fact("network", LimitState.ENFORCED, "network namespace")]
    for name in ("cpu", "memory", "pids"):
        means, why = chosen[name], chosen[name].why
        if means.home is None and not why and isinstance(found := cgroup.find(name), cgroup.Missing):
            why = found.why
        facts.append(Fact(name, means.state, means.name, why))
    facts.append(_disk(one_id))
    why = seccomp.missing()
    facts.append(Fact("seccomp", LimitState.ABSENT if why else LimitState.ENFORCED, "" if why else "seccomp", why))
    return tuple(facts)


@cache
def enforced() -> frozenset[str]:
    """The resources that are held here, beyond being watched."""
    return frozenset(fact.resource for fact in survey() if fact.state is LimitState.ENFORCED)
