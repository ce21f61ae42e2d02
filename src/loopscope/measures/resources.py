"""What runs used: tokens, money, time, interaction steps (Section 2.3, Appendix B).

Any amount per run will do: tokens (all input, cached too, plus output), a price, seconds, tool calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from loopscope.measures.aggregation import Row, group, split_by_category, task_balanced


@dataclass(frozen=True)
class Resource:
    """One model's use of one resource."""

    per_task: Fraction | None
    """Mean over rollouts, then over tasks; unknown amounts are left out. None when no amount is known."""
    total: Fraction | None
    """Sum over the runs whose amount is known; a lower bound unless `unknown` is 0."""
    runs: int
    """Runs with a known amount."""
    unknown: int
    """Runs without."""


def resource(rows: Iterable[Row]) -> dict[str, Resource]:
    """Model -> its use, from rows (model, task, amount). Sorted by model. ValueError for a negative amount."""
    found: dict[str, Resource] = {}
    for model, tasks in sorted(group(rows).items()):
        amounts = [amount for runs in tasks.values() for amount in runs if amount is not None]
        if any(amount < 0 for amount in amounts):
            raise ValueError(f"model {model!r} has a negative amount; amounts start at 0 (unknown: None)")
        balanced = task_balanced(tasks)
        total = sum(amounts, Fraction(0)) if amounts else None
        found[model] = Resource(balanced.value, total, balanced.runs, balanced.runs_left_out)
    return found


def resource_by_category(rows: Iterable[Row], categories: Mapping[str, str]) -> dict[tuple[str, str], Resource]:
    """(model, category) -> its use. `categories` maps task to category; ValueError for a task without one."""
    split = split_by_category(rows, categories)
    return {(model, name): found for name, part in split.items() for model, found in resource(part).items()}
