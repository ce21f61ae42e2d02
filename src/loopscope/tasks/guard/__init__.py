"""The guard: what a built-in task's verifier uses to run code it does not trust.

The modules here are the single source. Each task of the suite carries copies in its `tests/` directory, because only that
directory reaches the sandbox; a test holds the copies equal. They use the standard library only and run on Python 3.9.
"""

from pathlib import Path

SOURCES = tuple(Path(__file__).with_name(name) for name in ("guard.py", "guard_layers.py", "verdict.py"))
"""The files that are copied into the `tests/` directory of every built-in task."""
