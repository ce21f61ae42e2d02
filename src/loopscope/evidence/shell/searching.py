"""Search outputs for what a task's expressions look for, however long the lines are that an agent's program prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

MAX_LINE = 2000
"""Longer lines are searched up to here. An expression that looks for one word behind another takes the square of a
line's length, and no program prints its result behind so much."""


def find_all(pattern: re.Pattern[str], text: str, begin: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
    """The matches in a text, without what is cut off by the end of a line that is too long.

    Args:
        pattern: searched for.
        text: an output.
        begin: where to begin in it.
        end: where to end; at its end unless given.
    """
    last = len(text) if end is None else min(end, len(text))
    if last - begin <= MAX_LINE:
        yield from pattern.finditer(text, begin, last)
        return
    for first, stop, cut in _pieces(text):
        if stop > begin and first < last:
            for match in pattern.finditer(text, max(first, begin), min(stop, last)):
                if not (cut and match.end() >= stop):
                    yield match


def found(pattern: re.Pattern[str], text: str, begin: int = 0, end: int | None = None) -> bool:
    """Whether there is one."""
    last = len(text) if end is None else min(end, len(text))
    if last - begin <= MAX_LINE:
        return pattern.search(text, begin, last) is not None
    return next(find_all(pattern, text, begin, end), None) is not None


@lru_cache(maxsize=16)
def _pieces(text: str) -> tuple[tuple[int, int, bool], ...]:
    """(begin, end, whether more of the line is cut off) of what is searched: lines on end, but long ones by themselves.

    What a carriage return overwrites, as progress bars do, is a line of its own where the whole is too long.
    """
    pieces: list[tuple[int, int, bool]] = []
    begin = at = 0
    for line in text.split("\n"):
        end = at + len(line)
        if len(line) > MAX_LINE:
            if begin < at:
                pieces.append((begin, at, False))
            for part in line.split("\r"):
                stop = at + min(len(part), MAX_LINE)
                pieces.append((at, stop, len(part) > MAX_LINE))
                at += len(part) + 1
            begin = end + 1
        at = end + 1
    if begin < len(text) or not pieces:
        pieces.append((begin, len(text), False))
    return tuple(pieces)
