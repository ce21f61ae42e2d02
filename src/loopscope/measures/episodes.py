"""Dip episodes: where a score fell, how low, and what was regained at what price (Appendix C.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from loopscope.measures.exact import EPS, clip
from loopscope.measures.execution import discount


@dataclass(frozen=True)
class Step:
    """An observed official score, and the transition that led into it."""

    index: int
    """Position in the scores that were handed in, missing ones counted; so it can be marked in a figure."""
    score: Fraction
    candidates: int
    """a: known candidate evaluations of the transition, summed over the missing checkpoints in between."""
    counted: bool
    """Whether all of them are known. What is unknown adds nothing, so it is not discounted."""


class Recovery(StrEnum):
    """How far a dip was repaired."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"


@dataclass(frozen=True)
class Episode:
    """One dip e. Positions are those of the scores handed in; scores are exact."""

    before_index: int
    """Where the score stood before it fell."""
    start_index: int
    """i: the first fallen score."""
    low_index: int
    """The lowest score of the descending segment, its last."""
    target_index: int
    """j: the recovery target; equal to `start_index` when nothing was regained."""
    before: Fraction
    """p_e."""
    start: Fraction
    """d_e."""
    low: Fraction
    """v_e, of the diagnostics; never above d_e."""
    reached: Fraction
    """b_e: p_e when the score came back to within eps of it, else the best from the dip on."""
    recovery: Recovery
    length: int
    """L_e: official transitions it took, at least 1."""
    recovered: Fraction
    """rho_e: share of the fall that was regained."""
    discount: Fraction | None
    """D_e: mean discount over the L_e transitions; None when nothing was regained, for there is none to discount."""
    credit: Fraction
    """q_e = rho_e / L_e * D_e."""

    @property
    def depth(self) -> Fraction:
        """p_e - v_e: from the height before to the bottom of the segment."""
        return self.before - self.low

    def recovery_steps(self, steps: Sequence[Step]) -> list[Step]:
        """The steps i+1..j, whose transitions the recovery took."""
        return [step for step in steps if self.start_index < step.index <= self.target_index]


def observed_steps(scores: Sequence[Fraction | None], counts: Sequence[int | None] | None) -> tuple[Step, ...]:
    """Drop missing scores. Their neighbours are compared, and the counts of the merged transition add up.

    `counts[t]` belongs to the transition into scores[t]; None is unknown. ValueError when the lengths differ.
    """
    if counts is not None and len(counts) != len(scores):
        raise ValueError(f"candidate_counts has {len(counts)} entries for {len(scores)} scores; give one per score")
    steps: list[Step] = []
    candidates, counted = 0, True
    for index, score in enumerate(scores):
        count = None if counts is None else counts[index]
        if count is not None and count < 0:
            raise ValueError(f"candidate_counts[{index}] is {count}; counts start at 0 (unknown: None)")
        candidates, counted = candidates + (count or 0), counted and count is not None
        if score is not None:
            steps.append(Step(index, score, candidates, counted))
            candidates, counted = 0, True
    return tuple(steps)


def dip_episodes(steps: Sequence[Step]) -> tuple[Episode, ...]:
    """All dips of the observed steps, in order of their start."""
    x = [step.score for step in steps]
    return tuple(_episode(steps, x, i) for i in dip_starts(x))


def falls(x: Sequence[Fraction], i: int) -> bool:
    """Whether the transition into x[i] drops by more than eps."""
    return i >= 1 and x[i] < x[i - 1] - EPS


def dip_starts(x: Sequence[Fraction]) -> list[int]:
    """Positions i where a descending segment begins; directly following drops belong to the same start."""
    return [i for i in range(1, len(x)) if falls(x, i) and not falls(x, i - 1)]


def segment_end(x: Sequence[Fraction], i: int) -> int:
    """Last position of the descending segment that begins at i: its lowest score."""
    while i + 1 < len(x) and falls(x, i + 1):
        i += 1
    return i


def recovery_target(x: Sequence[Fraction], i: int) -> tuple[int, Fraction]:
    """(j, b_e) of the dip that begins at i.

    The first later score within eps of p_e counts as a full return; else the highest from the dip on, the earliest
    on a tie, which is the dip itself when nothing later exceeds it.
    """
    p_e = x[i - 1]
    for j in range(i + 1, len(x)):
        if x[j] >= p_e - EPS:
            return j, p_e
    best = max(x[i:])
    return x.index(best, i), best


def _episode(steps: Sequence[Step], x: Sequence[Fraction], i: int) -> Episode:
    p_e, d_e = x[i - 1], x[i]
    j, b_e = recovery_target(x, i)
    low = segment_end(x, i)
    L_e = max(1, j - i)
    rho_e = clip((b_e - d_e) / (p_e - d_e))
    D_e = mean_discount(steps[i + 1 : j + 1])
    return Episode(
        before_index=steps[i - 1].index,
        start_index=steps[i].index,
        low_index=steps[low].index,
        target_index=steps[j].index,
        before=p_e,
        start=d_e,
        low=x[low],
        reached=b_e,
        recovery=Recovery.NONE if j == i else Recovery.FULL if b_e == p_e else Recovery.PARTIAL,
        length=L_e,
        recovered=rho_e,
        discount=D_e,
        credit=Fraction(0) if D_e is None else rho_e / L_e * D_e,
    )


def mean_discount(transitions: Sequence[Step]) -> Fraction | None:
    """D_e: mean of d(u) with u = max(0, a - 1), since one candidate is the normal price of a step."""
    if not transitions:
        return None
    return sum((discount(max(0, t.candidates - 1)) for t in transitions), Fraction(0)) / len(transitions)
