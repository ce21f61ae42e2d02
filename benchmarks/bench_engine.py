"""What loopscope adds: to a Harbor trial, to a verifier, and how long an analysis takes.

    python benchmarks/bench_engine.py [--study DIR] [--repeats N]

Floors and our own numbers are taken alternately in the same run, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import yaml
from toy_study import write_task

from harbor_floor import harbor_alone
from loopscope.engine.events import silent
from loopscope.engine.plan import Plan, plan_study
from loopscope.engine.rollout import make_baseline, run_rollout
from loopscope.engine.scoring import Scorer

VERIFIER_SEC = 0.5
SLOW_VERIFIER = f"sleep {VERIFIER_SEC}\necho '{{\"reward\": 0.5}}' > /logs/verifier/reward.json\n"


def toy_plan(folder: Path, seeds: int) -> Plan:
    """A study of `nop` on a task of two files whose verifier takes VERIFIER_SEC."""
    write_task(folder / "toy", SLOW_VERIFIER)
    study = folder / "s.yaml"
    study.write_text(yaml.safe_dump({"name": "b", "tasks": ["./toy"], "agents": ["nop"], "seeds": seeds}))
    return plan_study(study, folder / "study")


async def measure(folder: Path, repeats: int) -> None:
    """Print medians over `repeats` trials."""
    plan = toy_plan(folder, repeats)
    await make_baseline(plan, plan.runs[0].task)
    floors, ours = [], []
    for number, run in enumerate(plan.runs):
        floors.append(await harbor_alone(plan, number))
        started = time.perf_counter()
        await run_rollout(plan, run)
        ours.append(time.perf_counter() - started)
    floor, own = statistics.median(floors), statistics.median(ours)
    print(
        f"trial: Harbor alone {floor * 1e3:.0f} ms, with loopscope {own * 1e3:.0f} ms, "
        f"added {(own - floor) * 1e3:.0f} ms"
    )
    started = time.perf_counter()
    await Scorer(plan.store, plan.spec, silent).score_all()
    each = (time.perf_counter() - started) / repeats
    scores = [plan.store.run(run.run_id).score("final") for run in plan.runs]
    inside = statistics.median(s.verifications[0].duration_sec for s in scores if s)
    print(
        f"scoring: {each:.3f} s a state for a verifier of {VERIFIER_SEC} s ({inside:.3f} s measured inside); "
        f"allowed {VERIFIER_SEC * 1.1 + 0.5:.3f} s"
    )


def measure_analysis(study: Path, repeats: int) -> None:
    """Print the median of whole `loopscope analyze` processes."""
    command = [sys.executable, "-c", "from loopscope.cli import main; main()", "analyze", str(study)]
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    runs = len(list((study / "runs").glob("*/record.json")))
    print(f"analyze: {statistics.median(times):.2f} s for {runs} runs, start of the process included")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--study", type=Path, help="a finished study, for `analyze`")
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOOPSCOPE_LOCK_DIR"] = folder
        asyncio.run(measure(Path(folder), options.repeats))
    if options.study:
        measure_analysis(options.study, 5)


if __name__ == "__main__":
    main()
