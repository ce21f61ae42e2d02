"""What the measures' remarks mean."""

from __future__ import annotations

from collections.abc import Iterable

from loopscope.analysis.explain.model import FlagTold
from loopscope.measures import Flag

MEANINGS = {
    Flag.OUT_OF_RANGE: "a score lies outside 0 to 1: the formulas are applied as they stand, their bounds do not hold",
    Flag.CUT_AT_HORIZON: "C1: more checkpoints than the 20 of the horizon; the later ones do not count",
    Flag.NO_OBSERVED_SCORE: "C1: no checkpoint within the horizon has a score; the literal 0 is left out of aggregates",
    Flag.UNOBSERVABLE: "C2: some checkpoints give no evidence; read it with c2_unobserved_as_zero",
    Flag.FAILURES_UNKNOWN: "C2: build failures of an attempt are unknown and were not discounted",
    Flag.FINAL_MISSING: "C3: no final score; the last observed step stands in for it",
    Flag.COUNTS_UNKNOWN: "C3: a recovery crosses a transition whose candidates are not all known; nothing is discounted"
    " for the unknown ones",
    Flag.ALL_ZERO_ROUNDS: "C3: all rounds and the final score are 0; the literal value is 1, read it as failure",
    Flag.SINGLETON_ZERO: "C3: the only agent round and the final score are 0; scored 0 by the paper's exception",
}
"""One line for each."""


def flags_told(flags: Iterable[Flag]) -> tuple[FlagTold, ...]:
    """Each flag once, by name, spelled out."""
    return tuple(FlagTold(flag=flag.value, meaning=MEANINGS[flag]) for flag in sorted(set(flags)))
