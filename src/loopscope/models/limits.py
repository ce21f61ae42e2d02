"""A resource limit of a sandbox in words: said once for progress, status and report."""

from __future__ import annotations

from collections.abc import Mapping

from loopscope.models.run import Limit, LimitState

NOT_OBSERVED = "not observed"


def limits_met(limits: Mapping[str, Limit]) -> tuple[str, ...]:
    """What to tell of the limits that a rollout met, one line each; of those that it did not meet, nothing.

    A processor's share is no news: whoever computes meets it all the time.
    """
    return tuple(
        _met(name, limits[name]) for name in ("memory", "pids", "disk") if name in limits and limits[name].hits
    )


def limit_held(limit: Limit) -> str:
    """By what a limit is held: `cgroup v1`, `watched: watchdog`, `not held: not asked for`."""
    before = {LimitState.ENFORCED: "", LimitState.WATCHED: "watched: ", LimitState.ABSENT: "not held: "}[limit.state]
    return f"{before}{limit.means or 'no reason is recorded'}"


def limit_use(name: str, limit: Limit) -> str:
    """The greatest use, the limit, and how often it was met."""
    peak = NOT_OBSERVED if limit.peak is None else amount(name, limit.peak)
    text = f"peak {peak}" + (f" of {amount(name, limit.value)}" if limit.value is not None else "")
    if limit.value is None:
        return text
    return f"{text}; met: {NOT_OBSERVED if limit.hits is None else _times(limit.hits)}"


def amount(name: str, value: int) -> str:
    """A value of the limit called `name` in its unit: bytes, processes, or processors."""
    if name == "pids":
        return str(value)
    if name == "cpu":
        return f"{value / 1000:g} cpus"
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value} bytes"


def _met(name: str, limit: Limit) -> str:
    hits = limit.hits or 0
    of = "" if limit.value is None else amount(name, limit.value)
    if name == "pids":
        return f"processes: {of or 'their limit'} reached {_times(hits)}"
    if name == "memory":
        killed = "a process was killed" if hits == 1 else "processes were killed"
        return f"memory limit{f' of {of}' if of else ''} met {_times(hits)}: {killed}"
    if limit.state is LimitState.WATCHED:
        return f"disk limit{f' of {of}' if of else ''} passed {_times(hits)}: its processes were killed"
    return f"disk full{f': all of {of} was used' if of else ''}"


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
