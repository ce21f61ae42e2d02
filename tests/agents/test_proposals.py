from __future__ import annotations

import random

from loopscope.agents.search.bandit import Bandit
from loopscope.agents.search.mutate import Edit, Move, catalogue
from loopscope.agents.search.proposals import Proposer

FILES = {
    "solve.py": b"ROUNDS = 5\nRATE = 0.5\nMODE = False\n\n\ndef solve(x):\n    for i in range(ROUNDS):\n        x = x * RATE\n    return x\n"
}


def move(operator: str, site: str, prior: float = 0.3) -> Move:
    return Move("constants", operator, "a.py", "named", site, (Edit(0, 1, b"2"),), "change", "why", prior=prior)


def test_the_bandit_comes_to_prefer_what_works() -> None:
    bandit = Bandit(random.Random(1))
    good, bad = move("good", "x"), move("bad", "y")
    for _ in range(12):
        bandit.learn(good, gain=True)
        bandit.learn(bad, gain=False)
    assert all(bandit.ranked([bad, good])[0] is good for _ in range(50))


def test_an_inert_site_gives_way_to_others() -> None:
    bandit = Bandit(random.Random(1))
    for _ in range(4):
        bandit.learn(move("x4", "inert"), gain=False, inert=True)
    firsts = [bandit.ranked([move("x4", "inert"), move("x4", "other")])[0].site for _ in range(50)]
    assert set(firsts) == {"other"}


def play(seed: int, rounds: int = 40) -> list[str]:
    """Changes proposed while the score is the number of bytes: any deterministic landscape does."""
    proposer, current = Proposer(seed), FILES
    proposer.known(current)
    changes = []
    for _ in range(rounds):
        proposal = proposer.propose(current)
        if proposal is None:
            break
        changes.append(proposal.change)
        gain = len(proposal.files["solve.py"]) > len(current["solve.py"])
        proposer.learn(proposal, gain)
        current = proposal.files if gain else current
    return changes


def test_a_seed_and_the_verdicts_decide_everything() -> None:
    assert play(3) == play(3)
    assert play(3) != play(4)


def test_no_state_is_proposed_twice() -> None:
    proposer = Proposer(2)
    proposer.known(FILES)
    seen = {tuple(FILES.items())}
    while len(seen) < 60 and (proposal := proposer.propose(FILES)):
        state = tuple(sorted(proposal.files.items()))
        assert state not in seen
        seen.add(state)
        proposer.learn(proposal, gain=False)
    assert len(seen) > 30


def test_it_ends_when_nothing_is_left() -> None:
    files = {"a.json": b'{"size": 8}'}
    proposer = Proposer(1)
    proposer.known(files)
    count = 0
    while proposal := proposer.propose(files):
        proposer.learn(proposal, gain=False)
        count += 1
        assert count < 100
    assert 3 <= count <= len(catalogue(files))


def first_single(proposer: Proposer, site: str, operator: str) -> None:
    """Ask until this very move comes alone."""
    for _ in range(300):
        proposal = proposer.propose(FILES)
        assert proposal is not None
        if [m.key[1:] for m in proposal.moves] == [(site, operator)]:
            return
    raise AssertionError("never proposed")


def test_a_gain_is_followed_and_a_loss_turned_round() -> None:
    gained = Proposer(1)
    proposal = gained._combined(FILES, [("solve.py", "file:ROUNDS#1", "x4")])
    assert proposal is not None
    gained.learn(proposal, gain=True)
    following = gained.propose(proposal.files)
    assert following is not None
    assert following.change == "ROUNDS 20 -> 320 (x16) in solve.py"

    lost = Proposer(1)
    proposal = lost._combined(FILES, [("solve.py", "file:ROUNDS#1", "x4")])
    assert proposal is not None
    lost.learn(proposal, gain=False)
    turned = lost.propose(FILES)
    assert turned is not None
    assert turned.change == "ROUNDS 5 -> 1 (/4) in solve.py"


def test_two_gains_are_crossed() -> None:
    proposer = Proposer(5)
    keys = [("solve.py", "file:ROUNDS#1", "x2"), ("solve.py", "file:RATE#1", "halfway to 1")]
    for key in keys:
        proposal = proposer._combined(FILES, [key])
        assert proposal is not None
        proposer.learn(proposal, gain=True)
    proposer._follow.clear()
    crossed = None
    for _ in range(200):
        crossed = crossed or proposer._crossed(FILES)
    assert crossed is not None
    assert sorted(m.key for m in crossed.moves) == sorted(keys)
    assert crossed.files["solve.py"].startswith(b"ROUNDS = 10\nRATE = 0.75\n")
