"""The event loop of `run` and `score`: one that a sandbox of the same user cannot stop."""

from __future__ import annotations

import asyncio
import selectors


def polling_loop() -> asyncio.AbstractEventLoop:
    """A loop on poll(2), which takes nothing that runs out.

    asyncio's own choice, epoll, takes a watch for each descriptor, and the kernel counts watches by user: an agent in
    an ordinary user's sandbox can use up all of them in ten seconds, and then the engine could wait for nothing.
    """
    return asyncio.SelectorEventLoop(selectors.PollSelector())
