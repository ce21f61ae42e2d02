"""What a reader must know about a value beside the value."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from fractions import Fraction


class Flag(StrEnum):
    """A remark on one run's measure. Tables carry them; the report spells them out."""

    OUT_OF_RANGE = "out_of_range"
    """A score lies outside [0, 1]. The formulas are applied as they stand, but their bounds no longer hold."""
    CUT_AT_HORIZON = "cut_at_horizon"
    """C1: more checkpoints than the horizon; the later ones do not count."""
    NO_OBSERVED_SCORE = "no_observed_score"
    """C1: there are checkpoints but none within the horizon has a score. The literal 0 stands; tables leave it out."""
    UNOBSERVABLE = "unobservable"
    """C2: some checkpoints gave no evidence; read it with the variant that takes them as zero."""
    FAILURES_UNKNOWN = "failures_unknown"
    """C2: an attempt's build failures are unknown and were not discounted."""
    FINAL_MISSING = "final_missing"
    """C3: no official final score; the last observed step stands in for it, and the run is graded so."""
    COUNTS_UNKNOWN = "counts_unknown"
    """C3: a recovery crosses a transition whose candidate count is unknown, wholly or in part; that part is not
    discounted."""
    ALL_ZERO_ROUNDS = "all_zero_rounds"
    """C3: all rounds and the final are 0: nothing was there to lose, and the literal value is 1. Read it as failure."""
    SINGLETON_ZERO = "singleton_zero"
    """C3: the only agent round and the final are 0; scored 0 by the paper's exception."""


def range_flags(scores: Iterable[Fraction | None]) -> tuple[Flag, ...]:
    """`OUT_OF_RANGE` if any score lies outside [0, 1]."""
    outside = any(score is not None and not 0 <= score <= 1 for score in scores)
    return (Flag.OUT_OF_RANGE,) if outside else ()
