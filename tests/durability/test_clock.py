"""The wall clock jumps in the middle of the work: no duration is negative, no deadline moves, nothing changes its order."""

from __future__ import annotations

import json

import pytest
from killing_blows import Blow
from killing_course import Twin, verdicts

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

KIND = {"agents": 1, "seeds": 2, "concurrency": 1, "environment": {"type": "local", "kwargs": {"storage": "tmpfs"}}}
YEAR = 365 * 86400
SUSPICIOUS_SEC = 3600.0
"""No phase of these studies takes minutes."""


def durations(value, where=""):
    """Every recorded length of time, by its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key.endswith("_sec") and isinstance(item, int | float) and not key.startswith(("budget", "verifier")):
                yield f"{where}.{key}", item
            yield from durations(item, f"{where}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from durations(item, f"{where}[{index}]")


@pytest.mark.parametrize(
    ("event", "k", "seconds"),
    [
        pytest.param(event, k, seconds, marks=[] if (place + turn) % 2 else [pytest.mark.long])
        for place, (event, k) in enumerate(
            [("agent", 2), ("agent", 6), ("verifier", 1), ("verifier", 4), ("fsync", 25)]
        )
        for turn, seconds in enumerate([-YEAR, YEAR])
    ],
)
def test_a_jump_of_the_clock_changes_nothing(make_arena, twins, seconds, event, k):
    twin: Twin = twins(**KIND)
    arena = make_arena(frozen=False, **KIND)
    start = arena.run(Blow("clock", event, k, "after", seconds=seconds))
    assert (start.code, bool(start.struck)) == (0, True), start.text()
    assert verdicts(arena) == twin.scores
    wrong = []
    for path in [*arena.study.glob("runs/*/record.json"), *arena.study.glob("runs/*/scores/*.json")]:
        wrong += [
            (path.name, *found)
            for found in durations(json.loads(path.read_text()))
            if not 0 <= found[1] < SUSPICIOUS_SEC
        ]
    assert wrong == []
