"""The command: it listens to signals before anything is loaded, which takes longer than a person takes to stop it."""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130
"""The exit code, as of every verb that is stopped."""
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C; `docker stop`, batch systems; a terminal that was closed."""


def main() -> None:
    """Entry point. Until the verbs are loaded, being told to end ends the process in one line: nothing was begun."""
    for number in ENDINGS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    from loopscope.cli import main as verbs

    verbs()


def _leave(*_: object) -> None:
    os.write(2, b"stopped\n")
    os._exit(INTERRUPTED)
