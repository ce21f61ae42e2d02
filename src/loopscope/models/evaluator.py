"""The evaluator file of a task: how its evaluations look in a transcript, and what reward their values are worth."""

from __future__ import annotations

import math
import re
import warnings
from decimal import ROUND_HALF_EVEN, Context, Decimal
from enum import StrEnum
from functools import cache, lru_cache
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator, Field, model_validator

from loopscope.models.base import Record, Versioned
from loopscope.models.task import Anchors, Direction, TaskFacts

_EXACT = Context(prec=30, rounding=ROUND_HALF_EVEN)
"""Logarithms are taken to 30 digits before the reward is rounded, the same on every machine."""


_ROUNDING = 1e-15
"""Four times what a double near 1 may be off: of its rounding, and of any machine's logarithm or quotient."""
_ORDINARY = (1e-290, 1e290)
"""Between these doubles keep all their digits."""


class _Near(NamedTuple):
    """A number and how far it may be off."""

    value: float
    error: float


@lru_cache(maxsize=1 << 12)
def _logarithm(base: Decimal, value: Decimal) -> Decimal:
    return _EXACT.ln(_EXACT.divide(base, value))


@lru_cache(maxsize=1 << 14)
def _near_logarithm(base: Decimal, value: Decimal) -> _Near | None:
    """The same as a double, a twentieth of the work; None where doubles are no help."""
    quotient = float(_EXACT.divide(base, value))
    if not _ORDINARY[0] < quotient < _ORDINARY[1]:
        return None
    found = math.log(quotient)
    return _Near(found, _ROUNDING * (1 + abs(found)))


@cache
def _last_place(decimals: int) -> Decimal:
    return Decimal(1).scaleb(-decimals)


class EvaluationRole(StrEnum):
    """What an evaluation tells."""

    SCORE = "score"
    """The number that counts."""
    CHECK = "check"
    """Only whether the solution is right."""
    PART = "part"
    """The number for a part of the workload."""


def _compiles(text: str) -> str:
    try:
        with warnings.catch_warnings():
            # What Python may read otherwise one day is refused, and not told on the terminal of whoever analyses.
            warnings.simplefilter("error", FutureWarning)
            re.compile(text)
    except (re.error, FutureWarning) as error:
        raise ValueError(f"no regular expression: {error}") from None
    except (OverflowError, RecursionError):
        raise ValueError("no regular expression: too many repetitions or groups within groups") from None
    return text


def _has_value(text: str) -> str:
    if "value" not in re.compile(_compiles(text)).groupindex:
        raise ValueError("names no group `(?P<value>...)`")
    return text


Expression = Annotated[str, Field(max_length=2000), AfterValidator(_compiles)]
ValueExpression = Annotated[str, Field(max_length=2000), AfterValidator(_has_value)]
Number = Annotated[Decimal, Field(allow_inf_nan=False)]


class EvaluationEntry(Record):
    """One way of evaluating. The first entry that fits a command counts."""

    role: EvaluationRole
    """What it tells."""
    program: Expression
    """Whole base name of the program, of an interpreter's script, or `cargo run`, `go run`."""
    arguments: Expression | None = None
    """Searched in the arguments, joined by spaces; absent: any."""
    without: Expression | None = None
    """Must not be found there."""
    value: ValueExpression | None = None
    """Searched in the output, with a group `value`."""
    failed: Expression | None = None
    """What the output shows when the evaluation ran and the solution is wrong."""
    answer: ValueExpression | None = None
    """Searched in the output, with a group `value`: what a right solution prints, whatever its speed. One that differs
    from what the untouched solution printed in the same run is wrong."""
    measures: str | None = None
    """A file, relative to the work directory, that is evaluated instead of the sources."""
    made_by: Expression | None = None
    """What makes that file: base name of a program or script."""
    saves: bool = False
    """The command makes what is scored, as a training does, and prints what that is worth by its own validation: its
    last value counts, and only where nothing else measured the state. Such a score is inferred at best."""

    @model_validator(mode="after")
    def _sensible(self) -> EvaluationEntry:
        if self.saves and (self.role is not EvaluationRole.SCORE or self.measures is not None):
            raise ValueError("`saves` belongs to an entry of role `score` that names no file in `measures`")
        return self


class RewardFormula(Record):
    """How a value becomes a reward.

    `log`: factor * ln(base / value) / ln(base / reference). `linear`: factor * (value - base) / (reference - base).
    Then the reward is clipped and rounded (half to even).
    """

    kind: Literal["log", "linear"]
    """Which of the two."""
    base: Number
    """The value that is worth 0."""
    reference: Number
    """The value that is worth `factor`."""
    factor: Number = Decimal(1)
    """What the reference is worth."""
    low: Number = Decimal(0)
    """Rewards below are raised to it."""
    high: Number = Decimal(1)
    """Rewards above are lowered to it."""
    decimals: int = Field(default=4, ge=0, le=12)
    """Of the reward."""

    @model_validator(mode="after")
    def _sensible(self) -> RewardFormula:
        if self.base == self.reference:
            raise ValueError("base and reference are equal; the formula would divide by nothing")
        if self.kind == "log" and (self.base <= 0 or self.reference <= 0):
            raise ValueError("a logarithm needs a base and a reference above 0")
        if self.low > self.high:
            raise ValueError("low is above high")
        if self.factor == 0:
            raise ValueError("factor is 0; every value would be worth 0")
        try:
            for value in (self.base, self.reference):
                self._rounded(value)
            for bound in (self.low, self.high):
                self._as_reward(bound)
        except ArithmeticError:
            raise ValueError(
                "cannot be computed to 30 digits: a number is too large, or base and reference are too close"
            ) from None
        return self

    def reward(self, value: Decimal) -> Decimal | None:
        """The reward of a value; None for one that no verifier could have measured (a time of 0 under `log`)."""
        if not value.is_finite() or (self.kind == "log" and value <= 0):
            return None
        try:
            return self._rounded(value)
        except ArithmeticError:  # a number of absurd size is no measurement
            return None

    def _rounded(self, value: Decimal) -> Decimal:
        context = _EXACT
        if self.kind == "log":
            if (near := self._nearly(value)) is not None:
                return near
            above, below = _logarithm(self.base, value), _logarithm(self.base, self.reference)
        else:
            above = context.subtract(value, self.base)
            below = context.subtract(self.reference, self.base)
        raw = context.multiply(self.factor, context.divide(above, below))
        return self._clipped(raw)

    def _nearly(self, value: Decimal) -> Decimal | None:
        """The reward by doubles; None where they cannot tell on which side of an edge the exact number lies.

        Clipping and rounding never turn an order around: what both ends of a range become, all between them do.
        """
        above, below = _near_logarithm(self.base, value), _near_logarithm(self.base, self.reference)
        if above is None or below is None or abs(below.value) < 2 * below.error:
            return None
        factor = float(self.factor)
        raw, slope = factor * above.value / below.value, abs(factor / below.value)
        # Twice, as the divisor may be half of what it seems.
        error = 2 * slope * (above.error + abs(above.value / below.value) * below.error) + _ROUNDING * abs(raw)
        if not _ORDINARY[0] < error < _ORDINARY[1]:
            return None
        low, high = self._clipped(Decimal(raw - error)), self._clipped(Decimal(raw + error))
        return low if low.compare_total(high) == 0 else None

    def _clipped(self, raw: Decimal) -> Decimal:
        return self._as_reward(max(self.low, min(self.high, raw)))

    def _as_reward(self, number: Decimal) -> Decimal:
        return number.quantize(_last_place(self.decimals), context=_EXACT)


class Gate(Record):
    """What a solution must pass for any reward at all."""

    below: Number | None = None
    """The value must be less."""
    above: Number | None = None
    """The value must be more."""
    failed_is_zero: bool = True
    """An evaluation or check that says that the solution is wrong makes the reward 0."""

    @model_validator(mode="after")
    def _sensible(self) -> Gate:
        if self.below is not None and self.above is not None and self.below <= self.above:
            raise ValueError("no value is below `below` and above `above`")
        return self

    def passes(self, value: Decimal) -> bool:
        """Whether a value is on the right side."""
        return (self.below is None or value < self.below) and (self.above is None or value > self.above)


class Claim(Record):
    """How a commit message states a result. The last match of the first entry that matches counts."""

    pattern: ValueExpression
    """Searched in the message, any case, with a group `value`."""
    factor: Number = Decimal(1)
    """From the message's unit to the task's."""
    is_reward: bool = False
    """It states the reward itself, not the metric."""


class Evaluator(Versioned):
    """Everything that an evaluator file says."""

    task: str = Field(min_length=1, max_length=200)
    """Name of the task, as logs and studies name it."""
    title: str = ""
    """For people; the name when empty."""
    category: str = "uncategorized"
    """The family."""
    timed: bool = False
    """The metric is time."""
    metric: str
    """What is measured, in words."""
    unit: str = ""
    """Of the metric."""
    direction: Direction
    """Which way the metric is better."""
    editable: tuple[str, ...] = ()
    """Files that make up a solution, relative to the work directory or absolute, where the instruction in the log does
    not name them; without any the states of the artifact cannot be followed."""
    evaluations: tuple[EvaluationEntry, ...] = Field(min_length=1)
    """Commands that evaluate."""
    reward: RewardFormula | None = None
    """From the metric to the reward; without one nothing is reconstructed."""
    gate: Gate = Gate()
    """What comes before any reward."""
    claims: tuple[Claim, ...] = ()
    """How messages state results."""

    @model_validator(mode="after")
    def _sensible(self) -> Evaluator:
        formula = self.reward
        if formula is not None:
            rises = (formula.reference > formula.base) == (formula.factor > 0)
            if rises != (self.direction == "maximize"):
                raise ValueError(f"direction is {self.direction}, but the reward formula goes the other way")
            if not any(entry.role is EvaluationRole.SCORE and entry.value for entry in self.evaluations):
                raise ValueError("there is a reward formula, but no evaluation of role `score` with a value")
        return self

    def score(self, value: Decimal) -> Decimal | None:
        """The reward of a measured value: gate, formula, clipping, rounding; None without a formula."""
        if self.reward is None or not value.is_finite():
            return None
        return self.reward.reward(value) if self.gate.passes(value) else self.zero

    @property
    def zero(self) -> Decimal:
        """What a solution is worth that does not pass the gate."""
        decimals = self.reward.decimals if self.reward else 0
        return Decimal(0).quantize(_last_place(decimals))

    @property
    def anchors(self) -> Anchors:
        """What the reward is measured against."""
        formula = self.reward
        return Anchors(
            metric=f"{self.metric} ({self.unit})" if self.unit else self.metric,
            direction=self.direction,
            baseline=formula.base if formula else None,
            reference=formula.reference if formula else None,
        )

    @property
    def facts(self) -> TaskFacts:
        """What measures and report need of the task."""
        return TaskFacts(
            name=self.task,
            title=self.title or self.task.replace("_", " "),
            category=self.category,
            timed=self.timed,
            editable=self.editable,
            anchors=self.anchors,
        )
