"""An interval, with what stands behind it and speaks against it; how one is made from an estimate and its error."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from loopscope.measures.uncertainty.distributions import t_quantile

type Reading = Literal["random tasks", "fixed tasks"]
"""Random: the tasks stand for others like them; a task with its seeds is a cluster. Fixed: these tasks, other seeds."""
type Method = Literal["score", "t", "percentile", "bca"]
type Bounds = tuple[float, float] | None
"""What a value can be at all: scores (0, 1), differences of scores (-1, 1), costs None."""

UNIT: Bounds = (0.0, 1.0)
FEW_TASKS = 8
"""Below so many tasks the guard says that clusters are few: what is rare among tasks was then probably not seen."""
SATURATED = 0.5
"""Share of tasks at one bound from which the spread of the others is not trusted alone."""
COINS_PER_TASK = 5
"""A saturated task then counts for at most so many coins; chosen by simulation, on the wide side."""


@dataclass(frozen=True)
class Interval:
    """An estimate and what it may be."""

    estimate: float | None
    """None: nothing was observed."""
    low: float | None
    high: float | None
    """None, both: the data say nothing of the spread, see `guard`."""
    level: float
    """Nominal coverage, 0.95 for 95 %."""
    method: Method | None
    reading: Reading
    k: int
    """Rollouts per task, as planned; the most that a task has."""
    n_tasks: int
    n_runs: int
    """With a score."""
    n_missing: int
    """Rollouts that should have one and have none; never taken as a number, see `missing`."""
    guard: str | None = None
    """What to know before it is believed; None: nothing."""
    unseen: bool = False
    """No observation differed from another: the ends are what so few can have left unseen, to either side."""

    @property
    def width(self) -> float | None:
        """high - low."""
        return None if self.low is None or self.high is None else self.high - self.low

    def covers(self, value: float) -> bool | None:
        """Whether the value lies in it; None where there is no interval."""
        return None if self.low is None or self.high is None else self.low <= value <= self.high


@dataclass(frozen=True)
class Moments:
    """What an interval is made of."""

    estimate: float
    se: float
    """Standard error."""
    df: float
    """Degrees of freedom of `se`."""
    units: int
    """Independent observations: tasks (random) or runs (fixed); only used where none of them differs."""


def check_level(level: float) -> None:
    """ValueError unless 0 < level < 1."""
    if not 0 < level < 1:
        raise ValueError(f"an interval needs a level between 0 and 1, such as 0.95, not {level}")


def t_interval(moments: Moments, level: float) -> tuple[float, float]:
    """estimate -+ t_df * se."""
    reach = t_quantile((1 + level) / 2, moments.df) * moments.se
    return moments.estimate - reach, moments.estimate + reach


def score_interval(moments: Moments, level: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Wilson's interval at the effective sample size p(1-p)/se^2, with Student's quantile for the normal's.

    Wilson 1927; at the effective size of a clustered sample: Korn and Graubard 1998, Dean and Pagano 2015. A mean of
    scores in [a, b] is a proportion of the way from a to b, and at most as uncertain as a coin of that proportion. It
    stays within the bounds and leans away from the nearer one, as skewed scores want.
    """
    a, b = bounds
    p, se = (moments.estimate - a) / (b - a), moments.se / (b - a)
    if not 0 < p < 1 or se == 0:
        return unseen_interval(moments, level, bounds)
    effective = p * (1 - p) / se**2
    t = t_quantile((1 + level) / 2, moments.df)
    shrink = 1 + t * t / effective
    middle = (p + t * t / (2 * effective)) / shrink
    reach = t / shrink * math.sqrt(p * (1 - p) / effective + (t / (2 * effective)) ** 2)
    return a + (b - a) * (middle - reach), a + (b - a) * (middle + reach)


def unseen_interval(moments: Moments, level: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Where no observation differs: what n of them can have left unseen.

    A share u of other outcomes stays unseen with probability (1 - u)^n; the largest u for which that is (1 - level)/2
    could lie at either bound. At 0 or 1 this is Clopper and Pearson's bound (1934), the exact "rule of three".
    """
    unseen = 1 - ((1 - level) / 2) ** (1 / moments.units)
    return (
        moments.estimate - unseen * (moments.estimate - bounds[0]),
        moments.estimate + unseen * (bounds[1] - moments.estimate),
    )


def saturated(moments: Moments, bounds: tuple[float, float]) -> Moments:
    """Where most tasks stand at a bound: a standard error no smaller than that of `COINS_PER_TASK` coins per task.

    The few others then carry the whole spread, and a rare failure that was not drawn makes it far too small.
    """
    a, b = bounds
    p = (moments.estimate - a) / (b - a)
    floor = (b - a) * math.sqrt(max(0.0, p * (1 - p)) / (COINS_PER_TASK * moments.units))
    return replace(moments, se=max(moments.se, floor)) if moments.se else moments
