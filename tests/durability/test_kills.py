"""Studies that are killed at seeded moments come out as if nothing had happened."""

from __future__ import annotations

import random

import pytest
from killing_course import course, draw

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

POINTS = 20
QUICK = {"type": "local", "kwargs": {"storage": "tmpfs"}}
KINDS = {
    "plain": {"agents": 2},  # files in whatever bounds them here: as root, a loop image
    "seeds": {"agents": 1, "seeds": 3, "environment": QUICK},
    "timed": {"agents": 1, "timed": True, "environment": QUICK},
}


@pytest.mark.parametrize("seed", range(10))
def test_a_study_survives_any_kill(make_arena, twins, seed):
    kind = KINDS[sorted(KINDS)[(seed + 1) % len(KINDS)]]
    landed = course(lambda name: make_arena(name, **kind), twins(**kind), random.Random(seed), POINTS, draw)
    assert landed.total() >= POINTS
