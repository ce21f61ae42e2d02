"""What a run used: tokens and money, with their source."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from loopscope.models.base import Record

COST_DOUBT = "the run is said to have cost"
"""How a run's flag begins that says that its cost lies far from what its tokens cost at list prices."""


class Usage(Record):
    """Disjoint token counts; None is unknown, never zero."""

    input_uncached: int | None = None
    """Input tokens that no cache held."""
    cache_read: int | None = None
    """Input tokens that were read from a cache."""
    cache_write: int | None = None
    """Input tokens that were written to a cache."""
    output: int | None = None
    """Reasoning included."""
    cost_usd: Decimal | None = None
    """US dollars, as the source says."""
    source: Literal["none", "agent", "gateway", "transcript"] = "none"
    """`none`: the agent calls no model, so all counts are truly zero."""

    @property
    def tokens(self) -> int | None:
        """All input, cached too, plus output; None when input or output is unknown."""
        if self.input_uncached is None or self.output is None:
            return None
        return self.input_uncached + (self.cache_read or 0) + (self.cache_write or 0) + self.output
