"""The guard: what a built-in task's verifier uses to run code it does not trust.

This package is the single source. Each task of the suite carries a copy of it as `tests/guard/`, because only `tests/`
reaches the sandbox: `python -m loopscope.tasks.vendor` writes the copies, a test holds them equal. It uses the standard
library only, runs on Python 3.9, and knows nothing of loopscope.
"""
