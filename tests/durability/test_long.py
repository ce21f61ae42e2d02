"""Two thousand points, and the demonstration with its own tasks, agents and budgets."""

from __future__ import annotations

import random
from importlib.resources import files

import pytest
import yaml
from killing import Arena
from killing_course import Twin, course, draw, finish, verdicts
from test_kills import KINDS

SEARCH = {"name": "search", "kwargs": {"rounds": 2}}


def demonstration(home, server, **changes) -> Arena:
    """The study that `loopscope demo` runs."""
    arena = Arena(server, home)
    spec = yaml.safe_load((files("loopscope.cli") / "demo.yaml").read_text())
    arena.file.write_text(yaml.safe_dump(spec | changes))
    return arena


@pytest.mark.long
@pytest.mark.sandbox
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_a_study_survives_fifty_kills(make_arena, twins, seed):
    kind = KINDS[sorted(KINDS)[seed % len(KINDS)]]
    landed = course(lambda name: make_arena(name, **kind), twins(**kind), random.Random(seed), 50, draw)
    assert landed.total() >= 50


def same_work(arena: Arena, twin: Twin) -> None:
    """Same runs and, of the agents that do the same every time, the same verdicts; scores that are times may differ."""
    found = verdicts(arena)
    assert found.keys() == twin.scores.keys()
    for run, states in twin.scores.items():
        if "__nop__" in run or "__oracle__" in run:
            assert {s: [v[0] for v in vs] for s, vs in found[run].items()} == {
                s: [v[0] for v in vs] for s, vs in states.items()
            }
            if not run.startswith("csv_groupby"):
                assert found[run] == states, run
    assert not arena.leftovers()


def survive(server, home, points, seed, **changes):
    calm = demonstration(home / "calm", server, **changes)
    twin = Twin.of(calm)
    arena = demonstration(home / "killed", server, **changes)
    rng, landed = random.Random(seed), 0
    while landed < points:
        start = arena.run(draw(rng))
        assert start.code in (0, 1, -9), start.text()
        landed += bool(start.struck)
        if start.code == 0:
            break
    finish(arena)
    same_work(arena, twin)
    return landed


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_short_demonstration_survives_kills(server, tmp_path):
    small = {"agents": ["nop", SEARCH, "oracle"], "seeds": 1, "tasks": ["addition_chains"]}
    assert survive(server, tmp_path, 8, 1, **small) >= 4


@pytest.mark.long
@pytest.mark.sandbox
def test_the_demonstration_survives_kills(server, tmp_path):
    assert survive(server, tmp_path, 60, 2) >= 20
