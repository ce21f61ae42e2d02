"""Two thousand points, and the demonstration with its own tasks, agents and budgets."""

from __future__ import annotations

import random
from importlib.resources import files

import pytest
import yaml
from killing import Arena
from killing_course import Twin, course, draw, rest, verdicts
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
    """Same runs, the same number of verifications of each state, nothing left behind; and a start that does nothing.

    The verifiers of these tasks draw their cases anew each time, so the rewards are nobody's to compare; what states a
    search comes to depends on them.
    """
    rest(arena)
    found = verdicts(arena)
    assert found.keys() == twin.scores.keys()
    for run, states in twin.scores.items():
        if "__search__" not in run:
            assert statuses(found[run]) == statuses(states), run
    assert not arena.leftovers()


def statuses(states):
    """Of each state, how its verifications ended."""
    return {state: [status for status, _ in verifications] for state, verifications in states.items()}


def survive(server, home, points, seed, **changes):
    """Landed blows by victim, on as many demonstrations as it takes."""
    twin = Twin.of(demonstration(home / "calm", server, **changes))
    return course(
        lambda name: demonstration(home / name, server, **changes), twin, random.Random(seed), points, draw, same_work
    )


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_short_demonstration_survives_kills(server, tmp_path):
    small = {"agents": ["nop", SEARCH, "oracle"], "seeds": 1, "tasks": ["addition_chains"]}
    assert survive(server, tmp_path, 8, 1, **small).total() == 8


@pytest.mark.long
@pytest.mark.sandbox
def test_the_demonstration_survives_kills(server, tmp_path):
    assert survive(server, tmp_path, 60, 2).total() == 60
