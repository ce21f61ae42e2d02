"""Rows of `noise` and `noise_dips`: where the spread of scores comes from, and dips that noise alone would make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from loopscope.analysis.finals import Categories
from loopscope.analysis.tabled import TabledRun
from loopscope.measures.uncertainty import Component, components, noise_dips, pooled_sd
from loopscope.measures.uncertainty.panel import Floats
from loopscope.models.interval_rows import NoiseDipRow, NoiseRow, NoiseSource
from loopscope.models.tables import OVERALL

DIP_DRAWS = 500
"""Courses drawn of each run; what is told is the mean over all runs."""
_FEW = 5
"""Degrees of freedom below which a variance is hardly known: with 4, its 95 % interval spans a factor of 23."""
_UNKNOWN = {
    NoiseSource.TASK: "no family has two tasks",
    NoiseSource.SEED: "no task has two scored seeds",
    NoiseSource.VERIFICATION: "no final state was verified twice",
}

type Group = tuple[str, str]
"""(agent, category)."""


def noise_rows(runs: Sequence[TabledRun], categories: Categories, seed: int) -> list[NoiseRow]:
    """The components of variance of each agent, overall and by category."""
    return [
        row
        for (agent, category), own in _groups([run for run in runs if run.final is not None], categories)
        for row in _components(agent, category, own, categories, seed)
    ]


def _groups(runs: Sequence[TabledRun], categories: Categories) -> list[tuple[Group, list[TabledRun]]]:
    found: dict[Group, list[TabledRun]] = {}
    for run in runs:
        for category in (OVERALL, categories[run.run.task]):
            found.setdefault((run.run.agent, category), []).append(run)
    return sorted(found.items())


def _components(
    agent: str, category: str, runs: Sequence[TabledRun], categories: Categories, seed: int
) -> Iterator[NoiseRow]:
    tasks = sorted({run.run.task for run in runs})
    found = components(_cube(runs, tasks), [categories[task] for task in tasks], seed=seed)
    parts = {
        NoiseSource.TASK: found.task,
        NoiseSource.SEED: found.seed,
        NoiseSource.VERIFICATION: found.verification,
    }
    for source, part in parts.items():
        holds = source is NoiseSource.SEED and found.verification is None
        yield NoiseRow(
            agent=agent,
            category=category,
            source=source.value,
            variance=part.variance if part else None,
            sd=part.sd if part else None,
            low=part.low if part else None,
            high=part.high if part else None,
            df=part.df if part else 0,
            n_tasks=len(tasks),
            n_runs=len(runs),
            guard="; ".join(_guards(source, part, holds)) or None,
        )


def _cube(runs: Sequence[TabledRun], tasks: Sequence[str]) -> Floats:
    """(task, run, verification) of final scores, NaN where there is none."""
    by_task: dict[str, list[list[float]]] = {task: [] for task in tasks}
    for run in runs:
        by_task[run.run.task].append([float(reward) for reward in run.final_rewards])
    width = max(len(found) for found in by_task.values())
    depth = max(len(rewards) for found in by_task.values() for rewards in found)
    cube = np.full((len(tasks), width, depth), np.nan)
    for at, task in enumerate(tasks):
        for number, rewards in enumerate(by_task[task]):
            cube[at, number, : len(rewards)] = rewards
    return cube


def _guards(source: NoiseSource, part: Component | None, holds_verification: bool) -> list[str]:
    if part is None:
        return [_UNKNOWN[source]]
    found = []
    if part.at_zero:
        found.append("not above 0: too little to tell it from none")
    if part.df < _FEW:
        found.append(f"hardly known: {part.df} degrees of freedom")
    if holds_verification:
        found.append("holds the verification's, too")
    return found


@dataclass(frozen=True)
class _Dips:
    """Of one run."""

    dips: int
    expected: float | None
    """None where the noise is not known."""


def noise_dip_rows(runs: Sequence[TabledRun], categories: Categories, seed: int) -> list[NoiseDipRow]:
    """Dips beside those that noise alone would make, by agent, overall and by category."""
    measured = [run for run in runs if run.run.n_dips is not None]
    of_task = _noise_by_task(runs)
    found = {run.run_id: _dips(run, of_task[run.run.task], seed) for run in measured}
    return [
        _dip_row(agent, category, [found[run.run_id] for run in own])
        for (agent, category), own in _groups(measured, categories)
    ]


def _noise_by_task(runs: Sequence[TabledRun]) -> Mapping[str, float | None]:
    """Standard deviation of one measurement, pooled over all states of a task that were measured repeatedly."""
    repeats: dict[str, list[Sequence[Decimal]]] = {}
    for run in runs:
        repeats.setdefault(run.run.task, []).extend(run.repeats)
    return {task: pooled_sd(groups) for task, groups in repeats.items()}


def _dips(run: TabledRun, of_task: float | None, seed: int) -> _Dips:
    """By the run's own noise; where it measured nothing twice, by that of the task's other runs."""
    dips, own = run.run.n_dips or 0, pooled_sd(run.repeats)
    sd = of_task if own is None else own
    if sd is None:
        return _Dips(dips, None)
    scores = [row.score for row in run.checkpoints if row.canonical]
    return _Dips(dips, noise_dips(scores, sd, DIP_DRAWS, seed).expected if sd else 0.0)


def _dip_row(agent: str, category: str, runs: Sequence[_Dips]) -> NoiseDipRow:
    known = [(run.dips, run.expected) for run in runs if run.expected is not None]
    unknown = [run.dips for run in runs if run.expected is None]
    dips, expected = sum(found for found, _ in known), sum(made for _, made in known)
    guards = []
    if unknown and known:
        guards.append(f"left out, for nothing of their task was measured twice: {len(unknown)} of {len(runs)} runs")
    elif not known:
        guards.append("no state was measured twice: how noisy scores are is not known")
    if known and not expected:
        guards.append("repeated measurements never made a dip")
    if expected > dips + 2 * expected**0.5:
        guards.append("noise as it was measured would make more dips than were seen: it is overstated")
    return NoiseDipRow(
        agent=agent,
        category=category,
        dips=dips,
        expected=expected if known else None,
        share=min(1.0, expected / dips) if known and dips else None,
        n_runs=len(known),
        n_unknown=len(unknown),
        n_dips_unknown=sum(unknown),
        guard="; ".join(guards) or None,
    )
