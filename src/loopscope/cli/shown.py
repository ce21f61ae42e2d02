"""What the tables of a study are made of, before they are laid out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.markup import escape

if TYPE_CHECKING:  # its libraries take longer to load than most verbs to run
    from loopscope.analysis.build import Analysis
    from loopscope.models.interval_rows import ComparisonRow, IntervalRow
    from loopscope.models.standing import Standing
    from loopscope.models.tables import OutcomeRow

MISSING = "—"
UNOFFICIAL = "~"
"""Stands before a number that some score of an imported log is in."""


@dataclass(frozen=True)
class Shown:
    """What the tables of one study are made of, over all categories."""

    outcome: tuple[OutcomeRow, ...]
    """The agents in the order in which they are shown."""
    standing: Standing
    intervals: Mapping[tuple[str, str], IntervalRow]
    """(agent, measure) -> its interval for random tasks."""
    pairs: tuple[ComparisonRow, ...]
    """Of avg@k, each seen from the agent that stands above."""
    just_these: tuple[ComparisonRow, ...]
    """The same for just these tasks."""
    k: str

    def number(self, agent: str, measure: str, value: float | None, unofficial: int, *, bounds: bool = True) -> str:
        """`0.29 [0.21, 0.38]`; with `bounds`, below it where it lies whatever is missing."""
        from loopscope.models.standing import spelled_interval

        if value is None:
            return MISSING
        row = self.intervals.get((agent, measure))
        spread = spelled_interval(row.low, row.high) if row else spelled_interval(None, None)
        text = f"{UNOFFICIAL if unofficial else ''}{value:.2f} {escape(spread)}"
        if not bounds or row is None or row.missing_low is None or row.missing_high is None:
            return text
        return f"{text}\n({row.missing_low:.2f} to {row.missing_high:.2f})"

    def rows(self, measures: Iterable[str]) -> list[IntervalRow]:
        """How sure the numbers of these measures are: those that there are, by agent as shown, then by measure."""
        found = (self.intervals.get((row.agent, measure)) for row in self.outcome for measure in measures)
        return [row for row in found if row is not None and row.value is not None]


def shown_of(analysis: Analysis) -> Shown:
    """What the tables of a study are made of; everything is read from its tables."""
    from loopscope.models.interval_rows import ComparisonRow, IntervalRow
    from loopscope.models.standing import FIXED, RANDOM, chosen_pairs, ordered_pairs, standing
    from loopscope.models.tables import OVERALL, OutcomeRow

    outcome = [OutcomeRow(**row) for row in analysis.frames["outcome"].to_dicts() if row["category"] == OVERALL]
    compared = standing(outcome)
    outcome.sort(key=lambda row: _place(row, same_tasks=compared.same_tasks))
    read = (IntervalRow(**row) for row in analysis.frames["intervals"].to_dicts() if row["category"] == OVERALL)
    intervals = {(row.agent, row.measure): row for row in read if row.reading == RANDOM}
    compared_pairs = [ComparisonRow(**row) for row in analysis.frames["comparisons"].to_dicts()]
    scored = [row.agent for row in outcome if row.avg_at_k is not None]
    counts = [row["k"] for row in analysis.frames["task_scores"].to_dicts()] or [analysis.summary.k]
    k = str(counts[0]) if min(counts) == max(counts) else "k"
    pairs, these = (ordered_pairs(scored, chosen_pairs(compared_pairs, reading=reading)) for reading in (RANDOM, FIXED))
    return Shown(tuple(outcome), compared, intervals, pairs, these, k)


def _place(row: OutcomeRow, *, same_tasks: bool) -> tuple[bool, float, str]:
    value = row.avg_at_k if same_tasks else row.common_avg
    return row.avg_at_k is None, -(value or 0.0), row.agent


def remarks(told: Iterable[tuple[str, str | None]], everyone: int) -> list[str]:
    """What to know before numbers are believed: each remark once, with whom it is about unless it is about all.

    Args:
        told: (whom it is about, remarks with `; ` between them), in the order in which they are shown.
        everyone: how many there are to speak of.
    """
    return [
        escape(remark) if len(names) >= everyone else f"{', '.join(names)}: {escape(remark)}"
        for remark, names in by_remark(told).items()
    ]


def by_remark(told: Iterable[tuple[str, str | None]]) -> dict[str, list[str]]:
    """Remark -> whom it is about, each once."""
    found: dict[str, dict[str, None]] = {}
    for name, guard in told:
        for remark in (guard or "").split("; "):
            if remark:
                found.setdefault(remark, {})[name] = None
    return {remark: list(names) for remark, names in found.items()}
