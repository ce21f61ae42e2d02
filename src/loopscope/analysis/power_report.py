"""What a study can find, as `loopscope power --json` tells it."""

from __future__ import annotations

from typing import Literal

from loopscope.models.base import Record


class Price(Record):
    """What a run costs in one unit, from the study's own runs."""

    unit: Literal["cost_usd", "priced_usd", "agent_sec", "tokens"]
    """A column of the table of runs."""
    per_run: float
    """Mean over agents of the mean over tasks of the mean run."""
    known: int
    """Runs whose amount is known; the others are left out."""
    runs: int
    """All runs of these agents and tasks."""


class Step(Record):
    """A larger study."""

    tasks: int
    seeds: int
    runs_added: int
    """Of the two agents; for the pooled pair, of all agents."""
    price: dict[str, float]
    """Of the added runs by unit; empty where no run says what it cost."""


class Comparison(Record):
    """What the study can find of one pair of agents."""

    first: str | None
    second: str | None
    """None, both: the pooled pair, with the mean variances of all pairs."""
    measure: Literal["avg_at_k", "best_at_k"]
    reading: Literal["random_tasks", "fixed_tasks"]
    tasks: int | None
    seeds: int | None
    families: int | None
    """The design that the figures are for; None where there is no plan."""
    task_sd: float | None
    """Standard deviation between tasks of the true difference; 0 for fixed tasks, None where it is not known apart."""
    seed_sd: float | None
    """Standard deviation of one agent's score between seeds, as if both had the same; None: not known."""
    detectable: float | None
    """Smallest true difference that is found with probability `power`; None: `reason` says why."""
    detectable_low: float | None
    """95 % interval of `detectable`: the spread that it is made of is an estimate. None where that is assumed, or
    rests on fewer than 3 degrees of freedom."""
    detectable_high: float | None
    """The other end."""
    reason: str | None
    half_by_seeds: Step | None
    """Finds half of it; None: no number of seeds does, or it is not known."""
    half_by_tasks: Step | None
    """None for fixed tasks."""
    effect_chance: float | None
    """Probability that the difference `effect` is found; None without `--effect`, or where nothing is ever found."""
    effect_chance_low: float | None
    """The same with the spread at the ends of its interval; None as `detectable_low`."""
    effect_chance_high: float | None
    effect_by_seeds: Step | None
    effect_by_tasks: Step | None
    """What finds it with probability `power`; None where it is found already, or cannot be."""


class PowerReport(Record):
    """What a study can find (`loopscope power --json`)."""

    study: str
    category: str | None
    alpha: float
    power: float
    effect: float | None
    agents: tuple[str, ...]
    tasks: int
    families: int
    """By name; those of one task are put together in the figures."""
    k: int
    """Seeds per agent and task, as planned."""
    runs_planned: int
    runs_scored: int
    assumed_seed_sd: float | None
    assumed_task_sd: float | None
    prices: tuple[Price, ...]
    comparisons: tuple[Comparison, ...]
    """The pooled pair first, where there are more than two agents."""
    notes: tuple[str, ...]
    """What to know before the figures are believed."""
