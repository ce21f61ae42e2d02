from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopscope.measures import C2, Checkpoint, Flag, c2, discount
from loopscope.measures.execution import DISCOUNT
from loopscope.measures.stored import ROUND_SCORES

checkpoint = st.builds(
    Checkpoint,
    delivered=st.booleans(),
    build_failures=st.one_of(st.none(), st.integers(0, 7)),
    initial=st.just(False),
    observable=st.sampled_from([None, True, False]),
)
checkpoints = st.lists(checkpoint, max_size=12)
INITIAL = Checkpoint(delivered=True, initial=True)


def test_the_discount_is_bounded() -> None:
    assert [discount(n) for n in (0, 1, 2, 3, 4, 5, 10**9)] == [
        1,
        Fraction("0.85"),
        Fraction("0.7"),
        Fraction("0.6"),
        Fraction("0.5"),
        Fraction("0.5"),
        Fraction("0.5"),
    ]
    with pytest.raises(ValueError, match="counts start at 0"):
        discount(-1)


def test_a_checkpoint_cannot_claim_evidence_and_hold_none() -> None:
    with pytest.raises(ValueError, match="observable but"):
        Checkpoint(delivered=None, observable=True)


def test_scores_stand_per_checkpoint() -> None:
    found = c2([INITIAL, Checkpoint(True, 2), Checkpoint(None), Checkpoint(False, 1)])
    assert found.scores == (None, Fraction("0.7"), None, Fraction(0))
    assert (found.attempts, found.unobservable, found.flags) == (2, 1, (Flag.UNOBSERVABLE,))


def test_only_unknown_failures_of_a_delivery_are_flagged() -> None:
    assert c2([Checkpoint(True)]).flags == (Flag.FAILURES_UNKNOWN,)
    assert c2([Checkpoint(False)]).flags == ()
    assert c2([INITIAL]).flags == ()


@given(checkpoints)
def test_bounds_and_interval(given_checkpoints: list[Checkpoint]) -> None:
    found = c2(given_checkpoints)
    if found.value is None:
        assert found.attempts == 0
        return
    assert found.unobservable_as_zero is not None and found.unobservable_as_one is not None
    assert 0 <= found.unobservable_as_zero <= found.value <= found.unobservable_as_one <= 1
    if found.unobservable == 0:
        assert found.unobservable_as_zero == found.value == found.unobservable_as_one


@given(checkpoints, st.integers(0, 12))
def test_the_initial_repository_is_no_attempt(given_checkpoints: list[Checkpoint], at: int) -> None:
    with_initial = [*given_checkpoints[:at], INITIAL, *given_checkpoints[at:]]
    assert outcome(c2(with_initial)) == outcome(c2(given_checkpoints))


@given(checkpoints, st.randoms(use_true_random=False))
def test_order_does_not_matter(given_checkpoints: list[Checkpoint], rng: random.Random) -> None:
    shuffled = list(given_checkpoints)
    rng.shuffle(shuffled)
    assert outcome(c2(shuffled)) == outcome(c2(given_checkpoints))


@given(checkpoints, st.integers(0, 6))
def test_one_more_failure_never_raises_and_a_failed_delivery_is_zero(rest: list[Checkpoint], n: int) -> None:
    fewer, more = c2([*rest, Checkpoint(True, n)]).value, c2([*rest, Checkpoint(True, n + 1)]).value
    failed, failed_often = c2([*rest, Checkpoint(False, 0)]).value, c2([*rest, Checkpoint(False, n)]).value
    assert fewer is not None and more is not None and failed is not None
    assert failed_often == failed < more <= fewer


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=12))
def test_a_table_in_twentieths_gives_the_same(runs: list[tuple[bool, int]]) -> None:
    """Independent of the implementation: points out of twenty."""
    points = sum({0: 20, 1: 17, 2: 14, 3: 12}.get(n, 10) for delivered, n in runs if delivered)
    assert c2(Checkpoint(delivered, n) for delivered, n in runs).value == Fraction(points, 20 * len(runs))


def outcome(found: C2) -> tuple[object, ...]:
    return found.value, found.unobservable_as_zero, found.unobservable_as_one, found.attempts, found.unobservable


@given(st.lists(st.one_of(checkpoint, st.just(Checkpoint(None))), max_size=4))
def test_the_interval_is_that_of_every_way_to_fill_in_what_is_unknown(given_: list[Checkpoint]) -> None:
    found = c2(given_)
    ways = [
        ROUND_SCORES if score is None else DISCOUNT if c.delivered and c.build_failures is None else (score,)
        for c, score in zip(given_, found.scores, strict=True)
    ]
    means = [sum(way) / Fraction(len(way)) for way in product(*ways) if way]
    assert (found.low, found.high) == (min(means, default=None), max(means, default=None))


def test_the_interval_by_hand() -> None:
    found = c2([INITIAL, Checkpoint(True, 1), Checkpoint(True), Checkpoint(None), Checkpoint(False)])
    assert (found.low, found.high) == (Fraction("1.35") / 4, Fraction("2.85") / 4)
    assert (found.unobservable_as_zero, found.value) == (Fraction("1.85") / 4, Fraction("1.85") / 3)
    whole = c2([Checkpoint(True, 0), Checkpoint(False, 9)])
    assert whole.low == whole.high == whole.value
