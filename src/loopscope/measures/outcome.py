"""Outcome: avg@k for the typical level, best@k for the ceiling, over k independent rollouts (Section 2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from loopscope.measures.aggregation import Row, group, split_by_category
from loopscope.measures.exact import Score, mean, observed


@dataclass(frozen=True)
class Outcome:
    """avg@k and best@k of one model over some tasks."""

    avg: Fraction | None
    """Mean over tasks of the mean final score; None when no rollout has one."""
    best: Fraction | None
    """Mean over tasks of the best final score."""
    k: int
    """Rollouts per task: the largest number that any task has."""
    tasks: int
    """Tasks with at least one scored rollout."""
    scored: int
    """Rollouts with a final score, over all tasks."""
    missing: int
    """Rollouts that would make k on every task but are unscored or absent; unless 0, avg@k and best@k rest on fewer."""


def avg_at_k(rollouts: Iterable[Score]) -> Fraction | None:
    """Mean final score of the rollouts of one (model, task); missing ones are left out, never taken as zero."""
    return mean(observed(rollouts))


def best_at_k(rollouts: Iterable[Score]) -> Fraction | None:
    """Best final score of the rollouts of one (model, task)."""
    return max(observed(rollouts), default=None)


def outcome(rows: Iterable[Row]) -> dict[str, Outcome]:
    """Model -> avg@k and best@k over all tasks, from rows (model, task, final score). Sorted by model."""
    return {model: _over_tasks(tasks) for model, tasks in sorted(group(rows).items())}


def outcome_by_category(rows: Iterable[Row], categories: Mapping[str, str]) -> dict[tuple[str, str], Outcome]:
    """(model, category) -> the same over the tasks of the category (Appendix A). `categories` maps task to category."""
    split = split_by_category(rows, categories)
    return {(model, name): found for name, part in split.items() for model, found in outcome(part).items()}


def _over_tasks(tasks: Mapping[str, list[Fraction | None]]) -> Outcome:
    k = max(len(rollouts) for rollouts in tasks.values())
    averages = [value for rollouts in tasks.values() if (value := avg_at_k(rollouts)) is not None]
    bests = [value for rollouts in tasks.values() if (value := best_at_k(rollouts)) is not None]
    scored = sum(len(observed(rollouts)) for rollouts in tasks.values())
    return Outcome(mean(averages), mean(bests), k, len(averages), scored, k * len(tasks) - scored)
