"""A thousand trials that do nothing, through the engine and Harbor: what each costs, and what they leave behind.

    python benchmarks/bench_trials.py [--trials N] [--concurrency N] [--score]

The floor (Harbor alone, in our sandbox) is taken in the same process, a few trials before and after, so that a busy
machine shows in both. CPU seconds count this process and all that it started: Harbor, the engine, keepers, sandboxes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import yaml
from leftovers import Leftovers, adopt_orphans, resident_mb
from toy_study import write_task

from harbor_floor import harbor_alone
from loopscope.engine.events import Event, Phase, silent
from loopscope.engine.plan import Plan, plan_study
from loopscope.engine.scoring import Scorer
from loopscope.engine.study import run_study

FLOOR_TRIALS = 20


def study_of(folder: Path, trials: int, concurrency: int) -> Plan:
    """`nop` on a task of two files, once per seed."""
    write_task(folder / "toy")
    study = folder / "s.yaml"
    spec = {"name": "b", "tasks": ["./toy"], "agents": ["nop"], "seeds": trials, "concurrency": concurrency}
    study.write_text(yaml.safe_dump(spec))
    return plan_study(study, folder / "study")


@dataclass(frozen=True)
class Cost:
    """Per trial."""

    wall_sec: float
    own_cpu_sec: float
    tree_cpu_sec: float

    def __str__(self) -> str:
        return (
            f"{self.wall_sec:.3f} s wall, CPU: {self.own_cpu_sec:.3f} s in this process, "
            f"{self.tree_cpu_sec:.3f} s with all it started"
        )


def _tree_cpu() -> float:
    """CPU seconds of this process, its descendants, and those they have waited for."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)], ticks[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15]))
        except (OSError, ValueError):
            continue

    def is_ours(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and is_ours(parents[pid]))

    return sum(ticks[pid] for pid in ticks if is_ours(pid)) / os.sysconf("SC_CLK_TCK")


async def cost(trials: int, work: Callable[[], Awaitable[object]]) -> Cost:
    """What `work` costs for each of its trials."""
    wall, own, tree = time.perf_counter(), time.process_time(), _tree_cpu()
    await work()
    spent = (time.perf_counter() - wall, time.process_time() - own, _tree_cpu() - tree)
    return Cost(*(each / trials for each in spent))


async def floor_trials(plan: Plan, concurrency: int) -> None:
    """FLOOR_TRIALS trials by Harbor in our sandbox, without a verifier or anything of the engine's."""
    waiting = list(range(FLOOR_TRIALS))

    async def worker() -> None:
        while waiting:
            await harbor_alone(plan, waiting.pop())

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(worker())


def watched(trials: int) -> tuple[Callable[[Event], None], dict[int, float]]:
    """A watcher that notes resident memory after some of the trials."""
    memory: dict[int, float] = {}
    marks = {1, 100, 200, 500, 1000, trials}

    def notify(event: Event) -> None:
        if event.phase is Phase.ROLLOUT and event.done in marks and event.done not in memory:
            memory[event.done] = resident_mb()
            print(f"  {event.done} trials: {memory[event.done]:.0f} MB resident", flush=True)

    return notify, memory


async def measure(folder: Path, trials: int, concurrency: int, score: bool) -> None:
    """Run and print."""
    adopt_orphans()
    plan = study_of(folder, trials, concurrency)
    await floor_trials(plan, concurrency)  # imports and caches
    before = Leftovers.now(folder)
    floors = [await cost(FLOOR_TRIALS, lambda: floor_trials(plan, concurrency))]
    notify, memory = watched(trials)
    print(f"{trials} trials, {concurrency} at once", flush=True)
    rollouts = await cost(trials, lambda: run_study(plan, notify, score=False))
    floors.append(await cost(FLOOR_TRIALS, lambda: floor_trials(plan, concurrency)))
    if score:
        scored = await cost(trials, lambda: Scorer(plan.store, plan.spec, silent).score_all())
        print(f"verification: {scored}")
    print(f"rollout:      {rollouts}")
    for when, floor in zip(("before", "after"), floors, strict=True):
        print(f"Harbor alone: {floor} ({when})")
    mean = sum(floor.own_cpu_sec for floor in floors) / len(floors)
    print(f"CPU of this process over the floor: {rollouts.own_cpu_sec / mean:.2f}")
    if 200 in memory:
        print(f"memory between trial 200 and the last: {max(memory.values()) - memory[200]:+.1f} MB")
    _tell_left(before.left(Leftovers.now(folder), expected=(plan.store.path / "runs", plan.store.baseline("toy"))))


def _tell_left(left: Iterable[str]) -> None:
    lines = sorted(left)
    print(f"left behind: {'nothing' if not lines else ''}")
    for line in lines[:40]:
        print(f"  {line}")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=2)
    parser.add_argument("--score", action="store_true", help="verify the final states too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOOPSCOPE_LOCK_DIR"] = tempfile.gettempdir()
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        asyncio.run(measure(Path(folder), options.trials, options.concurrency, options.score))


if __name__ == "__main__":
    main()
