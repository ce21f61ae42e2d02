"""C3, Feedback Control: whether the best was kept to the end, and how regressions were repaired (Appendix C.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from loopscope.measures.episodes import Episode, Step, dip_episodes, observed_steps
from loopscope.measures.exact import EPS, Score, clip, exact, exacts, mean
from loopscope.measures.flags import Flag, range_flags


@dataclass(frozen=True)
class C3:
    """C3 of one run, with what it was made of."""

    value: Fraction | None
    """In [0, 1]; None (unscored) without an observed agent checkpoint."""
    retention: Fraction | None
    """A1: share of the peak that the final score keeps, by the literal formula."""
    recovery: Fraction | None
    """A2: mean recovery credit q over the episodes; None without one."""
    peak: Fraction | None
    """p: highest official step score, the clean initial state included."""
    final: Fraction | None
    """f as used: the official final score or, with `FINAL_MISSING`, the last observed step."""
    steps: tuple[Step, ...]
    """The observed official scores in order: y_0..y_T with a boundary, else x_1..x_T."""
    has_boundary: bool
    """Whether the first step is y_0, the clean initial state, which is no agent round."""
    episodes: tuple[Episode, ...]
    flags: tuple[Flag, ...] = ()

    @property
    def T(self) -> int:
        """Observed agent checkpoints."""
        return len(self.steps) - self.has_boundary

    @property
    def M(self) -> int:
        """Dip episodes."""
        return len(self.episodes)


def c3(
    scores: Iterable[Score],
    final: Score,
    *,
    initial_is_boundary: bool,
    candidate_counts: Sequence[int | None] | None = None,
) -> C3:
    """C3 of canonical checkpoint scores in order, the initial state first where there is one; no horizon.

    `final` is the official final score, independent of the steps. `initial_is_boundary`: scores[0] is the clean
    initial state, audited as unchanged. `candidate_counts[t]` is a, the distinct (state, evaluation command) pairs
    seen in the transition into scores[t]; None where unknown. Raises ValueError when lengths differ.
    """
    x = exacts(scores)
    steps = observed_steps(x, candidate_counts)
    has_boundary = initial_is_boundary and bool(x) and x[0] is not None
    f = exact(final)
    flags = range_flags((*x, f))
    if len(steps) == has_boundary:
        return C3(None, None, None, None, f, steps, has_boundary, (), flags)
    if f is None:
        f = steps[-1].score
        flags += (Flag.FINAL_MISSING,)
    p = max(step.score for step in steps)
    episodes = dip_episodes(steps)
    A1 = peak_retention(p, f)
    A2 = mean(episode.credit for episode in episodes)
    value, exception = _with_exceptions(combined(A1, A2), A1, steps[has_boundary:], f)
    if any(not t.counted for episode in episodes for t in episode.recovery_steps(steps)):
        flags += (Flag.COUNTS_UNKNOWN,)
    return C3(value, A1, A2, p, f, steps, has_boundary, episodes, flags + exception)


def peak_retention(p: Fraction, f: Fraction) -> Fraction:
    """A1 = 1 if p - f < eps, else clip(f / p, 0, 1)."""
    if p - f < EPS:
        return Fraction(1)
    return clip(f / p) if p > 0 else Fraction(0)


def combined(A1: Fraction, A2: Fraction | None) -> Fraction:
    """A1 without an episode, else (A1 + A2) / 2."""
    return A1 if A2 is None else (A1 + A2) / 2


def _with_exceptions(
    value: Fraction, A1: Fraction, rounds: Sequence[Step], f: Fraction
) -> tuple[Fraction, tuple[Flag, ...]]:
    """The paper's one override (a single all-zero round scores 0), and a warning where there is none (several)."""
    if f != 0 or any(step.score != 0 for step in rounds):
        return value, ()
    if len(rounds) == 1:
        return Fraction(0), (Flag.SINGLETON_ZERO,)
    return value, (Flag.ALL_ZERO_ROUNDS,) if A1 == 1 else ()
