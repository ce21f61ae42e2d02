"""Rows of the tables that tell how sure a number is. Columns are described as in `run_rows.py`.

Every number of `outcome`, `process`, `diagnostics` and `resources` has a row in `intervals` for each reading. `random
tasks`: the tasks stand for others like them. `fixed tasks`: just these tasks, other seeds. `docs/statistics.md` has
the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

EVERYONE = "all agents"
"""Stands for the agent where a number is a mean over all of them; no label has a space."""
COMMON_AVG, COMMON_BEST = "common_avg", "common_best"
"""avg@k and best@k over the tasks on which all agents with a score have one, as in `outcome`."""
PAIRED_AVG, PAIRED_BEST = "paired_avg", "paired_best"
"""avg@k and best@k of the paired rewards, over the calibrated tasks, as in `outcome`."""


class Finding(StrEnum):
    """What a comparison found, for code; `ComparisonRow.verdict` has it in words."""

    FIRST_HIGHER = "first_higher"
    """The first agent is higher: the interval leaves 0 out, and so does the test, corrected for its family. Where no
    task or seed differs from another, nothing makes an interval of a spread, and the test alone decides."""
    SECOND_HIGHER = "second_higher"
    """The second is."""
    NO_EVIDENCE = "no_evidence"
    """No evidence of a difference, which is none of equality either."""
    TOO_FEW = "too_few"
    """No result could have been significant with so few tasks or seeds."""
    NOTHING = "nothing"
    """No task has a number of both."""


class NoiseSource(StrEnum):
    """Where the spread of final scores comes from."""

    TASK = "task"
    """Between tasks of a family."""
    SEED = "seed"
    """Between seeds of a task; holds the verification's too where no state was verified twice."""
    VERIFICATION = "verification"
    """Between verifications of one final state."""


@dataclass(frozen=True)
class IntervalRow:
    """`intervals.parquet`: how sure one number is. By measure, agent, category, then reading."""

    agent: str
    """Label of the agent; `all agents` for a number of `process_by_category`."""
    category: str
    """The family, or `overall`."""
    measure: str
    """`avg_at_k`, `best_at_k`, a measure of `process` or `diagnostics`, or a resource (per task); `common_avg` and
    `common_best` where the agents of the category have scores on different tasks and on common ones; `paired_avg` and
    `paired_best` where some task of it is calibrated."""
    reading: str
    """`random tasks` or `fixed tasks`. [; statistics]"""
    value: float | None
    """The very number of the other table; None when nothing was observed. [the measure's; ]"""
    low: float | None
    """None, like `high`: the data say nothing of the spread, `guard` says why. [the measure's; statistics]"""
    high: float | None
    """The other end. [the measure's; statistics]"""
    level: float
    """Nominal coverage: 0.95. [share; statistics]"""
    method: str | None
    """`score`, `t` or `bca`; None without an interval. [; statistics]"""
    k: int
    """Rollouts per task: the largest number that any task has. [count; 2.2]"""
    n_tasks: int
    """Tasks with a value. [count; ]"""
    n_runs: int
    """Runs with a value. [count; ]"""
    n_missing: int
    """Rollouts, planned or done, without a value: not scored, or the measure has no meaning for them. [count; ]"""
    n_reconstructed: int
    """Runs among `n_runs` that rest on reconstructed scores. [count; metrics]"""
    n_reported: int
    """Runs among `n_runs` whose final score is reported by the imported log. [count; metrics]"""
    missing_low: float | None
    """avg@k and best@k: the value with every missing final score at 0; C2: with every run at its `c2_low`, where not
    all was seen. None where nothing is missing, and for other measures. [the measure's; statistics]"""
    missing_high: float | None
    """The value with every missing final score at 1, or every run at its `c2_high`; None likewise. [the measure's;
    statistics]"""
    outer_low: float | None
    """Lower end of the interval of `missing_low`; None like that, and where it has no interval. [the measure's;
    statistics]"""
    outer_high: float | None
    """Upper end of the interval of `missing_high`, likewise. [the measure's; statistics]"""
    guard: str | None
    """What to know before it is believed, in words; None: nothing."""


@dataclass(frozen=True)
class ComparisonRow:
    """`comparisons.parquet`: two agents on the tasks that both have a number of. By measure, category, reading, agents.

    Each pair of agents once, the first before the second by label. They share tasks; their seeds are their own.
    """

    first: str
    """Label of an agent."""
    second: str
    """Label of the other."""
    category: str
    """The family, or `overall`."""
    measure: str
    """`avg_at_k`, `best_at_k`, `c1`, `c2` or `c3`. best@k takes tasks alone on which both have k scores."""
    reading: str
    """`random tasks` or `fixed tasks`. [; statistics]"""
    difference: float | None
    """Mean over the common tasks of first minus second; None without a common task. [reward; statistics]"""
    low: float | None
    """None, like `high`: the data say nothing of the spread, `guard` says why. [reward; statistics]"""
    high: float | None
    """The other end. [reward; statistics]"""
    level: float
    """Nominal coverage: 0.95. [share; statistics]"""
    method: str | None
    """`score` or `t`; None without an interval. [; statistics]"""
    p: float | None
    """Of flipped signs of tasks (random), or of shuffled runs within tasks (fixed). [share; statistics]"""
    p_adjusted: float | None
    """Holm's, over the `family` of comparisons. [share; statistics]"""
    p_least: float | None
    """However large the difference, p cannot be less. [share; statistics]"""
    family: int
    """Comparisons that were corrected together: all pairs of agents for this measure, category, reading. [count; ]"""
    wins: int
    """Common tasks on which the first is higher. [count; ]"""
    losses: int
    """Common tasks on which the second is. [count; ]"""
    ties: int
    """Common tasks on which they are equal. [count; ]"""
    p_signs: float | None
    """Of the sign test of wins against losses, not corrected; None without either. [share; statistics]"""
    d_z: float | None
    """Mean / standard deviation of the tasks' differences, corrected for few; None under three. [sd; statistics]"""
    superiority: float | None
    """Share of the common tasks won by the first, ties half. [share; statistics]"""
    p_above: float | None
    """Share of resamples with the first above, ties half; None where `rankings` has neither. [share; statistics]"""
    k: int
    """Rollouts per task: the largest number that any task has. [count; 2.2]"""
    n_tasks: int
    """Common tasks. [count; ]"""
    n_missing: int
    """Rollouts of either, planned or done, without a value, over all tasks. [count; ]"""
    missing_low: float | None
    """The difference with the first's missing final scores at 0 and the second's at 1; of C2, with the first's runs at
    their `c2_low` and the second's at their `c2_high`. None where nothing is missing, and for other measures. [reward;
    statistics]"""
    missing_high: float | None
    """The other way round. [reward; statistics]"""
    outer_low: float | None
    """Lower end of the interval of `missing_low`; None as that, and where it has no interval. [reward; statistics]"""
    outer_high: float | None
    """Upper end of the interval of `missing_high`, likewise. [reward; statistics]"""
    finding: str
    """What was found (`Finding`): first_higher, second_higher, no_evidence, too_few, nothing."""
    reversible: bool
    """`finding` names a direction that what is missing could undo or turn: 0 lies between `missing_low` and
    `missing_high`."""
    verdict: str
    """The same in words."""
    guard: str | None
    """What to know before it is believed, in words; None: nothing."""


@dataclass(frozen=True)
class RankingRow:
    """`rankings.parquet`: how often resamples have an agent in a place. By measure, category, reading, rank, place.

    No rows for fewer than two agents that have a spread to draw from (one task or seed has none).
    """

    agent: str
    """Label of the agent."""
    category: str
    """The family, or `overall`."""
    measure: str
    """`avg_at_k`, `best_at_k` or `c2`."""
    reading: str
    """`random tasks` or `fixed tasks`. [; statistics]"""
    rank: int
    """Place by the estimate, from 1. [count; ]"""
    place: int
    """From 1, best first. [count; ]"""
    probability: float
    """Share of the resamples with the agent in the place; agents that are equal share theirs. [share; statistics]"""
    draws: int
    """Resamples in which every agent has a number. [count; ]"""
    n_tasks: int
    """Tasks that all of them have a number of; best@k takes tasks alone on which all have k scores. [count; ]"""
    best_place: int | None
    """Best place of the estimate, whatever the missing final scores are; of C2, whatever was not seen. None where that
    cannot be told. [count; statistics]"""
    worst_place: int | None
    """Worst place, likewise. [count; statistics]"""


@dataclass(frozen=True)
class StabilityRow:
    """`stability.parquet`: whether an order would stand if less were looked at, or with another harness. By measure.

    First the order of all agents against that of a part of the study; then, of every two harnesses that drive the same
    models, that of the models and of the tasks. Over the tasks that all of them have a number of. No rows of fewer
    than two agents, or with nothing to leave out.
    """

    measure: str
    """What they are ordered by: `avg_at_k` or `best_at_k`."""
    ordered: str
    """`agents`; of two harnesses, the `models` that both drive, or the `tasks` by the mean over those models."""
    what: str
    """What is looked at: `2 of 3 seeds`, `best@2`, `50 % of the tasks`, `without FAMILY`, `HARNESS against HARNESS`."""
    tau: float | None
    """Kendall's tau-b with the order of the whole, mean of the draws; of two harnesses, that of their orders. None
    where nothing is ordered. [; statistics]"""
    tau_low: float | None
    """Its lower 5 % point over the draws. [; statistics]"""
    tau_high: float | None
    """Its upper 5 % point. [; statistics]"""
    same_first: float | None
    """Share of the draws with the same in front, alone; None of tasks. [share; statistics]"""
    same_order: float | None
    """Share with every pair in the same order; None of tasks. [share; statistics]"""
    draws: int
    """Subsets that were drawn, of two harnesses resamples of the tasks; 1 where there is one alone. [count; ]"""
    n_ordered: int
    """Agents, models or tasks in the order. [count; ]"""
    n_tasks: int
    """Tasks that all of them have a number of. [count; ]"""


@dataclass(frozen=True)
class NoiseRow:
    """`noise.parquet`: one source of the spread of an agent's final scores. By agent, category, then source."""

    agent: str
    """Label of the agent."""
    category: str
    """The family, or `overall`."""
    source: str
    """`task`, `seed` or `verification` (`NoiseSource`)."""
    variance: float | None
    """At least 0; None where nothing tells it, `guard` says why. [reward^2; statistics]"""
    sd: float | None
    """Its root, on the scale of the score. [reward; statistics]"""
    low: float | None
    """Of the variance: 2.5 % point of resamples of tasks; None under 8 tasks. [reward^2; statistics]"""
    high: float | None
    """97.5 % point. [reward^2; statistics]"""
    df: int
    """Degrees of freedom that it is estimated from. [count; statistics]"""
    n_tasks: int
    """Tasks with a final score. [count; ]"""
    n_runs: int
    """Runs with a final score. [count; ]"""
    guard: str | None
    """What to know before it is believed, in words; None: nothing."""


@dataclass(frozen=True)
class NoiseDipRow:
    """`noise_dips.parquet`: dips beside those that noise alone would make. By agent, then category."""

    agent: str
    """Label of the agent."""
    category: str
    """The family, or `overall`."""
    dips: int
    """In the runs whose noise is known. [count; ]"""
    expected: float | None
    """How many such runs would have that never truly fall, measured as noisily; None where no noise is known. [count;
    statistics]"""
    share: float | None
    """expected / dips, at most 1: the dips that noise alone would make; None without a dip. [share; statistics]"""
    n_runs: int
    """Runs whose noise is known: a state of theirs, or of their task, was measured repeatedly. [count; ]"""
    n_unknown: int
    """Other runs with scores. [count; ]"""
    n_dips_unknown: int
    """Dips of those. [count; ]"""
    guard: str | None
    """What to know before it is believed, in words; None: nothing."""
