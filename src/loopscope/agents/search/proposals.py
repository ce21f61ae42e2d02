"""What to try next on a given state: go on in a direction that worked, cross two gains, or ask the bandit."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from loopscope.agents.atif import artifact_state
from loopscope.agents.search.bandit import Bandit
from loopscope.agents.search.mutate import Files, Move, catalogue, is_well_formed

_CROSS = 0.15
"""Share of rounds that combine two gains, once there are two."""
_AT_ONCE = (1, 1, 2, 2, 3)
"""How many moves a fresh proposal makes, drawn evenly: settings often pay only together."""
_ATTEMPTS = 60

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Proposal:
    """A state to try, and how it came about."""

    moves: tuple[Move, ...]
    files: dict[str, bytes]
    onward: bool = False
    """It takes a step further that has just gained; where that fails, there is no use in turning round."""

    @property
    def change(self) -> str:
        """For the commit message."""
        return "; ".join(move.change for move in self.moves)

    @property
    def hypothesis(self) -> str:
        """Of the first move, and that the others go with it."""
        more = " (and the settings may pay only together)" if len(self.moves) > 1 else ""
        return self.moves[0].hypothesis + more


class Proposer:
    """Deterministic for a seed and a sequence of verdicts. Never proposes a state twice."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._bandit = Bandit(self._rng)
        self._follow: deque[tuple[Key, bool]] = deque()
        self._gains: list[Move] = []
        self._seen: set[str] = set()
        self._catalogue: tuple[str, list[Move]] = ("", [])

    def known(self, files: Files) -> None:
        """A state that need not be proposed."""
        self._seen.add(artifact_state(files))

    def propose(self, files: Files) -> Proposal | None:
        """The next state to try, made from `files`; None when nothing is left."""
        proposal = self._followed(files) or self._crossed(files) or self._fresh(files)
        if proposal:
            self.known(proposal.files)
        return proposal

    def learn(
        self, proposal: Proposal, gain: bool, notable: bool = True, inert: bool = False, failed: bool = False
    ) -> None:
        """Take in the verdict. A step with a notable gain is taken further, one that lost is turned round.

        Args:
            proposal: what was tried.
            gain: the score rose.
            notable: it rose by more than a trifle.
            inert: the score stayed exactly the same.
            failed: there was no score.
        """
        for move in proposal.moves:
            self._bandit.learn(move, gain, inert, 1 / len(proposal.moves))
        if gain and notable:
            self._gains.extend(move for move in proposal.moves if move not in self._gains)
            self._follow.extendleft(((m.file, m.site, m.onward), True) for m in proposal.moves if m.onward)
        elif len(proposal.moves) == 1 and not (gain or inert or failed or proposal.onward):
            self._follow.extend(((m.file, m.site, m.opposite), False) for m in proposal.moves if m.opposite)

    def _moves(self, files: Files) -> Sequence[Move]:
        state = artifact_state(files)
        if self._catalogue[0] != state:
            self._catalogue = (state, catalogue(files))
        return self._catalogue[1]

    def _followed(self, files: Files) -> Proposal | None:
        while self._follow:
            key, onward = self._follow.popleft()
            if proposal := self._combined(files, [key]):
                return replace(proposal, onward=onward)
        return None

    def _crossed(self, files: Files) -> Proposal | None:
        """Both moves of two earlier gains at once, as far as their sites still exist."""
        if len(self._gains) < 2 or self._rng.random() >= _CROSS:
            return None
        first, second = self._rng.sample(self._gains, 2)
        return self._combined(files, [first.key, second.key]) if first.key[:2] != second.key[:2] else None

    def _fresh(self, files: Files) -> Proposal | None:
        ranked = self._bandit.ranked(self._moves(files))[:_ATTEMPTS]
        for index, move in enumerate(ranked):
            partners = [m.key for m in ranked[index + 1 :] if m.key[:2] != move.key[:2] and m.is_setting]
            wanted = self._rng.choice(_AT_ONCE) - 1 if move.is_setting else 0
            distinct = list({key[:2]: key for key in reversed(partners[: 4 * wanted])}.values())[::-1]
            for count in sorted({wanted, 0}, reverse=True):
                if proposal := self._combined(files, [move.key, *distinct[:count]]):
                    return proposal
        return None

    def _combined(self, files: Files, keys: Sequence[Key]) -> Proposal | None:
        """The moves with these names, one after the other; None if one is gone or the result is old or ill-formed."""
        after, made = dict(files), []
        for key in keys:
            move = next((m for m in self._moves(after) if m.key == key), None)
            if move is None:
                return None
            after = move.apply(after)
            made.append(move)
        if artifact_state(after) in self._seen or not is_well_formed(files, after):
            return None
        return Proposal(tuple(made), after)
