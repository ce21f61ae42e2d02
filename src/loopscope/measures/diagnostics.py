"""Behaviour that describes and never ranks (Appendix D): the shape of the search, builds, dips and exposure.

A quantity that has no meaning for a run (no round, no dip, a peak of 0) is None and is left out of every mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from loopscope.measures.episodes import falls
from loopscope.measures.exact import EPS, Score, exacts, mean, observed
from loopscope.measures.feedback import C3


@dataclass(frozen=True)
class Shape:
    """Appendix D.1, over the evaluated agent proposals x_1..x_T (the clean initial state is none)."""

    best_observed: Fraction | None
    """p."""
    early_capture: Fraction | None
    """x_1 / p; None unless p > 0."""
    later_headroom: Fraction | None
    """(p - x_1) / (1 - x_1), the share of the room above the first proposal that was filled; 0 where x_1 = 1."""
    gain_density: Fraction | None
    """Detailed table: share of the transitions between proposals that rise by more than eps; None without one."""


@dataclass(frozen=True)
class Build:
    """Appendix D.2, over the evaluated agent proposals that have a matched transcript segment."""

    builds_per_round: Fraction | None
    """Mean over the matched rounds whose number of builds is known."""
    rounds_with_build_errors: Fraction | None
    """Share of the matched rounds with at least one code-related build failure."""
    trace_coverage: Fraction | None
    """|I| / |C|: matched rounds over all of them."""
    matched: int
    """|I|."""


@dataclass(frozen=True)
class Feedback:
    """Appendix D.3, over the C3 sequence y_0..y_T."""

    peak_retention: Fraction | None
    """A1."""
    dip_rate: Fraction | None
    """M / T."""
    dip_depth: Fraction | None
    """Mean of p_e - v_e; None without a dip."""
    recovery_credit: Fraction | None
    """A2; None without a dip."""
    rounds: int
    """T, the exposure."""
    has_dip: bool | None
    """Counted over runs it gives the runs with a dip; None without a round."""
    peak_position: Fraction | None
    """Round of the earliest highest score / T: 1 is the last round, 0 the clean initial state."""
    monotonicity: Fraction | None
    """Share of transitions that do not fall by more than eps; None without a transition."""
    last_rising: bool | None
    """Whether the last transition rises by more than eps; None without a transition."""


def shape(scores: Iterable[Score], *, initial_is_boundary: bool) -> Shape:
    """Search shape of the canonical scores; the first is left out if it is the clean initial state."""
    x = observed(exacts(scores)[1 if initial_is_boundary else 0 :])
    if not x:
        return Shape(best_observed=None, early_capture=None, later_headroom=None, gain_density=None)
    x_1, p = x[0], max(x)
    return Shape(
        best_observed=p,
        early_capture=x_1 / p if p > 0 else None,
        later_headroom=(p - x_1) / (1 - x_1) if x_1 < 1 else Fraction(0),
        gain_density=_share(rises(x, i) for i in range(1, len(x))),
    )


def build(rounds: Sequence[tuple[int | None, int] | None]) -> Build:
    """Build behaviour of the evaluated agent rounds.

    `rounds` holds (builds, code-related failures) each, None where unmatched. Builds may be unknown in a matched round:
    where an evaluation may build by itself, only its failures are seen for sure.
    """
    matched = [entry for entry in rounds if entry is not None]
    if any((builds or 0) < 0 or failures < 0 for builds, failures in matched):
        raise ValueError("a negative count of builds or failures; counts start at 0 (unmatched round: None)")
    return Build(
        builds_per_round=mean(Fraction(builds) for builds, _ in matched if builds is not None),
        rounds_with_build_errors=_share(failures > 0 for _, failures in matched),
        trace_coverage=_share(entry is not None for entry in rounds),
        matched=len(matched),
    )


def feedback(c3: C3) -> Feedback:
    """Feedback behaviour of a run, from its C3."""
    y = [step.score for step in c3.steps]
    T, transitions = c3.T, range(1, len(y))
    return Feedback(
        peak_retention=c3.retention,
        dip_rate=Fraction(c3.M, T) if T else None,
        dip_depth=mean(episode.depth for episode in c3.episodes),
        recovery_credit=c3.recovery,
        rounds=T,
        has_dip=c3.M > 0 if T else None,
        peak_position=Fraction(y.index(max(y)) + (0 if c3.has_boundary else 1), T) if T else None,
        monotonicity=_share(not falls(y, i) for i in transitions),
        last_rising=rises(y, len(y) - 1) if transitions else None,
    )


def rises(x: Sequence[Fraction], i: int) -> bool:
    """Whether the transition into x[i] rises by more than eps."""
    return i >= 1 and x[i] > x[i - 1] + EPS


def _share(answers: Iterable[bool]) -> Fraction | None:
    return mean(Fraction(answer) for answer in answers)
