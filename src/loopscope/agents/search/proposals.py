"""What to try next on a given state: follow what worked, cross two gains, or ask the bandit."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from loopscope.agents.atif import artifact_state
from loopscope.agents.search.bandit import Bandit
from loopscope.agents.search.mutate import Files, Move, catalogue, is_well_formed

_CROSS = 0.15
"""Share of rounds that combine two gains, once there are two."""
_ATTEMPTS = 60


@dataclass(frozen=True)
class Proposal:
    """A state to try, and how it came about."""

    moves: tuple[Move, ...]
    files: dict[str, bytes]
    change: str
    hypothesis: str


class Proposer:
    """Deterministic for a seed and a sequence of verdicts. Never proposes a state twice."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._bandit = Bandit(self._rng)
        self._follow: deque[tuple[str, str, str]] = deque()
        self._gains: list[Move] = []
        self._seen: set[str] = set()
        self._catalogue: tuple[str, list[Move]] = ("", [])

    def known(self, files: Files) -> None:
        """A state that need not be proposed."""
        self._seen.add(artifact_state(files))

    def propose(self, files: Files) -> Proposal | None:
        """The next state to try, made from `files`; None when nothing is left."""
        for proposal in (self._followed(files), self._crossed(files)):
            if proposal:
                return self._take(proposal)
        moves = list(self._moves(files))
        for _ in range(_ATTEMPTS):
            move = self._bandit.choose(moves)
            if move is None:
                break
            if proposal := self._applied(files, (move,)):
                return self._take(proposal)
            moves.remove(move)
        return None

    def learn(self, proposal: Proposal, gain: bool, inert: bool = False) -> None:
        """Take in the verdict: repeat a step that gained, turn round one that lost."""
        single = len(proposal.moves) == 1
        for move in proposal.moves:
            self._bandit.learn(move, gain, inert)
        move = proposal.moves[0]
        if gain:
            self._gains.extend(m for m in proposal.moves if m not in self._gains)
            self._follow.extendleft(m.key for m in proposal.moves if m.opposite)
        elif single and move.opposite and not inert:
            self._follow.append((move.file, move.site, move.opposite))

    def _moves(self, files: Files) -> Sequence[Move]:
        state = artifact_state(files)
        if self._catalogue[0] != state:
            self._catalogue = (state, catalogue(files))
        return self._catalogue[1]

    def _followed(self, files: Files) -> Proposal | None:
        by_key = {move.key: move for move in self._moves(files)} if self._follow else {}
        while self._follow:
            move = by_key.get(self._follow.popleft())
            if move and (proposal := self._applied(files, (move,))):
                return proposal
        return None

    def _crossed(self, files: Files) -> Proposal | None:
        """Both moves of two earlier gains at once, as far as their sites still exist."""
        if len(self._gains) < 2 or self._rng.random() >= _CROSS:
            return None
        first, second = self._rng.sample(self._gains, 2)
        if (first.file, first.site) == (second.file, second.site):
            return None
        one = next((m for m in self._moves(files) if m.key == first.key), None)
        if one is None:
            return None
        middle = one.apply(files)
        two = next((m for m in catalogue(middle) if m.key == second.key), None)
        if two is None:
            return None
        after = two.apply(middle)
        if artifact_state(after) in self._seen or not is_well_formed(files, after):
            return None
        return Proposal(
            (one, two), after, f"{one.change}; {two.change}", "two changes that helped may help again together"
        )

    def _applied(self, files: Files, moves: tuple[Move]) -> Proposal | None:
        move = moves[0]
        after = move.apply(files)
        if artifact_state(after) in self._seen or not is_well_formed(files, after):
            return None
        return Proposal(moves, after, move.change, move.hypothesis)

    def _take(self, proposal: Proposal) -> Proposal:
        self.known(proposal.files)
        return proposal
