"""What moved: differences between the levels of a factor, paired by task and seed, from a study's own tables."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import polars as pl

from known_groups.design import Design, Factor
from loopscope.agents.search.plant import PlantedTruth

MEASURES = {
    "c1": "C1",
    "c2": "C2",
    "c3": "C3",
    "final_score": "final score",
    "best_observed": "best observed",
    "early_capture": "early capture",
    "builds_per_round": "builds per round",
    "rounds_with_build_errors": "rounds with build errors",
    "peak_retention": "peak retention",
    "recovery_credit": "recovery credit",
    "dip_rate": "dip rate",
    "dip_depth": "dip depth",
    "agent_sec": "agent's seconds",
}
"""Columns of `runs.parquet`, with their names in the report."""
RESAMPLES = 4000
_TAIL = 0.025

Values = Mapping[tuple[str, str, int], float]
"""One measure by (task, label, seed); what is missing is absent."""


@dataclass(frozen=True)
class Effect:
    """What a factor did to a measure."""

    factor: str
    measure: str
    means: tuple[float | None, ...]
    """By level: seeds within tasks, then tasks equally, over the pairs that have a value at every level."""
    difference: float | None
    """Highest level less control, paired by task and seed."""
    low: float | None
    high: float | None
    """95 % interval of the difference by resampling the seeds of each task."""
    pairs: int

    @property
    def shown(self) -> bool:
        """The interval leaves out zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def monotone(self) -> bool | None:
        """The means only rise or only fall with the dose, and are not all the same; None without means."""
        known = [mean for mean in self.means if mean is not None]
        if len(known) < len(self.means):
            return None
        steps = [after - before for before, after in itertools.pairwise(known)]
        return any(steps) and (all(step >= 0 for step in steps) or all(step <= 0 for step in steps))


def read_values(studies: Sequence[Path]) -> dict[str, dict[tuple[str, str, int], float]]:
    """Every measure of every run, from the tables that `loopscope analyze` wrote."""
    values: dict[str, dict[tuple[str, str, int], float]] = {measure: {} for measure in MEASURES}
    for study in studies:
        for row in pl.read_parquet(study / "tables/runs.parquet").iter_rows(named=True):
            for measure, found in values.items():
                if row[measure] is not None:
                    found[row["task"], row["agent"], row["seed"]] = row[measure]
    return values


def effect(factor: Factor, measure: str, values: Values, task: str | None = None) -> Effect:
    """What a factor did to a measure, in one task or in all of them equally."""
    labels = [level.label for level in factor.levels]
    blocks: dict[str, list[tuple[float, ...]]] = {}
    for where, label, seed in sorted(values):
        if label == labels[0] and task in (None, where):
            row = [values[where, other, seed] for other in labels if (where, other, seed) in values]
            if len(row) == len(labels):
                blocks.setdefault(where, []).append(tuple(row))
    if not blocks:
        return Effect(factor.name, measure, (None,) * len(labels), None, None, None, 0)
    means = tuple(fmean(fmean(row[i] for row in rows) for rows in blocks.values()) for i in range(len(labels)))
    low, high = interval([[row[-1] - row[0] for row in rows] for rows in blocks.values()])
    return Effect(factor.name, measure, means, means[-1] - means[0], low, high, sum(map(len, blocks.values())))


def interval(blocks: Sequence[Sequence[float]]) -> tuple[float, float]:
    """95 % bootstrap interval of the mean of the blocks' means; values are drawn anew within each block."""
    dice = random.Random(20260101)
    drawn = sorted(fmean(fmean(dice.choices(block, k=len(block))) for block in blocks) for _ in range(RESAMPLES))
    return drawn[int(_TAIL * RESAMPLES)], drawn[int((1 - _TAIL) * RESAMPLES) - 1]


def effects(design: Design, studies: Sequence[Path], task: str | None = None) -> dict[tuple[str, str], Effect]:
    """Every effect by (factor, measure)."""
    values = read_values(studies)
    return {(f.name, m): effect(f, m, values[m], task) for f in design.factors for m in MEASURES}


@dataclass(frozen=True)
class Counted:
    """What was planted in the runs of one label beside what the evidence counted."""

    label: str
    runs: int
    open_failures: int
    hidden_failures: int
    counted_failures: int
    open_candidates: int
    hidden_candidates: int


def counted(design: Design, studies: Sequence[Path]) -> list[Counted]:
    """Planted and counted, by label, for the labels that plant something."""
    found: dict[str, list[Counted]] = {}
    for study in studies:
        checkpoints = pl.read_parquet(study / "tables/checkpoints.parquet")
        failures = dict(checkpoints.group_by("run_id").agg(pl.col("build_failures").sum()).iter_rows())
        for run in pl.read_parquet(study / "tables/runs.parquet").iter_rows(named=True):
            truth = study / "runs" / run["run_id"] / "native/plant.json"
            if truth.exists():
                one = _of_run(run["agent"], PlantedTruth.read(truth), failures[run["run_id"]])
                found.setdefault(one.label, []).append(one)
    return [_sum(label, found[label]) for label in design.agents if label in found]


def _of_run(label: str, truth: PlantedTruth, failures: int) -> Counted:
    rounds = truth.rounds
    hidden, concealed = sum(r.hidden_failed_builds for r in rounds), sum(r.hidden_candidates for r in rounds)
    return Counted(
        label,
        1,
        sum(r.failed_builds for r in rounds) - hidden,
        hidden,
        failures,
        sum(r.candidates for r in rounds) - concealed,
        concealed,
    )


def _sum(label: str, parts: Sequence[Counted]) -> Counted:
    return Counted(
        label,
        sum(p.runs for p in parts),
        sum(p.open_failures for p in parts),
        sum(p.hidden_failures for p in parts),
        sum(p.counted_failures for p in parts),
        sum(p.open_candidates for p in parts),
        sum(p.hidden_candidates for p in parts),
    )
