"""C2, Execution: whether what was proposed was delivered, and at how many broken builds (Appendix C.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from loopscope.measures.exact import mean
from loopscope.measures.flags import Flag

DISCOUNT = (Fraction(1), Fraction(85, 100), Fraction(70, 100), Fraction(60, 100), Fraction(50, 100))
"""d(0), d(1), d(2), d(3), and d(n) for n >= 4."""


def discount(n: int) -> Fraction:
    """d(n): the bounded discount for n failures (C2) or n extra candidates (C3)."""
    if n < 0:
        raise ValueError(f"a count of {n} failures; counts start at 0 (unknown: None)")
    return DISCOUNT[min(n, 4)]


@dataclass(frozen=True)
class Checkpoint:
    """What is known of one canonical checkpoint's execution."""

    delivered: bool | None
    """g: the committed artifact ran to completion and, where the task has a gate, passed it. None: no evidence."""
    build_failures: int | None = None
    """n: code-related build failures while producing it (a missing compiler is none). None: unknown, not discounted."""
    initial: bool = False
    """The clean or ambiguous initial repository, which is no attempt."""
    observable: bool | None = None
    """False overrules `delivered`. None: observable if and only if `delivered` is known."""

    def __post_init__(self) -> None:
        """Refuse a checkpoint that claims evidence and holds none."""
        if self.observable and self.delivered is None and not self.initial:
            raise ValueError("observable but `delivered` is unknown; give true or false, or leave `observable` out")

    @property
    def is_attempt(self) -> bool:
        """In the set I: observable and not the initial repository."""
        return not self.initial and self.delivered is not None and self.observable is not False

    @property
    def is_undiscounted(self) -> bool:
        """Delivered, at a number of failures that is unknown."""
        return self.is_attempt and bool(self.delivered) and self.build_failures is None

    @property
    def score(self) -> Fraction | None:
        """s = g * d(n); None outside I."""
        if not self.is_attempt:
            return None
        return int(bool(self.delivered)) * discount(self.build_failures or 0)


@dataclass(frozen=True)
class C2:
    """C2 of one run, with what it was made of."""

    value: Fraction | None
    """Mean of s over I, in [0, 1]; None (unscored) when I is empty."""
    unobservable_as_zero: Fraction | None
    """The same with each unobservable checkpoint as a failed delivery: the lowest C2 that the run can have had."""
    unobservable_as_one: Fraction | None
    """... and as a clean delivery: the highest."""
    low: Fraction | None
    """Sensitivity interval of an incomplete run: the least C2 over every way to fill in what is unknown, an unobserved
    checkpoint with a value of Q = {0, .5, .6, .7, .85, 1}, an unknown count of a delivered one with a discount."""
    high: Fraction | None
    """... and the greatest. Both are the value itself where nothing is unknown."""
    scores: tuple[Fraction | None, ...]
    """s per checkpoint given, None outside I."""
    attempts: int
    """|I|."""
    unobservable: int
    """Non-initial checkpoints outside I."""
    flags: tuple[Flag, ...] = ()


def c2(checkpoints: Iterable[Checkpoint]) -> C2:
    """C2 of the canonical checkpoints: the mean of g * d(n) over the observable, non-initial ones."""
    given = tuple(checkpoints)
    scores = tuple(checkpoint.score for checkpoint in given)
    s = [score for score in scores if score is not None]
    unseen = sum(not checkpoint.initial for checkpoint in given) - len(s)
    # Every way to fill in lies between these two, and both are among them, so that none has to be listed.
    low = [
        discount(4) if c.is_undiscounted else score for c, score in zip(given, scores, strict=True) if score is not None
    ]
    return C2(
        value=mean(s),
        unobservable_as_zero=mean(s + [Fraction(0)] * unseen),
        unobservable_as_one=mean(s + [Fraction(1)] * unseen),
        low=mean(low + [Fraction(0)] * unseen),
        high=mean(s + [Fraction(1)] * unseen),
        scores=scores,
        attempts=len(s),
        unobservable=unseen,
        flags=_flags(given, unseen),
    )


def _flags(given: tuple[Checkpoint, ...], unseen: int) -> tuple[Flag, ...]:
    flags: tuple[Flag, ...] = (Flag.UNOBSERVABLE,) if unseen else ()
    if any(c.is_undiscounted for c in given):
        flags += (Flag.FAILURES_UNKNOWN,)
    return flags
