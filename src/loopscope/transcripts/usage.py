"""Add up what a log says of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from loopscope.models.usage import Usage
from loopscope.transcripts.canonical import Completeness, UsageEntry, UsageReport


def report(
    entries: Iterable[UsageEntry],
    source: str,
    *,
    missing: Sequence[str] = (),
    claimed: Decimal | None = None,
) -> UsageReport:
    """A report whose total is the sum of its entries.

    A count that some entries lack is the sum of the others, and the report is partial; one that all lack is unknown.
    """
    entries = tuple(entries)
    total = Usage(
        input_uncached=_sum(entry.input_uncached for entry in entries),
        cache_read=_sum(entry.cache_read for entry in entries),
        cache_write=_sum(entry.cache_write for entry in entries),
        output=_sum(entry.output for entry in entries),
        source="transcript",
    )
    if total.input_uncached is None or total.output is None:
        completeness = Completeness.UNKNOWN
    elif missing or any(entry.input_uncached is None or entry.output is None for entry in entries):
        completeness = Completeness.PARTIAL
    else:
        completeness = Completeness.COMPLETE
    return UsageReport(entries, total, source, completeness, tuple(missing), claimed)


def nothing(source: str = "none", *, missing: Sequence[str] = (), claimed: Decimal | None = None) -> UsageReport:
    """The report of a log that says nothing of tokens."""
    return UsageReport(
        total=Usage(source="transcript"), source=source, missing=tuple(missing), claimed_cost_usd=claimed
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
