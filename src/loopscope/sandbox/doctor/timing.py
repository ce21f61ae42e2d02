"""What decides how far a measured time can be trusted: processors, memory, load, clocks; and this process's limits."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from loopscope.sandbox.doctor.finding import Area, Finding, Need, State
from loopscope.sandbox.doctor.machine import Machine
from loopscope.sandbox.doctor.surroundings import surroundings

_GIB = 1 << 30
_NO_LIMIT = 1 << 60
_GOOD_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen", "hyperv_clocksource")
_STA_UNSYNC = 0x0040
_TIME_ERROR = 5


def _row(name: str, fact: str, cost: str = "", remedy: str = "", *commands: str, need: Need = Need.ADVISED) -> Finding:
    """A row that is weak when it costs something, and fine otherwise, whatever would mend it."""
    if not cost:
        return Finding(Area.TIMING, name, State.OK, fact, need=need)
    return Finding(Area.TIMING, name, State.WEAK, fact, cost, remedy, commands, need)


def own_groups(machine: Machine) -> dict[str, str]:
    """Our control group by controller, as /proc/self/cgroup says; that of version 2 under the empty name."""
    found = {}
    for line in (machine.text("/proc/self/cgroup") or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(",") if number != "0" else ("",):
            found[controller] = path
    return found


def group_limit(machine: Machine, controller: str, v1: str, v2: str) -> int | None:
    """The smallest limit on the way from our own group to the root of what we see; None when there is none."""
    groups = own_groups(machine)
    limits = []
    for mount, group, name in (
        ("/sys/fs/cgroup", groups.get(""), v2),
        ("/sys/fs/cgroup/unified", groups.get(""), v2),
        (f"/sys/fs/cgroup/{controller}", groups.get(controller), v1),
    ):
        parts = [part for part in (group or "").split("/") if part not in ("", "..")]
        for length in range(len(parts), -1, -1) if group is not None else ():
            value = machine.number("/".join([mount, *parts[:length], name]))
            if value is not None and 0 < value < _NO_LIMIT:
                limits.append(value)
    return min(limits, default=None)


def processors(machine: Machine) -> tuple[int, float | None]:
    """How many processors this process may use, and the share of time that its control group allows, in processors."""
    count = len(os.sched_getaffinity(0))
    quota = None
    groups = own_groups(machine)
    for mount in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        parts = [part for part in groups.get("", "").split("/") if part not in ("", "..")]
        for length in range(len(parts), -1, -1):
            words = (machine.text("/".join([mount, *parts[:length], "cpu.max"])) or "").split()
            if len(words) == 2 and words[0].isdigit():
                quota = min(quota or 1e9, int(words[0]) / int(words[1]))
    for mount in ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"):
        base = mount + (groups.get("cpu") or "/").rstrip("/")
        share, period = machine.number(f"{base}/cpu.cfs_quota_us"), machine.number(f"{base}/cpu.cfs_period_us")
        if share and period and share > 0:
            quota = min(quota or 1e9, share / period)
    return count, quota


def look_processors(machine: Machine) -> Iterator[Finding]:
    """Processors that may be used; limits of a container on them."""
    count, quota = processors(machine)
    model = next(
        (line.partition(":")[2].strip() for line in (machine.text("/proc/cpuinfo") or "").splitlines()
         if line.startswith(("model name", "Model"))), platform.machine(),
    )  # fmt: skip
    fact = f"{count} x {model}"
    if quota is not None and quota < count:
        yield _row(
            "processors",
            f"{fact}; the control group allows the time of {quota:g}",
            "a process that uses up its share is stopped for the rest of the period: times jump",
            "give the container whole processors instead of a share (docker: --cpuset-cpus instead of --cpus)",
        )
    elif count == 1:
        yield _row("processors", fact, "timed verifications share the one processor with the engine and the system")
    else:
        yield _row("processors", fact)


def _meminfo(machine: Machine) -> dict[str, int]:
    """Bytes by name."""
    lines = (line.partition(":") for line in (machine.text("/proc/meminfo") or "").splitlines())
    return {key: int(value.split()[0]) * 1024 for key, _, value in lines if value.split()[:1]}


def _memory_limit(machine: Machine) -> int | None:
    return group_limit(machine, "memory", "memory.limit_in_bytes", "memory.max")


def machine_memory(machine: Machine) -> int:
    """Bytes of memory that this process and all that it starts can use together."""
    total = _meminfo(machine).get("MemTotal", 0)
    return min(total, _memory_limit(machine) or total)


def look_memory(machine: Machine) -> Iterator[Finding]:
    """Memory of the machine, and what a container leaves of it."""
    fields = _meminfo(machine)
    total, free = fields.get("MemTotal", 0), fields.get("MemAvailable", 0)
    limit = _memory_limit(machine)
    fact = f"{total / _GIB:.1f} GiB, {free / _GIB:.1f} GiB available"
    if limit is not None and limit < total:
        fact += f"; the control group allows {limit / _GIB:.1f} GiB"
    small = min(total, limit or total) < 4 * _GIB
    cost = "tasks that ask for more are killed or swap" if small else ""
    yield _row("memory", fact, cost, "use a machine or container with at least 4 GiB, or run one rollout at a time")
    if (used := fields.get("SwapTotal", 0) - fields.get("SwapFree", 0)) > 64 << 20:
        yield _row(
            "swap", f"{used / _GIB:.2f} GiB in use", "what is swapped out makes times jump", "end what uses memory"
        )


def look_load(machine: Machine) -> Iterator[Finding]:
    """What else runs, and what a hypervisor took away. To be looked at before doctor itself makes load."""
    words = (machine.text("/proc/loadavg") or "").split()
    count = len(os.sched_getaffinity(0))
    if words:
        load = float(words[0])
        fact = f"{load:.2f} over the last minute, on {count} processor{'s' if count > 1 else ''}"
        busy = "timed verifications compete with it: scores scatter"
        yield _row("load", fact, busy if load > 0.5 * count else "", "run studies when nothing else runs")
    cpu = next((line for line in (machine.text("/proc/stat") or "").splitlines() if line.startswith("cpu ")), "")
    ticks = [int(word) for word in cpu.split()[1:9]]
    total = sum(ticks)
    if len(ticks) == 8 and total:
        steal = 100 * ticks[7] / total
        fact = f"{steal:.1f}% of the time since the start of the machine"
        taken = "the hypervisor gives the processors to others now and then: scores of timed tasks scatter"
        yield _row("steal", fact, taken if steal > 1 else "", "use dedicated processors for timed tasks")


def look_spread(machine: Machine) -> Iterator[Finding]:
    """How far the same small piece of work varies in time, here and now."""
    times = []
    for _ in range(25):
        begun = time.perf_counter()
        sum(range(100_000))
        times.append(time.perf_counter() - begun)
    times.sort()
    spread = times[-3] / times[0] - 1
    fact = f"the same work takes up to {100 * spread:.0f}% longer now and then (25 tries of {1000 * times[0]:.1f} ms)"
    why = "differences between solutions smaller than that are noise"
    remedy = "see the rows on load, steal and frequency; raise `scoring.repeats_timed` in the study"
    yield _row("spread", fact, why if spread > 0.15 else "", remedy)


def look_frequency(machine: Machine) -> Iterator[Finding]:
    """Frequency governor and turbo, where the kernel shows them."""
    base = "/sys/devices/system/cpu"
    governor = machine.text(f"{base}/cpu0/cpufreq/scaling_governor")
    if governor is None:
        yield _row(
            "frequency", "set by the hypervisor or the firmware" if surroundings(machine).kernel else "not shown"
        )
        return
    turbo = machine.number(f"{base}/intel_pstate/no_turbo") == 0 or machine.number(f"{base}/cpufreq/boost") == 1
    fact = f"governor {governor}, turbo {'on' if turbo else 'off'}"
    if governor == "performance" and not turbo:
        yield _row("frequency", fact)
        return
    commands = []
    if governor != "performance":
        files = f"{base}/cpu*/cpufreq/scaling_governor"
        commands.append(f"echo performance | {machine.as_root(f'tee {files}')} >/dev/null")
    if machine.number(f"{base}/intel_pstate/no_turbo") == 0:
        commands.append(f"echo 1 | {machine.as_root(f'tee {base}/intel_pstate/no_turbo')}")
    elif machine.number(f"{base}/cpufreq/boost") == 1:
        commands.append(f"echo 0 | {machine.as_root(f'tee {base}/cpufreq/boost')}")
    cost = "times depend on temperature and on what other processors do"
    yield _row("frequency", fact, cost, "for timed tasks, until the next start:", *commands, need=Need.OPTIONAL)


def look_clock(machine: Machine) -> Iterator[Finding]:
    """Whether the wall clock is right, is kept right, and which clock the kernel counts with."""
    year = time.gmtime().tm_year
    written = time.gmtime(Path(__file__).stat().st_mtime).tm_year
    if not written <= year < 2100:
        yield _row(
            "date",
            f"the clock says {year}; this program was written to disk in {written}",
            "certificates look expired and times in records are wrong",
            "set the clock:",
            machine.as_root("timedatectl set-ntp true"),
        )
    unsynchronised = _unsynchronised()
    kept = {None: "not known whether kept", True: "not kept", False: "kept"}[unsynchronised]
    fact = f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC, {kept} by NTP"
    if unsynchronised:
        outer = surroundings(machine)
        if outer.container or outer.kernel:
            fact += ", unless from outside (container or virtual machine)"
            yield _row("clock", fact)
        else:
            cost = "times in records drift; budgets do not (they count on another clock)"
            yield _row("clock", fact, cost, "", machine.as_root("timedatectl set-ntp true"), need=Need.OPTIONAL)
    else:
        yield _row("clock", fact)
    source = machine.text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source and not source.startswith(_GOOD_CLOCKS):
        yield _row(
            "clock source",
            source,
            "reading the time is slow; programs that do it often are measured slower than they are",
            "see why the kernel gave up the processor's counter: `dmesg | grep -i clocksource`",
            need=Need.OPTIONAL,
        )


def _unsynchronised() -> bool | None:
    """Whether the kernel's clock is adrift, as adjtimex(2) tells; None when it may not be asked."""
    buffer = ctypes.create_string_buffer(512)
    try:
        result = ctypes.CDLL(None, use_errno=True).adjtimex(buffer)
    except AttributeError:
        return None
    if result < 0 or ctypes.sizeof(ctypes.c_long) != 8:
        return None
    status = int.from_bytes(buffer.raw[40:44], "little")
    return result == _TIME_ERROR or bool(status & _STA_UNSYNC)


def look_ulimits(machine: Machine) -> Iterator[Finding]:
    """Limits that this shell hands on to the engine."""
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    tasks, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    size, _ = resource.getrlimit(resource.RLIMIT_FSIZE)

    def shown(value: int) -> str:
        return "unlimited" if value in (resource.RLIM_INFINITY, -1) else str(value)

    fact = f"{shown(files)} open files, {shown(tasks)} processes"
    if 0 <= files < 1024:
        cost = "an engine with many sandboxes runs out of descriptors"
        enough = shown(min(most, 65536) if most >= 0 else 65536)
        yield _row("shell limits", fact, cost, "", f"ulimit -n {enough}")
    elif 0 <= tasks < 2048 and machine.uid != 0:
        cost = "all sandboxes of this user share them; a few agents that build in parallel use them up"
        yield _row("shell limits", fact, cost, "raise `nproc` in /etc/security/limits.conf, then log in again")
    elif 0 <= size < _GIB:
        yield _row(
            "shell limits", f"files of at most {size} bytes", "larger results are cut", "", "ulimit -f unlimited"
        )
    else:
        yield _row("shell limits", fact)


def look_system(machine: Machine) -> Iterator[Finding]:
    """Kernel and distribution."""
    from loopscope.sandbox.doctor.distribution import distribution

    release = machine.text("/proc/sys/kernel/osrelease") or platform.release()
    fact = f"Linux {release}, {distribution(machine).name}, {platform.machine()}"
    numbers = release.split("-")[0].split(".")
    old = len(numbers) >= 2 and all(n.isdigit() for n in numbers[:2]) and tuple(map(int, numbers[:2])) < (5, 4)
    if old:
        cost = "older than what loopscope is tried on (5.4): pidfd and parts of control groups are missing"
        yield _row("system", fact, cost, "boot a newer kernel")
    else:
        yield _row("system", fact)
