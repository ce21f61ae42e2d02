"""How long the statistics of a whole study take: 756 runs of seven models on 36 tasks in four categories.

    OMP_NUM_THREADS=1 python benchmarks/bench_uncertainty.py [--draws 10000]

Wanted: 10,000 draws within 2 s on one core, every model overall and in each category, with the order of the models.
Beside it a floor: numpy's plain mean of as many resamples of tasks and seeds. CPU seconds; exit code 1 on a miss.
Behind it what `loopscope analyze` adds for such a study: every row of the tables of intervals, which always take
10,000 draws; 51 measures of each run besides the scores, both readings, 1,050 comparisons.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from loopscope.analysis.finals import FinalScore
from loopscope.analysis.intervals import figures_of, interval_tables
from loopscope.analysis.intervals.samples import MEASURES, bounds_of
from loopscope.analysis.quantities import DIAGNOSTICS, PROCESS
from loopscope.analysis.tabled import TabledRun
from loopscope.analysis.tables import measure_rows, outcome_rows, resource_rows
from loopscope.measures.uncertainty import AVG, Estimator, Panel, Settings, differences, level_of, ranking, resample

MOST_SEC = 2.0
SIZES = {"model_development": 7, "system_optimization": 15, "puzzle_challenge": 10, "cuda": 4}
MODELS, SEEDS = 7, 3


def study() -> Panel:
    """756 scores, with zeros and ones among them."""
    rng = np.random.default_rng(0)
    categories = tuple(name for name, size in SIZES.items() for _ in range(size))
    centres = rng.normal(0.6, 0.3, (1, len(categories), 1)) + rng.normal(0, 0.05, (MODELS, 1, 1))
    scores = np.clip(centres + rng.normal(0, 0.15, (MODELS, len(categories), SEEDS)), 0, 1)
    names = [tuple(f"{letter}{i}" for i in range(n)) for letter, n in (("m", MODELS), ("t", 36), ("s", SEEDS))]
    return Panel(names[0], names[1], categories, names[2], scores, SEEDS)


def floor(panel: Panel, draws: int) -> None:
    """Index, take, mean: tasks and seeds drawn anew for each model, nothing else."""
    rng = np.random.default_rng(0)
    tasks = len(panel.tasks)
    for scores in panel.scores:
        drawn = scores[rng.integers(0, tasks, (draws, tasks, 1)), rng.integers(0, SEEDS, (draws, tasks, SEEDS))]
        drawn.mean(axis=(1, 2))


def orders(panel: Panel, draws: int, fixed: bool) -> None:
    """All resamples of one reading, and the ranking overall and in each category."""
    drawn = resample(panel, AVG, "fixed tasks" if fixed else "random tasks", draws)
    for group in drawn.groups:
        ranking(drawn, group or None)


def intervals(panel: Panel, draws: int, bca: bool) -> None:
    """avg and best@3 of every model, overall and in each category, with both readings or resampled."""
    settings = [Settings(method="bca", draws=draws)] if bca else [Settings(), Settings(reading="fixed tasks")]
    for model in panel.models:
        for estimator in (AVG, Estimator(3)):
            for category in (None, *SIZES):
                for setting in settings:
                    level_of(panel, model, estimator, category, setting)


def compare(panel: Panel, draws: int) -> None:
    """All pairs of models."""
    differences(panel, settings=Settings(draws=draws))


def made_runs(panel: Panel) -> tuple[list[TabledRun], list[FinalScore]]:
    """What the tables of intervals read of each run: any measures, fifteen checkpoints, two verifications."""
    rng = np.random.default_rng(1)
    runs: list[Any] = []
    for agent, by_task in zip(panel.models, panel.scores, strict=True):
        for task, scores in zip(panel.tasks, by_task, strict=True):
            for seed, score in enumerate(scores):
                rewards = tuple(Decimal(f"{value:.4f}") for value in (score, score * 0.99))
                checkpoints = [SimpleNamespace(score=float(x), canonical=True) for x in np.sort(rng.random(15))]
                row = SimpleNamespace(
                    agent=agent,
                    task=task,
                    n_dips=int(rng.poisson(1)),
                    final_source="official",
                    harness="one",
                    model=agent,
                )
                quantities = {
                    name: round(float(rng.random() if bounds_of(name) else rng.lognormal()), 4) for name in MEASURES
                }
                runs.append(
                    SimpleNamespace(
                        run=row,
                        run_id=f"{task}__{agent}__{seed}",
                        quantities=quantities,
                        final=rewards[0],
                        final_rewards=rewards,
                        repeats=(rewards,),
                        checkpoints=checkpoints,
                        reconstructed=False,
                        final_is_reported=False,
                    )
                )
    finals = [FinalScore(run.run.agent, run.run.task, run.final, "official") for run in runs]
    return cast("list[TabledRun]", runs), finals


def tables(runs: Sequence[TabledRun], finals: Sequence[FinalScore], panel: Panel) -> None:
    """All rows of the tables of intervals."""
    categories = dict(zip(panel.tasks, panel.categories, strict=True))
    measures = [row for names in (PROCESS, DIAGNOSTICS) for row in measure_rows(runs, names, categories)]
    outcome, resources = outcome_rows(finals, categories), resource_rows(runs, categories)
    interval_tables(runs, finals, categories, figures_of(outcome, measures, resources))


def cpu(what: str, step: Callable[[], None]) -> float:
    """CPU seconds of a step, the least of three."""
    took = []
    for _ in range(3):
        began = time.process_time()
        step()
        took.append(time.process_time() - began)
    print(f"{what:<66} {min(took):6.2f} s CPU")
    return min(took)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10_000)
    n = parser.parse_args().draws
    panel = study()
    print(f"{panel.scores.size} runs, {n} draws")
    plain = cpu("plain numpy: mean of resamples of tasks and seeds", lambda: floor(panel, n))
    random = cpu("random tasks: 7 models x (4 categories + all), and their order", lambda: orders(panel, n, False))
    fixed = cpu("fixed tasks: the same", lambda: orders(panel, n, True))
    cpu("140 intervals as they are by default", lambda: intervals(panel, n, False))
    cpu("70 intervals by BCa", lambda: intervals(panel, n, True))
    cpu("21 comparisons with intervals, tests and Holm", lambda: compare(panel, n))
    runs, finals = made_runs(panel)
    cpu("the tables of intervals", lambda: tables(runs, finals, panel))
    both = random + fixed
    verdict = "holds" if both <= MOST_SEC else "MISSED"
    print(f"both readings: {both:.2f} s (wanted: <= {MOST_SEC}), {both / plain:.1f} floors: {verdict}")
    sys.exit(both > MOST_SEC)


if __name__ == "__main__":
    main()
