"""What the explanation of one number of a study, or of the difference of two, holds."""

from __future__ import annotations

from loopscope.models import Record


class RunOfNumber(Record):
    """A run behind a number."""

    run_id: str
    """Of the run; `explain_run` tells how its value came about."""
    seed: int
    """As the agent was given it."""
    value: float | None
    """Of the measure; None is left out."""
    source: str | None
    """From where its final score is known: official, reported or reconstructed."""


class TaskOfNumber(Record):
    """A task behind a number."""

    task: str
    """Name in tables."""
    category: str
    """Its family."""
    value: float | None
    """Mean or best of its runs; None leaves the task out."""
    seed_variance: float | None
    """Of the value, over other seeds; None where one run says nothing of it."""
    runs: tuple[RunOfNumber, ...]
    """All that have a record, by id."""


class NumberTold(Record):
    """A number of `outcome`, `process`, `process_by_category`, `diagnostics` or `resources` with its interval.

    And what stands behind both.
    """

    agent: str
    """Label of the agent, or `all agents`."""
    category: str
    """The family, or `overall`."""
    measure: str
    """As in the table `intervals`."""
    reading: str
    """`random tasks` or `fixed tasks`."""
    value: float | None
    """As the tables have it."""
    value_formula: str
    """How it is made of the tasks."""
    se: float | None
    """Standard error; None where the data say nothing of it."""
    se_formula: str
    """How it is made."""
    df: float | None
    """Degrees of freedom of `se` (Satterthwaite)."""
    t: float | None
    """Student's quantile for the level; None without an error."""
    low: float | None
    """Of the interval; None where there is none: see `guard`."""
    high: float | None
    """The other end."""
    level: float
    """Nominal coverage."""
    method: str | None
    """`score`, `t` or `bca`."""
    interval_formula: str | None
    """How the method makes the interval of value, se and df."""
    k: int
    """Rollouts per task."""
    n_tasks: int
    """Tasks with a value."""
    n_runs: int
    """Runs with a value."""
    n_missing: int
    """Rollouts, planned or done, without one."""
    missing_low: float | None
    """The value with every missing final score at 0; of C2, with every run at its `c2_low`."""
    missing_high: float | None
    """The value with every missing final score at 1; of C2, with every run at its `c2_high`."""
    outer_low: float | None
    """Lower end of the interval of `missing_low`."""
    outer_high: float | None
    """Upper end of the interval of `missing_high`."""
    best_place: int | None
    """Best place among all agents that it can have, whatever is missing; None where `rankings` does not tell it."""
    worst_place: int | None
    """Worst place, likewise."""
    guard: str | None
    """What to know before it is believed."""
    tasks: tuple[TaskOfNumber, ...]
    """By name."""
    warnings: tuple[str, ...] = ()
    """That the tables are older than the records."""


class TaskOfDifference(Record):
    """A task behind a difference."""

    task: str
    """Name in tables."""
    category: str
    """Its family."""
    first: float | None
    """The first agent's value, from its runs."""
    second: float | None
    """The second's."""
    difference: float | None
    """First less second; None, where either is, leaves the task out."""
    first_runs: tuple[RunOfNumber, ...]
    """The first agent's that have a record, by id."""
    second_runs: tuple[RunOfNumber, ...]
    """The second's."""


class DifferenceTold(Record):
    """A row of `comparisons`, seen from the first agent, and what stands behind it."""

    first: str
    """Label of the agent."""
    second: str
    """Of the one that it is held against."""
    category: str
    """The family, or `overall`."""
    measure: str
    """As in the table `comparisons`."""
    reading: str
    """`random tasks` or `fixed tasks`."""
    difference: float | None
    """First less second, as the tables have it."""
    se: float | None
    """Standard error; None where the data say nothing of it."""
    se_formula: str
    """How it is made."""
    df: float | None
    """Degrees of freedom of `se` (Satterthwaite)."""
    t: float | None
    """Student's quantile for the level; None without an error."""
    low: float | None
    """Of the interval; None where there is none: see `guard`."""
    high: float | None
    """The other end."""
    level: float
    """Nominal coverage."""
    method: str | None
    """`score` or `t`."""
    interval_formula: str | None
    """How the method makes the interval of difference, se and df."""
    p: float | None
    """Of the test, not corrected."""
    p_formula: str
    """How it is made."""
    p_adjusted: float | None
    """Holm's, over the family."""
    p_least: float | None
    """However large the difference, p cannot be less."""
    family: int
    """Comparisons that were corrected together."""
    wins: int
    """Common tasks on which the first is higher."""
    losses: int
    """... on which the second is."""
    ties: int
    """... on which they are equal."""
    n_tasks: int
    """Common tasks."""
    n_missing: int
    """Rollouts of either, planned or done, without a value."""
    missing_low: float | None
    """The difference with what the first lacks at its worst and what the second lacks at its best."""
    missing_high: float | None
    """The other way round."""
    outer_low: float | None
    """Lower end of the interval of `missing_low`."""
    outer_high: float | None
    """Upper end of the interval of `missing_high`."""
    finding: str
    """As in the table `comparisons`."""
    reversible: bool
    """It names a direction that what is missing could undo or turn."""
    verdict: str
    """The same in words."""
    guard: str | None
    """What to know before it is believed."""
    tasks: tuple[TaskOfDifference, ...]
    """By name, those that one alone has too."""
    warnings: tuple[str, ...] = ()
    """That the tables are older than the records."""
