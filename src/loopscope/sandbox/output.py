"""Bounded capture of a command's output: the beginning and the end are kept, the middle is counted."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections import deque
from collections.abc import Awaitable, Callable

KEEP_BYTES = 1 << 20
"""Kept at each end of a stream."""

OnText = Callable[[str], Awaitable[None]]


class BoundedOutput:
    """Head and tail of a byte stream, at most `keep` bytes each, and the number of bytes left out between them."""

    def __init__(self, keep: int = KEEP_BYTES) -> None:
        self._keep = keep
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.total = 0

    def add(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(chunk)
        room = self._keep - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._tail.append(chunk[-self._keep :] if self._keep else b"")
        self._tail_size += len(self._tail[-1])
        while self._tail and self._tail_size - len(self._tail[0]) >= self._keep:
            self._tail_size -= len(self._tail.popleft())

    @property
    def omitted(self) -> int:
        """Bytes of the stream that were dropped."""
        return self.total - len(self._head) - min(self._tail_size, self._keep)

    def bytes(self) -> bytes:
        """What was kept, with one line in the place of what was not."""
        tail = b"".join(self._tail)[-self._keep :] if self._keep else b""
        if not self.omitted:
            return bytes(self._head) + tail
        return bytes(self._head) + f"\n[loopscope: {self.omitted} bytes omitted]\n".encode() + tail

    def text(self) -> str:
        """The same, decoded as UTF-8 with replacement."""
        return self.bytes().decode("utf-8", errors="replace")


async def pump(fd: int, into: BoundedOutput, on_text: OnText | None = None) -> None:
    """Read the pipe `fd` to its end into `into`; owns and closes `fd`. `on_text` gets each decoded piece, in order."""
    loop = asyncio.get_running_loop()
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    ready = asyncio.Event()
    os.set_blocking(fd, False)
    loop.add_reader(fd, ready.set)
    try:
        while True:
            try:
                chunk = os.read(fd, 1 << 16)
            except BlockingIOError:
                ready.clear()
                await ready.wait()
                continue
            into.add(chunk)
            if on_text and (text := decoder.decode(chunk, final=not chunk)):
                await on_text(text)
            if not chunk:
                return
            # A flood is always readable: give the deadline and everybody else their turn.
            await asyncio.sleep(0)
    finally:
        loop.remove_reader(fd)
        os.close(fd)
