"""Zeros that cost no disk: holes of a sandbox's files leave it as zeros, and become holes again."""

from __future__ import annotations

import os
from typing import IO

PIECE = 16 << 10
"""Runs of zeros are looked for in pieces of this size; shorter ones are written as they are."""
_ZEROS = bytes(PIECE)


class HoleyFile:
    """Writes a new file from its beginning on, with a hole for every piece that is nothing but zeros.

    Args:
        file: open for writing and empty. It stays the caller's to close, after `finish`.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._piece = bytearray()
        self._written = 0

    def write(self, data: bytes) -> int:
        """Add the next bytes. Raises OSError as writing does."""
        self._piece += data
        whole = len(self._piece) // PIECE * PIECE
        for start in range(0, whole, PIECE):
            piece = self._piece[start : start + PIECE]
            if piece == _ZEROS:
                self._file.seek(PIECE, os.SEEK_CUR)
            else:
                self._file.write(piece)
        self._written += whole
        del self._piece[:whole]
        return len(data)

    def tell(self) -> int:
        """Bytes so far, holes among them."""
        return self._written + len(self._piece)

    def finish(self) -> None:
        """Write what is left, and give the file its length, for it may end with a hole."""
        size = self.tell()
        self._file.write(self._piece)
        self._piece.clear()
        self._file.flush()
        os.ftruncate(self._file.fileno(), size)
        self._written = size
