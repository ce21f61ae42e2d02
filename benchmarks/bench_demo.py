"""`make demo` from a bare checkout, held against what it must reach.

    python benchmarks/bench_demo.py [--keep DIR]     clone this repository, run `make demo` there with an empty home
    python benchmarks/bench_demo.py --study DIR      only check a finished demo

Targets: at most 10 minutes with set-up; in every run of `search` at least 8 scored commits; every state of a timed task
verified at least 3 times; 27 runs; `search` improves every task. The exit code is 1 when one is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from loopscope.records import FINAL, RunDir, StudyStore

ROOT = Path(__file__).parents[1]
MOST_SEC = 600.0
RUNS = 3 * 3 * 3
TASKS = 3
LEAST_COMMITS = 8
LEAST_REPEATS = 3
_OF_A_DEVELOPER = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "XDG_", "LOOPSCOPE_", "DISPLAY", "WAYLAND_DISPLAY")


def bare_environment(home: Path) -> dict[str, str]:
    """The environment of somebody who comes with nothing but what the machine has."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_OF_A_DEVELOPER)}
    return kept | {"HOME": str(home)}


def make_demo(folder: Path) -> tuple[Path, float]:
    """(the demo's study, seconds of `make demo`) from a clone of HEAD in `folder`; its output shows, phases too."""
    checkout, home = folder / "loopscope", folder / "home"
    home.mkdir(parents=True)
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(checkout)], check=True)
    started = time.perf_counter()
    # Exit code 1 says that a rollout or a score is missing, which the check below finds and names.
    done = subprocess.run(["make", "demo"], cwd=checkout, env=bare_environment(home), stdin=subprocess.DEVNULL)
    seconds = time.perf_counter() - started
    if not (checkout / "demo/runs").is_dir():
        sys.exit(f"bench_demo: make demo failed with {done.returncode} and left no study in {checkout / 'demo'}")
    return checkout / "demo", seconds


def scored_commits(run: RunDir) -> int:
    """Commits of a run whose state has a score."""
    scores = run.scores()
    return sum(commit.state in scores and scores[commit.state].value is not None for commit in run.record.commits)


def check(study: Path) -> bool:
    """Print what the demo came to beside each target; whether all hold."""
    store = StudyStore.open(study)
    runs = list(store.runs())
    timed = {name for name, task in store.tasks().items() if task.info.timed}
    commits = [scored_commits(run) for run in runs if run.record.agent == "search"]
    repeats = [len(score.rewards) for run in runs if run.record.task in timed for score in run.scores().values()]
    return all(
        [
            verdict("runs", len(runs), RUNS),
            verdict("runs of search", len(commits), RUNS // 3),
            verdict("scored commits of a run of search, least", min(commits, default=0), LEAST_COMMITS),
            verdict("repeats of a timed state, least", min(repeats, default=0), LEAST_REPEATS),
            verdict("tasks that search improves on average", improved_tasks(store), TASKS),
        ]
    )


def improved_tasks(store: StudyStore) -> int:
    """Tasks on which the mean official final score of `search` lies clearly (0.01) above that of `nop`."""
    finals: dict[tuple[str, str], list[Decimal]] = {}
    for run in store.runs():
        score = run.score(FINAL)
        if score is not None and score.value is not None:
            finals.setdefault((run.record.task, run.record.agent), []).append(score.value)
    means = {key: sum(values) / len(values) for key, values in finals.items()}
    tasks = {task for task, _ in means}
    return sum(means.get((t, "search"), 0) > means.get((t, "nop"), 1) + Decimal("0.01") for t in tasks)


def verdict(what: str, found: int, least: int) -> bool:
    """Print one number beside its target."""
    print(f"{what}: {found} (wanted: >= {least}) {'holds' if found >= least else 'MISSED'}")
    return found >= least


@contextlib.contextmanager
def place(keep: Path | None) -> Iterator[Path]:
    """Where the clone goes: a directory to keep, or one that is gone afterwards."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="loopscope-demo-") as folder:
            yield Path(folder)
    elif keep.exists() and any(keep.iterdir()):
        sys.exit(f"bench_demo: {keep} is not empty; name a new directory with --keep")
    else:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    parser.add_argument("--study", type=Path, help="check this finished demo, run nothing")
    parser.add_argument("--keep", type=Path, help="directory for the clone, kept afterwards")
    options = parser.parse_args()
    if options.study:
        sys.exit(not check(options.study))
    with place(options.keep) as folder:
        study, seconds = make_demo(folder)
        good = check(study)
    in_time = seconds <= MOST_SEC
    print(f"make demo: {seconds:.0f} s, set-up included (wanted: <= {MOST_SEC:.0f}) {'holds' if in_time else 'MISSED'}")
    sys.exit(not (good and in_time))


if __name__ == "__main__":
    main()
