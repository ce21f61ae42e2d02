"""What is odd about a checkpoint: gains that may be luck, and jumps that nothing explains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median_high

JUMP = Decimal("0.3")
"""A gain above it wants an explanation."""
SUSPICIOUS = "suspicious: "
"""How a remark on a jump that nothing explains begins."""


@dataclass(frozen=True, slots=True)
class Step:
    """A retained checkpoint as remarks see it."""

    position: int
    """Among all checkpoints."""
    score: Decimal | None
    changes: int | None
    """Changes of the artifact since the last retained one; None where they are not followed."""
    seeds_only: bool
    """All that was changed is a seed."""
    spread: Decimal | None = None
    """Largest minus smallest reward of its own state; None where it was measured once."""


def noise_band(spreads: Iterable[Decimal]) -> Decimal | None:
    """The run's noise band: the median of its states' spreads (the larger middle of an even number)."""
    found = list(spreads)
    return median_high(found) if found else None


def remarks(steps: Sequence[Step], noise: Decimal | None) -> dict[int, tuple[str, ...]]:
    """Remarks by position, for retained checkpoints in order; each gain is taken over the last score before it.

    A gain is within the noise when it is no larger than the run's noise band, or than the spread of one of the two
    states themselves: a state that was measured far apart makes its own scores doubtful, and no others.

    Args:
        steps: the checkpoints.
        noise: the run's noise band.
    """
    found: dict[int, tuple[str, ...]] = {}
    last: Step | None = None
    for step in steps:
        if step.score is None:
            continue
        gain = step.score - last.score if last is not None and last.score is not None else Decimal(0)
        said = [_luck(gain, noise, last, step)] if gain > 0 else []
        if gain > 0 and step.seeds_only:
            said.append(f"its gain of {gain:.4f} was made by changing a seed, and nothing else")
        if gain > JUMP and step.changes == 0:
            said.append(f"{SUSPICIOUS}a jump of {gain:.4f}, and no change of the artifact was seen")
        elif gain > JUMP and step.score == 1:
            said.append(f"{SUSPICIOUS}a jump of {gain:.4f} to exactly 1.0")
        if any(said):
            found[step.position] = tuple(filter(None, said))
        last = step
    return found


def _luck(gain: Decimal, noise: Decimal | None, before: Step | None, step: Step) -> str:
    """That a gain may be noise; empty where nothing says so."""
    if noise is not None and gain <= noise:
        return f"its gain of {gain:.4f} lies within the noise band of {noise:.4f}"
    own = max((one.spread for one in (before, step) if one is not None and one.spread is not None), default=None)
    if own is not None and gain <= own:
        return f"its gain of {gain:.4f} lies within the spread of {own:.4f} of one of its two states"
    return ""
