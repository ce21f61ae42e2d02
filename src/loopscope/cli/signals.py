"""What stops a verb: all of it as Ctrl-C does, which cleans up and keeps what is finished."""

from __future__ import annotations

import signal

_ENDINGS = (signal.SIGTERM, signal.SIGHUP)
"""`docker stop`, batch systems; a terminal that was closed."""


def listen() -> None:
    """From now on every ending stops what runs.

    What the caller ignores stays ignored: a hang-up by `nohup`, Ctrl-C by a shell script's `&`. Being told to end is
    not to be ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Blocked it is as good as ignored, and leaves `_stop` the way to what asyncio makes of it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in _ENDINGS:
        if number is signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def _stop(*_: object) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.raise_signal(signal.SIGINT)
