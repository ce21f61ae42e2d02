"""A study's way through many blows to its end, and the undisturbed study that it must come out like."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from killing import Arena, Start
from killing_blows import Blow, engine_blow, other_blow

_LAST_STARTS = 4
"""So many undisturbed starts bring any study to its end: what a blow spoiled is done again by the next."""
_ANALYZE_EVERY = 10


@dataclass(frozen=True)
class Twin:
    """What an undisturbed study came to."""

    scores: dict[str, dict[str, list[tuple[str, str | None]]]]
    """By run and state: status and reward of each verification."""
    tables: dict[str, str]
    verifiers: int
    rollouts: int

    @classmethod
    def of(cls, arena: Arena) -> Twin:
        """Run a study to its end and look."""
        start = arena.run()
        assert start.code == 0, start.text()
        return cls(verdicts(arena), arena.tables(), arena.tally.verifiers, len(arena.beginnings()))


def verdicts(arena: Arena) -> dict[str, dict[str, list[tuple[str, str | None]]]]:
    """What every verification said, without when and how long."""
    return {
        run: {
            state: [(found["status"], found["reward"]) for found in map(json.loads, verifications)]
            for state, verifications in states.items()
        }
        for run, states in arena.finished.scores.items()
    }


def finish(arena: Arena) -> Start:
    """Start without blows until nothing is left to do."""
    for _ in range(_LAST_STARTS):
        start = arena.run()
        if start.code == 0:
            return start
    raise AssertionError(f"the study does not come to its end: {start.text()}")


def rest(arena: Arena) -> None:
    """A finished study is left alone: the last start found nothing to do, or another does."""
    last = arena.last if arena.last and arena.last.idle else arena.run()
    assert last.idle, last.text()


def hold_against(arena: Arena, twin: Twin) -> None:
    """A finished study is what it would be without any blow, and left nothing behind."""
    rest(arena)
    assert verdicts(arena) == twin.scores
    assert arena.tables() == twin.tables
    assert not arena.leftovers()
    blows = arena.tally.struck.total()
    assert arena.tally.verifiers <= twin.verifiers + 2 * blows, "verifications were done again"
    assert len(arena.beginnings()) <= twin.rollouts + 2 * blows, "rollouts were done again"


def draw(rng: random.Random) -> Blow:
    """Two of three blows hit the engine."""
    return engine_blow(rng) if rng.random() < 0.67 else other_blow(rng)


def course(
    make: Callable[[str], Arena],
    twin: Twin,
    rng: random.Random,
    points: int,
    choose: Callable[[random.Random], Blow],
    hold: Callable[[Arena, Twin], None] = hold_against,
) -> Counter[str]:
    """Deal so many blows to studies that go on after each, and hold every one that ends against its twin.

    Returns:
        Landed blows by victim.
    """
    landed: Counter[str] = Counter()
    numbers = itertools.count()
    while landed.total() < points:
        arena = make(f"study{next(numbers)}")
        while landed.total() < points:
            start = arena.run(choose(rng))
            assert start.code in (0, 1, -9), start.text()
            if start.struck:
                landed[start.blow.victim] += 1
                if landed.total() % _ANALYZE_EVERY == 0:
                    readable(arena, start)
            elif start.code == 0:
                break
        finish(arena)
        hold(arena, twin)
    return landed


def readable(arena: Arena, start: Start) -> None:
    """Analysis works on a study in any state; one that was not yet begun is refused in one line."""
    done = arena.start("analyze", str(arena.study))
    begun = (arena.study / "study.yaml").exists()
    assert done.code == (0 if begun else 2), f"{done.text()}\nafter {start.text()}"
    assert begun or done.err.startswith("error: "), done.text()
    arena.check(done)
