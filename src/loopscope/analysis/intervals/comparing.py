"""Rows of `comparisons`: every two agents on the tasks that both have a number of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from loopscope.analysis.intervals.places import LEVEL, READINGS, Place
from loopscope.analysis.intervals.samples import BEST_AT_K, OUTCOMES, Ends, Sample, ends_of
from loopscope.measures.uncertainty import AVG, NO_EVIDENCE, Difference, Estimator, Interval, Ranking, Reading, Settings
from loopscope.measures.uncertainty.differences import differences, intervals_between
from loopscope.measures.uncertainty.permutation import draws_for
from loopscope.models.interval_rows import ComparisonRow, Finding

COMPARED = (*OUTCOMES, "c1", "c2", "c3")
"""What agents are compared by; the diagnostics describe and never rank."""


_RESERVE = {
    True: "as far as scores are there; missing ones could reverse it",
    False: "as far as it was seen; what was not could reverse it",
}


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
                    made[key] = _family(samples, (measure, category, reading), rankings, seed)
                    rows += made[key]
    return rows


def _family(
    samples: Mapping[str, Sample], place: Place, rankings: Mapping[Place, Ranking], seed: int
) -> list[ComparisonRow]:
    measure, category, reading = place
    sample, both = samples[measure], ends_of(samples, measure)
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
    pairs = list(combinations(agents, 2))
    open_ = {agent for agent in agents if both is not None and sample.open(agent, category, both)}
    missing = [pair for pair in pairs if open_.intersection(pair)]
    ends = _missing_ends(both, category, missing, estimator, settings) if both and missing else {}
    family = _Family(len(tested), hopeless, lacking, ends, above)
    return [_row(place, one, pair, k, family) for one, pair in zip(found, pairs, strict=True)]


@dataclass(frozen=True)
class _Family:
    """What the comparisons of one measure in one category and reading share."""

    size: int
    hopeless: bool
    """However large the plainest difference, it could not have been significant."""
    lacking: Mapping[int, int]
    """Agent -> rollouts without a value."""
    ends: Mapping[tuple[int, int], tuple[Interval, Interval]]
    """Of the pairs with something missing: the difference with that of the first at its worst, then at its best."""
    above: Mapping[tuple[str, str], float]


def _row(place: Place, found: Difference, agents: tuple[int, int], k: int, family: _Family) -> ComparisonRow:
    measure, category, reading = place
    lacking = sum(family.lacking[agent] for agent in agents)
    least, most = family.ends.get(agents, (None, None))
    ends = least.estimate if least else None, most.estimate if most else None
    finding, words = _told(found, family.size, family.hopeless)
    reversible = _reversible(finding, ends)
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
        outer_low=least.low if least else None,
        outer_high=most.high if most else None,
        finding=finding.value,
        reversible=reversible,
        verdict=f"{words}, {_RESERVE[measure in OUTCOMES]}" if reversible else words,
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
    return (Finding.FIRST_HIGHER if interval.estimate > 0 else Finding.SECOND_HIGHER), found.verdict


def _reversible(finding: Finding, ends: tuple[float | None, float | None]) -> bool:
    low, high = ends
    against = low if finding == Finding.FIRST_HIGHER else high if finding == Finding.SECOND_HIGHER else None
    if against is None:
        return False
    return against <= 0 if finding == Finding.FIRST_HIGHER else against >= 0


def _missing_ends(
    ends: Ends, category: str, pairs: Sequence[tuple[int, int]], estimator: Estimator, settings: Settings
) -> dict[tuple[int, int], tuple[Interval, Interval]]:
    """By pair, the difference with what one agent lacks at its worst and the other at its best, both ways."""
    agents = sorted({agent for pair in pairs for agent in pair})
    worst, best = (filled.part(category, agents) for filled in ends)
    low, high = ({a: f"{a} {name}" for a in agents} for name in ("low", "high"))  # no label has a space
    both = replace(worst, models=(*low.values(), *high.values()), scores=np.concatenate([worst.scores, best.scores]))
    found = [
        intervals_between(both, [(first[a], second[b]) for a, b in pairs], estimator, None, settings)
        for first, second in ((low, high), (high, low))
    ]
    return dict(zip(pairs, zip(*found, strict=True), strict=True))


def _above(ranking: Ranking | None) -> dict[tuple[str, str], float]:
    """(first, second) -> share of the draws with the first above."""
    if ranking is None or not ranking.draws:
        return {}
    names = ranking.models
    return {(a, b): float(ranking.above[i, j]) for i, a in enumerate(names) for j, b in enumerate(names)}
