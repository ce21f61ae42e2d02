"""What an agent's own messages claim that a commit is worth."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache

from loopscope.evidence.shell.searching import find_all
from loopscope.models.evaluator import Evaluator


def claimed(message: str, evaluator: Evaluator | None) -> Decimal | None:
    """The reward that a message claims, directly or by the metric; None when it claims none, or nobody can tell."""
    if evaluator is None:
        return None
    for claim in evaluator.claims:
        found = [match["value"] for match in find_all(_compiled(claim.pattern), message) if match["value"]]
        if not found:
            continue
        try:
            value = Decimal(found[-1]) * claim.factor
        except ArithmeticError:
            continue
        if not value.is_finite():
            continue
        return value if claim.is_reward else evaluator.score(value)
    return None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
