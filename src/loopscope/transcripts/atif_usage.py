"""Tokens in Harbor's trajectory format, as canonical counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loopscope.transcripts.canonical import UsageEntry
from loopscope.transcripts.shapes import count


def prompt_tokens(entries: list[UsageEntry]) -> int:
    """All input of some entries, cached too."""
    return sum((e.input_uncached or 0) + (e.cache_read or 0) + (e.cache_write or 0) for e in entries)


def entry_of(
    index: int | None,
    thread: str,
    model: str | None,
    metrics: Mapping[str, Any],
    names: tuple[str, str, str],
    written: int | None,
    time: float | None,
) -> UsageEntry:
    """Prompt tokens parted into disjoint counts."""
    prompt, completion, cached = (count(metrics.get(name)) for name in names)
    uncached = None
    if prompt is not None:
        cached = None if cached is None else min(cached, prompt)
        written = None if written is None else min(written, prompt - (cached or 0))
        uncached = prompt - (cached or 0) - (written or 0)
    return UsageEntry(index, thread, model, uncached, cached, written, completion, time=time)
