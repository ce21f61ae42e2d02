"""What is odd about a checkpoint: gains that may be luck, and jumps that nothing explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

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


def remarks(steps: Sequence[Step], noise: Decimal | None) -> dict[int, tuple[str, ...]]:
    """Remarks by position, for retained checkpoints in order; each gain is taken over the last score before it.

    Args:
        steps: the checkpoints.
        noise: the run's noise band.
    """
    found: dict[int, tuple[str, ...]] = {}
    last: Decimal | None = None
    for step in steps:
        if step.score is None:
            continue
        gain = step.score - last if last is not None else Decimal(0)
        said = []
        if gain > 0 and noise is not None and gain <= noise:
            said.append(f"its gain of {gain:.4f} lies within the noise band of {noise:.4f}")
        if gain > 0 and step.seeds_only:
            said.append(f"its gain of {gain:.4f} was made by changing a seed, and nothing else")
        if gain > JUMP and step.changes == 0:
            said.append(f"{SUSPICIOUS}a jump of {gain:.4f}, and no change of the artifact was seen")
        elif gain > JUMP and step.score == 1:
            said.append(f"{SUSPICIOUS}a jump of {gain:.4f} to exactly 1.0")
        if said:
            found[step.position] = tuple(said)
        last = step.score
    return found
