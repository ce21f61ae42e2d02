"""The tables of a study: rows in order, columns typed; equal records give equal tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

import polars as pl

from loopscope.analysis.parquet import frame
from loopscope.analysis.quantities import DIAGNOSTICS, PROCESS, RESOURCES, Quantity, number
from loopscope.analysis.rows import checkpoint_rows, dip_rows, run_row
from loopscope.analysis.runs import RunAnalysis
from loopscope.measures import (
    Outcome,
    by_category,
    by_model_and_category,
    outcome,
    outcome_by_category,
    resource,
    resource_by_category,
    two_level,
)
from loopscope.models.tables import (
    OVERALL,
    TABLES,
    CategoryRow,
    MeasureRow,
    OutcomeRow,
    ResourceRow,
    TaskScoreRow,
)

__all__ = ["OVERALL", "FinalScore", "study_tables"]

type FinalScore = tuple[str, str, Decimal | None]
"""(agent, task, final score or None) of a planned rollout."""
type Categories = Mapping[str, str]
"""Task -> category."""


def study_tables(runs: list[RunAnalysis], finals: list[FinalScore], categories: Categories) -> dict[str, pl.DataFrame]:
    """Every table by name.

    Args:
        runs: what was analysed.
        finals: one per planned rollout, those without a record too.
        categories: of every task.
    """
    rows: dict[str, Iterable[object]] = {
        "runs": map(run_row, runs),
        "checkpoints": (row for run in runs for row in checkpoint_rows(run)),
        "dips": (row for run in runs for row in dip_rows(run)),
        "outcome": outcome_rows(finals, categories),
        "task_scores": task_score_rows(finals, categories),
        "process": measure_rows(runs, PROCESS, categories),
        "process_by_category": category_rows(runs, categories),
        "diagnostics": measure_rows(runs, DIAGNOSTICS, categories),
        "resources": resource_rows(runs, categories),
    }
    return {name: frame(kind, rows[name]) for name, kind in TABLES.items()}


def outcome_rows(finals: list[FinalScore], categories: Categories) -> list[OutcomeRow]:
    """avg@k and best@k by agent, overall and by category."""
    found = {(agent, OVERALL): result for agent, result in outcome(finals).items()}
    found |= outcome_by_category(finals, categories)
    return [
        OutcomeRow(
            agent=agent,
            category=category,
            k=result.k,
            n_tasks=result.tasks,
            n_runs=result.scored,
            n_missing=result.missing,
            avg_at_k=number(result.avg),
            best_at_k=number(result.best),
        )
        for (agent, category), result in sorted(found.items())
    ]


def task_score_rows(finals: list[FinalScore], categories: Categories) -> list[TaskScoreRow]:
    """avg@k and best@k by agent and task."""
    pairs = sorted({(agent, task) for agent, task, _ in finals})
    return [
        _task_score_row(agent, task, categories[task], outcome([f for f in finals if f[:2] == (agent, task)])[agent])
        for agent, task in pairs
    ]


def _task_score_row(agent: str, task: str, category: str, result: Outcome) -> TaskScoreRow:
    return TaskScoreRow(
        agent=agent,
        task=task,
        category=category,
        k=result.k,
        avg_at_k=number(result.avg),
        best_at_k=number(result.best),
        n_missing=result.missing,
    )


def measure_rows(runs: list[RunAnalysis], measures: Mapping[str, Quantity], categories: Categories) -> list[MeasureRow]:
    """Measures by agent, overall and by category: seeds within a task first, then tasks equally (Appendix C.5)."""
    rows = []
    for name, measure in measures.items():
        values = [(run.record.agent, run.record.task, measure(run)) for run in runs]
        found = {(agent, OVERALL): aggregate for agent, aggregate in two_level(values).items()}
        found |= by_model_and_category(values, categories)
        rows += [
            MeasureRow(
                agent=agent,
                category=category,
                measure=name,
                value=number(aggregate.value),
                n_tasks=aggregate.tasks,
                n_runs=aggregate.runs,
            )
            for (agent, category), aggregate in sorted(found.items())
        ]
    return rows


def category_rows(runs: list[RunAnalysis], categories: Categories) -> list[CategoryRow]:
    """Process measures by category over all agents: tasks equally within the category, then agents equally."""
    return [
        CategoryRow(category=category, measure=name, value=number(value))
        for name, measure in PROCESS.items()
        for category, value in sorted(
            by_category([(run.record.agent, run.record.task, measure(run)) for run in runs], categories).items()
        )
    ]


def resource_rows(runs: list[RunAnalysis], categories: Categories) -> list[ResourceRow]:
    """Use per task and in total by agent, overall and by category (Section 2.3)."""
    rows = []
    for name, amount in RESOURCES.items():
        amounts = [(run.record.agent, run.record.task, amount(run)) for run in runs]
        found = {(agent, OVERALL): use for agent, use in resource(amounts).items()}
        found |= resource_by_category(amounts, categories)
        rows += [
            ResourceRow(
                agent=agent,
                category=category,
                resource=name,
                per_task=number(use.per_task),
                total=number(use.total),
                runs=use.runs,
                unknown=use.unknown,
            )
            for (agent, category), use in sorted(found.items())
        ]
    return rows
