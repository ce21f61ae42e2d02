"""Which move next: Thompson sampling over families and over arms (operator x file x site kind), weighed by site.

Each family and each arm holds a Beta distribution over its chance of a gain. Its mean before any evidence is the prior;
every judged move adds one observation. Sampling from the distributions, rather than taking the best mean, keeps trying
what is little known. A site keeps a factor of its own: where nothing happened, other sites come first.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from loopscope.agents.search.mutate import Move

_FAMILY_PRIOR = {"constants": 0.55, "flags": 0.5, "choices": 0.5, "structure": 0.28}
_STRENGTH = 4.0
"""Observations that a prior is worth."""
_SITE_GAIN, _SITE_LOSS, _SITE_INERT = 1.5, 0.5, 0.3


@dataclass
class _Belief:
    gains: float = 0.0
    losses: float = 0.0

    def sample(self, rng: random.Random, prior: float) -> float:
        return rng.betavariate(_STRENGTH * prior + self.gains, _STRENGTH * (1 - prior) + self.losses)


class Bandit:
    """Learns which families, arms and sites give gains."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._families: dict[str, _Belief] = defaultdict(_Belief)
        self._arms: dict[tuple[str, str, str], _Belief] = defaultdict(_Belief)
        self._sites: dict[tuple[str, str], float] = defaultdict(lambda: 1.0)

    def ranked(self, moves: Sequence[Move]) -> list[Move]:
        """The moves, most promising first, by one draw from what is believed now."""
        families: dict[str, float] = {}
        arms: dict[tuple[str, str, str], float] = {}
        scores = []
        for move in moves:
            if move.family not in families:
                prior = _FAMILY_PRIOR[move.family]
                families[move.family] = self._families[move.family].sample(self._rng, prior)
            if move.arm not in arms:
                arms[move.arm] = self._arms[move.arm].sample(self._rng, min(0.9, max(0.02, move.prior)))
            belief = families[move.family] * arms[move.arm]
            scores.append(belief * self._sites[move.file, move.site] * move.weight * (0.5 + self._rng.random()))
        order = sorted(range(len(moves)), key=lambda index: -scores[index])
        return [moves[index] for index in order]

    def learn(self, move: Move, gain: bool, inert: bool = False, share: float = 1.0) -> None:
        """Take in the verdict on a move.

        Args:
            move: what was tried.
            gain: the score rose.
            inert: the score stayed exactly the same.
            share: how far the verdict is this move's, when several were tried at once.
        """
        for belief in (self._families[move.family], self._arms[move.arm]):
            belief.gains += share * gain
            belief.losses += share * (not gain)
        factor = _SITE_GAIN if gain else _SITE_INERT if inert else _SITE_LOSS
        self._sites[move.file, move.site] *= factor**share
