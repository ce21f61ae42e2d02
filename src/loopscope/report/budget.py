"""How the room of a page is shared out among texts of any size."""

from __future__ import annotations

from collections.abc import Sequence


def fair_cuts(sizes: Sequence[int], total: int) -> tuple[int, ...]:
    """How much of each text is kept when all share `total`: small ones whole, the large ones cut to one common size."""
    cuts = [0] * len(sizes)
    left = total
    for done, index in enumerate(sorted(range(len(sizes)), key=lambda i: (sizes[i], i))):
        cuts[index] = min(sizes[index], left // (len(sizes) - done))
        left -= cuts[index]
    return tuple(cuts)
