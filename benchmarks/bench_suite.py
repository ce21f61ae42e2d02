"""Spread of the reward of equal trees, seconds and CPU seconds of a verification, for every task of the suite.

    python benchmarks/bench_suite.py [TASK ...] [--repeats N] [--busy] [--act starter|reference]

Each verification is one of its own in a fresh local sandbox (`loopscope.audit.trial`). CPU seconds are those of this
process and all that it starts, the sandbox's own start too (about half a second). With `--busy` every
other processor that this process may use is kept at work meanwhile. Asked are a spread of at most 0.02 when quiet,
0.05 with the other processor busy; the load average is printed, since on a crowded machine neither is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loopscope.audit.trial import REFERENCE, STARTER, Act, try_task
from loopscope.engine.loop import polling_loop
from loopscope.tasks import builtin_names, resolve

QUIET, BUSY = 0.02, 0.05
ACTS = {"starter": STARTER, "reference": REFERENCE}
_SPIN = "while True: pass"


@dataclass(frozen=True)
class Row:
    """What verifications of one tree gave."""

    rewards: tuple[float, ...]
    missing: int
    seconds: float
    cpu: float
    load: float

    @property
    def spread(self) -> float | None:
        """Largest minus smallest reward."""
        return max(self.rewards) - min(self.rewards) if len(self.rewards) > 1 else None


@contextmanager
def others_busy(wanted: bool) -> Iterator[None]:
    """Keep every processor but the first of ours at work."""
    cores = sorted(os.sched_getaffinity(0))[1:] if wanted else []
    spinning = []
    try:
        for core in cores:
            process = subprocess.Popen([sys.executable, "-c", _SPIN])
            spinning.append(process)
            os.sched_setaffinity(process.pid, {core})
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def cpu_seconds() -> float:
    """Of this process and of everything that it started and waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


async def measure(directory: Path, act: Act, repeats: int) -> Row:
    """Verify the same tree so many times."""
    rewards, missing, seconds, before = list[float](), 0, 0.0, cpu_seconds()
    for _ in range(repeats):
        trial = await try_task(directory, act)
        seconds += trial.seconds / repeats
        if trial.reward is None:
            missing += 1
            print(f"  {directory.name}: {act.name}: {trial.status}: {trial.reason}", flush=True)
        else:
            rewards.append(float(trial.reward))
    return Row(tuple(rewards), missing, seconds, (cpu_seconds() - before) / repeats, os.getloadavg()[0])


async def main(names: Sequence[str], acts: Sequence[str], repeats: int, busy: bool) -> int:
    """Print a line for each task and act; 1 where a spread is wider than asked, or a reward is missing."""
    asked, bad = BUSY if busy else QUIET, 0
    print(f"{os.cpu_count()} cpus, load {os.getloadavg()[0]:.1f}, {'others busy' if busy else 'others left alone'}")
    print(f"{'task':<20}{'act':<11}{'rewards':<17}{'spread':>8}{'s':>8}{'CPU s':>8}{'load':>7}")
    for name in names:
        for act in acts:
            with others_busy(busy):
                row = await measure(resolve(name, Path()).directory, ACTS[act], repeats)
            ends = f"{min(row.rewards):.4f}-{max(row.rewards):.4f}" if row.rewards else "none"
            spread = "-" if row.spread is None else f"{row.spread:.4f}"
            wide = row.missing > 0 or (row.spread is not None and row.spread > asked)
            bad += wide
            mark = f"  > {asked}" if wide else ""
            numbers = f"{spread:>8}{row.seconds:>8.2f}{row.cpu:>8.2f}{row.load:>7.1f}"
            print(f"{name:<20}{act:<11}{ends:<17}{numbers}{mark}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(builtin_names()))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--act", choices=sorted(ACTS), action="append")
    parser.add_argument("--busy", action="store_true")
    asked_for = parser.parse_args()
    work = main(asked_for.tasks, asked_for.act or sorted(ACTS, reverse=True), asked_for.repeats, asked_for.busy)
    sys.exit(asyncio.run(work, loop_factory=polling_loop))
