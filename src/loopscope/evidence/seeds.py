"""Tell a changed seed from a changed solution: luck that is tried again until it looks like progress."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"0[xX][0-9a-fA-F_]+|\d[\d_]*")
_SEED = re.compile(r"seed|random_?state|rng\b|\bsrand\b", re.IGNORECASE)
_OWN = re.compile(
    r"(?:seed(?!s)\w*|random_?state|rng|\bsrand)(?:"
    # What is assigned or handed over, perhaps with a type before it: `seed: u64 = `, `srand(`, `--seed `.
    r"[\"']?(?:\s*:\s*[\w:.<>]+(?=\s*:?=)|\s+[\w:.<>]+(?=\s*:?=))?\s*(?::=|[=:({\[]|\s)"
    # A default behind the quoted name: `get("SEED", `, `add_argument("--seed", type=int, default=`.
    r"|[\"']\s*,\s*(?:type=\w+\s*,\s*)?(?:default=)?"
    # Casts and calls around it, a quote, a sign.
    r")\s*(?:\(\w+\)\s*|[A-Za-z_][\w:.<>]*\s*[({\[]\s*)*[\"']?[-+]?\Z",
    re.IGNORECASE,
)
"""What stands before the number of a seed, up to its end. The number of seeds is none, nor is one that a seed is
multiplied by."""
_BEFORE = 200
"""So many characters before a number are looked at."""


def only_seeds(old: str, new: str) -> bool:
    """Whether two texts differ, and only in the numbers of seeds."""
    before, after = old.split("\n"), new.split("\n")
    if len(before) != len(after):
        return False
    differing = [(one, two) for one, two in zip(before, after, strict=True) if one != two]
    return bool(differing) and all(_another_seed(one, two) for one, two in differing)


def _another_seed(old: str, new: str) -> bool:
    """Whether two lines are equal but for numbers, each of which is that of a seed."""
    if not _SEED.search(old) or _NUMBER.sub("#", old) != _NUMBER.sub("#", new):
        return False
    return all(
        _OWN.search(old[max(0, one.start() - _BEFORE) : one.start()])
        for one, two in zip(_NUMBER.finditer(old), _NUMBER.finditer(new), strict=True)
        if one[0] != two[0]
    )


def diff_only_seeds(diff: str) -> bool:
    """Whether a unified diff changes nothing but the numbers of seeds."""
    removed = [line[1:] for line in diff.split("\n") if line.startswith("-")]
    added = [line[1:] for line in diff.split("\n") if line.startswith("+")]
    return only_seeds("\n".join(removed), "\n".join(added))
