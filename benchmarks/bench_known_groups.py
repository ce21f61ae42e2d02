"""Do the measures measure? Plant habits in `search`, run it, and see which measures move (docs/known-groups.md).

    python benchmarks/bench_known_groups.py run DIR --tasks addition_chains --seeds 6     stop and go on at any time
    python benchmarks/bench_known_groups.py tell DIR... [--out docs]     tables to standard output, figure into a folder

`run` writes DIR/study.yaml from known_groups/factors.yaml, runs it, scores every commit and analyses. `tell` reads
nothing but the tables of `loopscope analyze` and what the agent says it planted. Its exit code is 1 where something
that should move did not, or moved the other way.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import polars as pl

from known_groups import words
from known_groups.design import Design, load_design, study_text
from known_groups.effects import Effect, counted, effects
from known_groups.picture import picture

FIGURE = "known-groups.svg"


def run(design: Design, folder: Path, tasks: list[str], seeds: int, concurrency: int) -> int:
    """Run the study, or what is left of it."""
    folder.mkdir(parents=True, exist_ok=True)
    study = folder / "study.yaml"
    study.write_text(study_text(design, tasks, list(range(1, seeds + 1)), concurrency))
    loopscope = str(Path(sys.executable).with_name("loopscope"))
    done = subprocess.run([loopscope, "run", str(study)])
    if done.returncode not in (0, 1):  # 1: a rollout or a score is missing, which the tables then say
        return done.returncode
    return subprocess.run([loopscope, "analyze", str(folder)]).returncode


def tell(design: Design, studies: list[Path], out: Path | None) -> bool:
    """Print the tables, and write the figure where a folder is given; whether everything moved as meant."""
    tasks = sorted({task for study in studies for task in pl.read_parquet(study / "tables/runs.parquet")["task"]})
    overall = effects(design, studies)
    by_task = {task: effects(design, studies, task) for task in tasks}
    print(f"## All tasks\n\n{words.doses(design, overall)}\n\n{words.matrix(design, overall)}\n")
    for task in tasks:
        print(f"## {task}\n\n{words.doses(design, by_task[task])}\n\n{words.matrix(design, by_task[task])}\n")
    print(f"## Planted and counted\n\n{words.census(counted(design, studies))}\n")
    if out:
        (out / FIGURE).write_text(picture(design, by_task))
    misses = [
        f"{factor.name}: {measure} should go {way}, {overall[factor.name, measure].difference}"
        for factor in design.factors
        for measure, way in factor.moves.items()
        if not moved(overall[factor.name, measure], up=way == "up")
    ]
    print("\n".join(misses) or "everything that should move did, as meant")
    return not misses


def moved(found: Effect, up: bool) -> bool:
    """The whole interval lies on the side where it should."""
    if found.low is None or found.high is None:
        return False
    return found.low > 0 if up else found.high < 0


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    runs = verbs.add_parser("run", help="run the study, or what is left of it")
    runs.add_argument("folder", type=Path)
    runs.add_argument("--tasks", nargs="+", default=["addition_chains"])
    runs.add_argument("--seeds", type=int, default=6)
    runs.add_argument("--concurrency", type=int, default=2)
    tells = verbs.add_parser("tell", help="tables and figure of finished studies")
    tells.add_argument("folders", type=Path, nargs="+")
    tells.add_argument("--out", type=Path, help="folder for the figure")
    given = parser.parse_args()
    if given.verb == "run":
        sys.exit(run(load_design(), given.folder, given.tasks, given.seeds, given.concurrency))
    sys.exit(0 if tell(load_design(), given.folders, given.out) else 1)


if __name__ == "__main__":
    main()
