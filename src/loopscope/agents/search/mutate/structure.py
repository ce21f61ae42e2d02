"""What all moves that change how the code works share: a site named by its function and its words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from loopscope.agents.search.mutate.moves import Edit, Move
from loopscope.agents.search.mutate.syntax import Source, enclosing, short

MAX_BYTES = 200_000
"""Larger files are data, or generated: no structure is looked for in them."""


@dataclass
class Sites:
    """The sites of one file, told apart by a count where function, operator and words are the same."""

    source: Source
    heads: bool = False
    """Name sites by their first line alone: a function's site then survives edits of its body."""
    _seen: Counter[str] = field(default_factory=Counter)

    def move(self, node: Node, operator: str, kind: str, edits: Sequence[Edit], why: str, prior: float) -> Move:
        """A move at `node`."""
        where = enclosing(self.source, node)
        text = self.source.text(node)
        words = short(text.split("\n", 1)[0] if self.heads else text)
        label = f"{where}:{operator}:{words}"
        self._seen[label] += 1
        return Move(
            family="structure",
            operator=operator,
            file=self.source.path,
            site_kind=kind,
            site=f"{label}#{self._seen[label]}",
            edits=tuple(edits),
            change=f"{operator} in {where} of {self.source.path}: {words}",
            hypothesis=why,
            prior=prior,
        )
