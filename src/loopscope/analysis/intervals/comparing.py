"""Rows of `comparisons`: every two agents on the tasks that both have a number of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from loopscope.analysis.intervals.places import LEVEL, READINGS, Ends, Place
from loopscope.analysis.intervals.samples import BEST_AT_K, OUTCOMES, Sample
from loopscope.measures.uncertainty import AVG, NO_EVIDENCE, Difference, Estimator, Ranking, Reading, Settings
from loopscope.measures.uncertainty.cells import cell_values
from loopscope.measures.uncertainty.differences import differences
from loopscope.measures.uncertainty.panel import Floats
from loopscope.measures.uncertainty.permutation import draws_for
from loopscope.models.interval_rows import ComparisonRow, Finding

COMPARED = (*OUTCOMES, "c1", "c2", "c3")
"""What agents are compared by; the diagnostics describe and never rank."""


def comparison_rows(
    samples: Mapping[str, Sample], categories: Sequence[str], rankings: Mapping[Place, Ranking], seed: int
) -> list[ComparisonRow]:
    """All pairs of agents; a family for Holm's correction is one measure in one category and reading."""
    rows: list[ComparisonRow] = []
    for measure in sorted(COMPARED):
        if measure not in samples:
            continue
        made: dict[tuple[bytes, Reading], list[ComparisonRow]] = {}
        for category in categories:
            for reading in READINGS:
                key = samples[measure].tasks_in(category), reading
                if key in made:  # one family alone is the whole
                    rows += [replace(row, category=category) for row in made[key]]
                else:
                    made[key] = _family(samples[measure], (measure, category, reading), rankings, seed)
                    rows += made[key]
    return rows


def _family(sample: Sample, place: Place, rankings: Mapping[Place, Ranking], seed: int) -> list[ComparisonRow]:
    measure, category, reading = place
    agents = [i for i in range(len(sample.panel.models)) if sample.tasks_of(i, category).size]
    if len(agents) < 2:
        return []
    k = sample.k(category)
    estimator = Estimator(k) if measure == BEST_AT_K else AVG
    draws = draws_for(math.comb(len(agents), 2))
    settings = Settings(reading=reading, level=LEVEL, draws=draws, seed=seed)
    found = differences(sample.part(category, agents), None, estimator, None, settings)
    tested = [one.test.least for one in found if one.test is not None]
    hopeless = bool(tested) and len(tested) * min(tested) > 1 - LEVEL
    above = _above(rankings.get(place))
    lacking = {agent: sample.unobserved(agent, category) for agent in agents}
    family = _Family(len(tested), hopeless, lacking, above)
    return [
        _row(sample, place, one, (a, b), k, family) for one, (a, b) in zip(found, combinations(agents, 2), strict=True)
    ]


@dataclass(frozen=True)
class _Family:
    """What the comparisons of one measure in one category and reading share."""

    size: int
    hopeless: bool
    """However large the plainest difference, it could not have been significant."""
    lacking: Mapping[int, int]
    """Agent -> rollouts without a value."""
    above: Mapping[tuple[str, str], float]


def _row(
    sample: Sample, place: Place, found: Difference, agents: tuple[int, int], k: int, family: _Family
) -> ComparisonRow:
    measure, category, reading = place
    lacking = sum(family.lacking[agent] for agent in agents)
    ends = _missing_ends(sample, place, agents, k) if lacking and measure in OUTCOMES else (None, None)
    finding, words = _told(found, family.size, family.hopeless)
    interval, test, signs, effect = found.interval, found.test, found.signs, found.effect
    guards = [
        None if interval.estimate is None else interval.guard,
        f"rollouts without a value, which are left out: {lacking}" if lacking else None,
    ]
    return ComparisonRow(
        first=found.first,
        second=found.second,
        category=category,
        measure=measure,
        reading=reading,
        difference=interval.estimate,
        low=interval.low,
        high=interval.high,
        level=interval.level,
        method=interval.method,
        p=test.p if test else None,
        p_adjusted=found.p_adjusted,
        p_least=test.least if test else None,
        family=family.size,
        wins=signs.positive,
        losses=signs.negative,
        ties=signs.tie,
        p_signs=signs.test.p if signs.test else None,
        d_z=effect.d_z if effect else None,
        superiority=effect.superiority if effect else None,
        p_above=family.above.get((found.first, found.second)),
        k=k,
        n_tasks=interval.n_tasks,
        n_missing=lacking,
        missing_low=ends[0],
        missing_high=ends[1],
        finding=finding.value,
        verdict=words,
        guard="; ".join(filter(None, guards)) or None,
    )


def _told(found: Difference, family: int, hopeless: bool) -> tuple[Finding, str]:
    """What was found, for code and in words."""
    interval, test = found.interval, found.test
    if interval.estimate is None:
        return Finding.NOTHING, found.verdict
    if interval.low is None or interval.high is None or (test is not None and test.least > 1 - LEVEL):
        return Finding.TOO_FEW, found.verdict
    if hopeless and test is not None:
        least = min(1.0, family * test.least)
        few = "tasks" if interval.reading == "random tasks" else "runs"
        words = f"{NO_EVIDENCE}, and none was possible: with {family} comparisons on so few {few}"
        return Finding.TOO_FEW, f"{words} the corrected p is at least {least:.2g}"
    if found.verdict.startswith(NO_EVIDENCE):
        return Finding.NO_EVIDENCE, found.verdict
    return (Finding.FIRST_HIGHER if interval.low > 0 else Finding.SECOND_HIGHER), found.verdict


def _missing_ends(sample: Sample, place: Place, agents: tuple[int, int], k: int) -> Ends:
    """The difference with one agent's missing scores at 0 and the other's at 1, both ways."""
    measure, category, _ = place
    estimator = Estimator(k) if measure == BEST_AT_K else AVG
    at = np.intersect1d(sample.tasks_of(agents[0], category), sample.tasks_of(agents[1], category))

    def apart(first: float, second: float) -> float | None:
        one, other = (
            cell_values(np.sort(sample.filled(agent, value)[at], axis=1), estimator)
            for agent, value in zip(agents, (first, second), strict=True)
        )
        return _mean(one - other)

    return apart(0.0, 1.0), apart(1.0, 0.0)


def _mean(values: Floats) -> float | None:
    there = values[~np.isnan(values)]
    return float(there.mean()) if there.size else None


def _above(ranking: Ranking | None) -> dict[tuple[str, str], float]:
    """(first, second) -> share of the draws with the first above."""
    if ranking is None or not ranking.draws:
        return {}
    names = ranking.models
    return {(a, b): float(ranking.above[i, j]) for i, a in enumerate(names) for j, b in enumerate(names)}
