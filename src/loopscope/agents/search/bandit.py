"""Which kind of move next: Thompson sampling, first over families, then over arms (operator x file x site kind).

Each family and each arm holds a Beta distribution over its chance of a gain. Its mean before any evidence is the prior;
every judged move adds one observation. Sampling from the distributions, rather than taking the best mean, keeps trying
what is little known.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from loopscope.agents.search.mutate import Move

_FAMILY_PRIOR = {"constants": 0.55, "flags": 0.5, "choices": 0.45, "structure": 0.22}
_STRENGTH = 5.0
"""Observations that a prior is worth."""


@dataclass
class _Belief:
    gains: float = 0.0
    losses: float = 0.0

    def sample(self, rng: random.Random, prior: float) -> float:
        return rng.betavariate(_STRENGTH * prior + self.gains, _STRENGTH * (1 - prior) + self.losses)


class Bandit:
    """Learns which families and arms give gains."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._families: dict[str, _Belief] = defaultdict(_Belief)
        self._arms: dict[tuple[str, str, str], _Belief] = defaultdict(_Belief)
        self._sites: dict[tuple[str, str], float] = defaultdict(lambda: 1.0)

    def choose(self, moves: Sequence[Move]) -> Move | None:
        """One of the moves; None when there is none."""
        if not moves:
            return None
        by_family: dict[str, dict[tuple[str, str, str], list[Move]]] = {}
        for move in moves:
            by_family.setdefault(move.family, {}).setdefault(move.arm, []).append(move)
        family = max(by_family, key=lambda f: self._families[f].sample(self._rng, _FAMILY_PRIOR[f]))
        arms = by_family[family]
        # A kind of place with many moves would win the maximum by numbers alone; the prior's scale keeps it in bounds.
        best = max(arms, key=lambda arm: self._arms[arm].sample(self._rng, _bounded(max(m.prior for m in arms[arm]))))
        weights = [move.weight * self._sites[move.file, move.site] for move in arms[best]]
        return self._rng.choices(arms[best], weights)[0]

    def learn(self, move: Move, gain: bool, inert: bool = False) -> None:
        """Take in the verdict on a move. A site where nothing happened (`inert`) is hardly tried again."""
        for belief in (self._families[move.family], self._arms[move.arm]):
            belief.gains += gain
            belief.losses += not gain
        self._sites[move.file, move.site] *= 2.0 if gain else 0.15 if inert else 0.6


def _bounded(prior: float) -> float:
    return min(0.9, max(0.02, prior))
