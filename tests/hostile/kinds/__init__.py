"""The hostile agents, by theme. `KINDS` has them all by name."""

from __future__ import annotations

from kinds import archives, daemons, git, hunger, links, minds, places, privileges, rewards, texts, verification, wires
from kinds.base import Hostile

KINDS: dict[str, Hostile] = {
    kind.name: kind
    for theme in (
        *(rewards, places, git, links, archives, privileges, hunger, wires, texts, minds, daemons, verification),
    )
    for kind in theme.KINDS
}

__all__ = ["KINDS", "Hostile"]
