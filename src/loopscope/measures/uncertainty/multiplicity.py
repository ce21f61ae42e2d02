"""Several comparisons at once: p values that hold for the whole family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

type Correction = Literal["holm", "benjamini-hochberg", "none"]


def adjusted(p_values: Sequence[float | None], correction: Correction = "holm") -> tuple[float | None, ...]:
    """p values to hold against alpha as if each were alone; a missing one stays missing and counts for none.

    Holm 1979: any false finding at most alpha, whatever depends on what. Benjamini and Hochberg 1995: false findings
    among the findings at most alpha, for independent or positively dependent tests. ValueError outside [0, 1].
    """
    for p in p_values:
        if p is not None and not 0 <= p <= 1:
            raise ValueError(f"a p value lies between 0 and 1, not {p}")
    order = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    found: list[float | None] = list(p_values)
    m = len(order)
    if correction == "holm":
        highest = 0.0
        for rank, (p, at) in enumerate(order):
            highest = max(highest, min(1.0, (m - rank) * p))
            found[at] = highest
    elif correction == "benjamini-hochberg":
        lowest = 1.0
        for rank, (p, at) in reversed(list(enumerate(order, start=1))):
            lowest = min(lowest, m / rank * p)
            found[at] = lowest
    return tuple(found)
