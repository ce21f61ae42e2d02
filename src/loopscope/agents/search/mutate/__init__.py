"""Mutations, one module per family: `constants`, `flags`, `choices`, `statements` and `expressions` (structure)."""

from __future__ import annotations

from loopscope.agents.search.mutate.choices import choice_moves
from loopscope.agents.search.mutate.constants import constant_moves
from loopscope.agents.search.mutate.expressions import expression_moves
from loopscope.agents.search.mutate.flags import flag_moves
from loopscope.agents.search.mutate.moves import Edit, Files, Move
from loopscope.agents.search.mutate.statements import statement_moves
from loopscope.agents.search.mutate.syntax import error_count

__all__ = ["Edit", "Files", "Move", "catalogue", "error_count", "is_well_formed"]


def catalogue(files: Files) -> list[Move]:
    """Every move that the files allow, in an order that depends on the files alone."""
    families = (constant_moves, flag_moves, choice_moves, statement_moves, expression_moves)
    return [move for family in families for move in family(files)]


def is_well_formed(before: Files, after: Files) -> bool:
    """No changed file has more syntax errors than it had: what a parser already refuses is not worth a round."""
    return all(
        error_count(path, after[path]) <= error_count(path, before[path])
        for path in after
        if after[path] != before[path]
    )
