"""Tell a changed seed from a changed solution: luck that is tried again until it looks like progress."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"0[xX][0-9a-fA-F_]+|\d[\d_]*")
_SEED = re.compile(r"seed|random_state|\brng\b|\bsrand\b", re.IGNORECASE)


def only_seeds(old: str, new: str) -> bool:
    """Whether two texts differ, and only in numbers on lines that speak of a seed."""
    before, after = old.split("\n"), new.split("\n")
    if len(before) != len(after):
        return False
    differing = [(one, two) for one, two in zip(before, after, strict=True) if one != two]
    return bool(differing) and all(
        _SEED.search(one) and _NUMBER.sub("#", one) == _NUMBER.sub("#", two) for one, two in differing
    )


def diff_only_seeds(diff: str) -> bool:
    """Whether a unified diff changes nothing but numbers on lines that speak of a seed."""
    removed = [line[1:] for line in diff.split("\n") if line.startswith("-")]
    added = [line[1:] for line in diff.split("\n") if line.startswith("+")]
    return only_seeds("\n".join(removed), "\n".join(added))
