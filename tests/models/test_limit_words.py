"""A limit in words."""

from __future__ import annotations

import pytest

from loopscope.models import Limit, LimitState
from loopscope.models.limits import limit_held, limit_use, limits_met

HELD, WATCHED, ABSENT = LimitState


@pytest.mark.parametrize(
    ("name", "limit", "words"),
    [
        ("memory", Limit(state=HELD, value=1 << 30, hits=1), "memory limit of 1.0 GiB met once: a process was killed"),
        ("memory", Limit(state=HELD, hits=2), "memory limit met twice: processes were killed"),
        ("pids", Limit(state=HELD, value=4096, hits=7), "processes: 4096 reached 7 times"),
        ("disk", Limit(state=HELD, value=64 << 20, hits=1), "disk full: all of 64.0 MiB was used"),
        (
            "disk",
            Limit(state=WATCHED, value=64 << 20, hits=3),
            "disk limit of 64.0 MiB passed 3 times: its processes were killed",
        ),
    ],
)
def test_a_limit_that_was_met_is_told(name: str, limit: Limit, words: str) -> None:
    assert limits_met({name: limit, "network": Limit(state=HELD)}) == (words,)


def test_what_was_not_met_or_not_observed_or_is_a_share_of_a_processor_is_not_told() -> None:
    limits = {"memory": Limit(state=HELD, value=5, hits=0), "pids": Limit(state=HELD, value=5)}
    assert limits_met({**limits, "cpu": Limit(state=HELD, value=1000, hits=900)}) == ()


def test_a_line_of_the_report_says_what_is_not_known() -> None:
    assert limit_use("pids", Limit(state=HELD, value=4096)) == "peak not observed of 4096; met: not observed"
    assert limit_use("memory", Limit(state=HELD, value=1 << 30, peak=1 << 20, hits=0)) == (
        "peak 1.0 MiB of 1.0 GiB; met: never"
    )
    assert limit_use("cpu", Limit(state=ABSENT, peak=1250)) == "peak 1.25 cpus"
    assert limit_held(Limit(state=WATCHED, means="watchdog")) == "watched: watchdog"
    assert limit_held(Limit(state=ABSENT)) == "not held: no reason is recorded"
