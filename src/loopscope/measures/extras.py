"""What real runs call for beyond the paper: looking before committing, claims, what was left behind, odd scores.

Like the diagnostics these describe and never rank. None is no meaning for this run, and never zero.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction

from loopscope.measures.exact import Score, exact, mean, observed

JUMP = Fraction(3, 10)
"""A rise of more than this in one round is looked at twice."""


@dataclass(frozen=True)
class Candidates:
    """Artifact states that were evaluated, and those of them that a commit holds."""

    evaluated: int
    committed: int

    @property
    def share(self) -> Fraction | None:
        """Committed / evaluated; None when nothing was evaluated."""
        return Fraction(self.committed, self.evaluated) if self.evaluated else None


def known_share(answers: Iterable[bool | None]) -> Fraction | None:
    """Share of the known answers that are yes; None when none is known."""
    return mean(Fraction(answer) for answer in answers if answer is not None)


def candidates(evaluated: Iterable[str], committed: Iterable[str]) -> Candidates:
    """Distinct states among the evaluated ones, and how many of them were committed."""
    states = frozenset(evaluated)
    return Candidates(len(states), len(states & frozenset(committed)))


def largest_claim_gap(pairs: Iterable[tuple[Score, Score]]) -> Fraction | None:
    """claimed - measured where they lie farthest apart, from (claimed, measured) in one unit; positive: too much.

    Of two gaps of one size the positive one. None when no pair is known on both sides.
    """
    exacts = [(exact(claimed), exact(measured)) for claimed, measured in pairs]
    gaps = [claimed - measured for claimed, measured in exacts if claimed is not None and measured is not None]
    return max(gaps, key=lambda gap: (abs(gap), gap), default=None)


def left_behind(candidate_scores: Iterable[Score], commit_scores: Iterable[Score]) -> Fraction | None:
    """Best score of any evaluated state minus the best of any commit; None when one side has no score.

    Positive: the best was found and not committed. Negative: the best commit was never evaluated before.
    """
    found, kept = observed(candidate_scores), observed(commit_scores)
    return max(found) - max(kept) if found and kept else None


def saturation(rounds: Iterable[Score]) -> Fraction | None:
    """Share of the evaluated rounds at 1 or above: there the score can say no more, only its raw metric can."""
    return mean(Fraction(score >= 1) for score in observed(rounds))


def jumps(scores: Iterable[Score]) -> int | None:
    """Transitions between observed scores that rise by more than `JUMP`; None without a transition."""
    x = observed(scores)
    return sum(x[i] > x[i - 1] + JUMP for i in range(1, len(x))) if len(x) > 1 else None


def share_of(name: str, names: Collection[str]) -> Fraction | None:
    """How large a part of `names` is `name`; None of nothing."""
    return mean(Fraction(other == name) for other in names)
