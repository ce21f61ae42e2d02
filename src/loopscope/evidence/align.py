"""Which commit of the repository is which commit of the transcript.

Monotone, one to one, keeping the order of both, of maximum size; of several such matchings the earliest. Two commits
may be the same when the transcript shows the beginning of the repository's hash, or, where it shows none, when their
subjects are equal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

MAX_COMMITS = 20_000
"""Of either side; what comes later is not matched."""


@dataclass(frozen=True, slots=True)
class Title:
    """What a commit is known by."""

    subject: str
    hash: str | None = None
    """Of the repository's commits whole, of the transcript's as far as it is shown."""


def normalised(subject: str) -> str:
    """A subject as it is compared: NFC, lower case, white space collapsed."""
    return " ".join(unicodedata.normalize("NFC", subject).lower().split())


def align(repository: Sequence[Title], transcript: Sequence[Title]) -> dict[int, int]:
    """From positions in the repository to positions in the transcript."""
    kept, told = repository[:MAX_COMMITS], transcript[:MAX_COMMITS]
    masks = _masks(kept, told)
    rest = _rest(masks, len(told))
    matched: dict[int, int] = {}
    row = column = 0
    while row < len(kept) and column < len(told):
        best = _size(rest[row], len(told), column)
        if best == 0:
            break
        # The earliest partner leaves most for the others; if it does not do, none does.
        possible = masks[row] >> column
        if possible:
            partner = column + (possible & -possible).bit_length() - 1
            if 1 + _size(rest[row + 1], len(told), partner + 1) == best:
                matched[row] = partner
                column = partner + 1
        row += 1
    return matched


def _masks(kept: Sequence[Title], told: Sequence[Title]) -> list[int]:
    """For each commit of the repository those of the transcript that it may be, as bits."""
    subjects: dict[str, int] = {}
    hashes: dict[int, dict[str, int]] = {}
    for column, title in enumerate(told):
        if title.hash:
            shown = hashes.setdefault(len(title.hash), {})
            shown[title.hash] = shown.get(title.hash, 0) | 1 << column
        elif title.subject.strip():
            subject = normalised(title.subject)
            subjects[subject] = subjects.get(subject, 0) | 1 << column
    masks = []
    for title in kept:
        mask = subjects.get(normalised(title.subject), 0)
        for length, shown in hashes.items():
            mask |= shown.get((title.hash or "")[:length], 0)
        masks.append(mask)
    return masks


def _rest(masks: Sequence[int], width: int) -> list[int]:
    """Bit vectors of the longest common subsequence of what follows each commit of the repository.

    The algorithm of Hyyroe (Bit-parallel LCS-length computation revisited, 2004), from the end: the number of zeros in
    the lowest k bits of entry i is the size of the best matching of entries i.. with the last k of the transcript.
    """
    everything = (1 << width) - 1
    vector = everything
    rest = [vector]
    for mask in reversed(masks):
        turned = _turned(mask, width)
        common = vector & turned
        vector = ((vector + common) | (vector - common)) & everything
        rest.append(vector)
    rest.reverse()
    return rest


def _turned(mask: int, width: int) -> int:
    return int(f"{mask:0{width}b}"[::-1], 2) if width and mask else 0


def _size(vector: int, width: int, column: int) -> int:
    """Size of the best matching with what follows `column`."""
    length = max(0, width - column)
    return length - (vector & ((1 << length) - 1)).bit_count()
