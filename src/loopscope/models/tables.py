"""The tables of a study: one type per kind of row, each column written in one place and nowhere else.

Analysis fills these rows and derives the Parquet schema from their types; the report checks what it reads against them.
None is missing, never zero. `docs/tables.md` describes every column.
"""

from __future__ import annotations

from decimal import Decimal

from loopscope.models.base import Record
from loopscope.models.interval_rows import ComparisonRow, IntervalRow, NoiseDipRow, NoiseRow, RankingRow, StabilityRow
from loopscope.models.run_rows import BuildRow, CheckpointRow, DipRow, EvaluationRow, RunRow
from loopscope.models.study_rows import OVERALL, CategoryRow, MeasureRow, OutcomeRow, ResourceRow, TaskScoreRow

__all__ = [
    "NOT_VERIFIED",
    "OVERALL",
    "TABLES",
    "AgentSummary",
    "BuildRow",
    "CategoryRow",
    "CheckpointRow",
    "ComparisonRow",
    "DipRow",
    "EvaluationRow",
    "IntervalRow",
    "MeasureRow",
    "NoiseDipRow",
    "NoiseRow",
    "OutcomeRow",
    "RankingRow",
    "ResourceRow",
    "RunRow",
    "StabilityRow",
    "StudySummary",
    "TaskScoreRow",
    "TaskSummary",
]

NOT_VERIFIED = "not_verified"
"""Status of a state that no verifier has seen."""

TABLES: dict[str, type] = {
    "runs": RunRow,
    "checkpoints": CheckpointRow,
    "dips": DipRow,
    "builds": BuildRow,
    "evaluations": EvaluationRow,
    "outcome": OutcomeRow,
    "task_scores": TaskScoreRow,
    "process": MeasureRow,
    "process_by_category": CategoryRow,
    "diagnostics": MeasureRow,
    "resources": ResourceRow,
    "intervals": IntervalRow,
    "comparisons": ComparisonRow,
    "rankings": RankingRow,
    "stability": StabilityRow,
    "noise": NoiseRow,
    "noise_dips": NoiseDipRow,
}
"""Every table by the name of its file, `tables/<name>.parquet`, with its kind of row."""


class TaskSummary(Record):
    """A task, for the report's head."""

    name: str
    """Name in tables."""
    title: str
    """For people."""
    category: str
    """The family."""
    timed: bool | None
    """Its score hangs on measured time; None where nobody says so."""
    metric: str | None
    """What the reward measures, in the task's words."""
    baseline: Decimal | None
    """The metric of the untouched workspace."""
    reference: Decimal | None
    """The metric of a known good solution."""
    paired_by: str | None = None
    """How its rewards are paired, in words; None where it is not calibrated."""


class AgentSummary(Record):
    """An agent, for the report's head."""

    label: str
    """Name in tables."""
    harness: str
    """Agent and version."""
    model: str | None
    """`provider/model`; None for an agent that calls none."""


class StudySummary(Record):
    """`tables/study.json`: what the tables are about."""

    name: str
    """Of the study."""
    created_by: str
    """Version of loopscope."""
    k: int
    """Rollouts per task and agent: the study's seeds; of imported runs alone, the most that any pair has."""
    seeds: tuple[int, ...]
    """The study's; of imported runs alone, those that they have."""
    tasks: tuple[TaskSummary, ...]
    """By name."""
    agents: tuple[AgentSummary, ...]
    """The study's in its order, then those of imported runs by label."""
    environment: str
    """`local`, Harbor's type, an import path, or `imported`."""
    generated_from: dict[str, int]
    """How many records stand behind the tables: planned, runs, imported, scored_states, reconstructed_states."""
    warnings: tuple[str, ...]
    """What was left out or is not to be trusted, in words."""
