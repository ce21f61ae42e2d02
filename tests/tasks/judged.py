"""What a verifier's judgement must look like, for the tests of the built-in tasks."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from sandboxed import Scored

MAIN_FILE = {
    "addition_chains": "chains.py",
    "coupled_forecast": "forecast.py",
    "csv_groupby": "groupby.c",
    "cyclic_automaton": "moss.c",
    "discrepancy": "probes.py",
    "label_noise": "species.py",
    "segmented_scan": "scan.cu",
    "strip_packing": "shelves.py",
}
STARTER_AT_MOST = {
    "addition_chains": 0.0,
    "coupled_forecast": 0.01,
    "csv_groupby": 0.15,
    "cyclic_automaton": 0.15,
    "discrepancy": 0.03,
    "label_noise": 0.0,
    "segmented_scan": 0.0,
    "strip_packing": 0.03,
}
"""The starter is its own baseline; a timed one may seem a little faster than itself on a busy machine."""
LEVELS = ["", "namespaces", *(["uid"] if os.geteuid() == 0 else []), "process"]
"""Of the guard: the strongest that there is, and the others that this user has in a sandbox."""


STRONGEST = [pytest.param(level, marks=[pytest.mark.long] if level else []) for level in LEVELS]
"""The strongest fence, and the weaker ones in the long set."""
BEHIND_EACH = ("addition_chains", "csv_groupby")
"""A task in Python and one in C, which are tried behind every fence; the fences are the same for all."""


def at_levels(names: Iterable[str]) -> list[Any]:
    """Pairs of task and level: each task behind the strongest fence; the others behind the weaker ones only in the long set."""
    return [
        pytest.param(name, level, marks=[pytest.mark.long] if level and name not in BEHIND_EACH else [])
        for name in names
        for level in LEVELS
    ]


def in_turn(names: Iterable[str]) -> list[Any]:
    """Tasks as an ordinary user: those of `BEHIND_EACH`, and the others only in the long set."""
    return [pytest.param(name, marks=[] if name in BEHIND_EACH else [pytest.mark.long]) for name in names]


def valid(scored: Scored) -> dict[str, float]:
    """The reward file, which is numeric whatever happened."""
    assert scored.reward is not None, scored.output
    for key, value in scored.reward.items():
        assert isinstance(value, int | float), (key, value)
        assert not isinstance(value, bool)
    assert 0 <= scored.reward["reward"] <= 1
    return scored.reward


def assert_worthless(scored: Scored, what: str) -> None:
    reward = valid(scored)
    assert (reward["reward"], reward["correctness"]) == (0, 0), (what, scored)
    assert scored.details["reason"], what
