"""Sessions that other sessions started, as their logs name each other."""

from __future__ import annotations

from collections.abc import Mapping

_MAX_DEPTH = 20


def has_no_root(name: str, parents: Mapping[str, str | None]) -> bool:
    """Whether a session's ancestors lead back to itself, or too far up: no session above it is known to be the first.

    Args:
        name: the session's.
        parents: each session's parent, among these sessions or elsewhere.
    """
    above = parents.get(name)
    for _ in range(_MAX_DEPTH):
        if above is None or above not in parents:
            return False
        if above == name:
            return True
        above = parents[above]
    return True
