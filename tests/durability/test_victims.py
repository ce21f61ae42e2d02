"""What works for a living engine is killed: the verdict is none, or it is asked for again; never a score."""

from __future__ import annotations

import json

import pytest
from killing_blows import Blow
from killing_course import finish, hold_against

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

SMALL = {"agents": 1, "environment": {"type": "local", "kwargs": {"storage": "tmpfs"}}}


@pytest.mark.parametrize("victim", ["keeper", "bwrap"])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_rollout_whose_sandbox_was_killed_is_begun_once_more(make_arena, twins, victim, k):
    arena = make_arena(**SMALL)
    start = arena.run(Blow(victim, "agent", k, "after"))
    assert start.struck, start.text()
    finish(arena)
    assert arena.beginnings() == ["toy__steady1__s1"] * 2
    hold_against(arena, twins(**SMALL))


@pytest.mark.parametrize("victim", ["hub", "keeper", "bwrap"])
def test_a_verification_whose_sandbox_was_killed_is_an_error_and_done_again(make_arena, twins, victim):
    arena = make_arena(**SMALL)
    start = arena.run(Blow(victim, "verifier", 2, "after"))
    assert start.struck, start.text()
    settled = sum(len(found) for states in arena.finished.scores.values() for found in states.values())
    assert (start.code, settled) == ((0, 5) if victim == "hub" else (1, 4)), start.text()
    finish(arena)
    hold_against(arena, twins(**SMALL))


def test_a_killed_verifier_is_run_again_at_once(make_arena, twins):
    arena = make_arena(**SMALL)
    start = arena.run(Blow("verifier", "verifier", 3, "after"))
    assert (start.struck, start.code) == ("after verifier 3", 0), start.text()
    assert start.began("verifier") == twins(**SMALL).verifiers + 1
    hold_against(arena, twins(**SMALL))


def test_a_verifier_that_is_always_killed_ends_without_a_score_and_is_not_run_for_ever(make_arena):
    arena = make_arena(**SMALL)
    (arena.home / "toy/tests/test.sh").write_text("kill -9 $$\n")
    first, second = arena.run(), arena.run()
    assert (first.code, second.code) == (1, 1)
    assert (first.began("verifier"), second.began("verifier")) == (10, 0)
    for states in arena.finished.scores.values():
        for (text,) in states.values():
            found = json.loads(text)
            assert (found["status"], found["reward"]) == ("no_reward", None)
            assert "killed (signal 9)" in found["reason"] and "each of 2 tries" in found["reason"]
