"""The tables of a study: rows in order, columns typed; equal records give equal tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import polars as pl

from loopscope.analysis.commits import ScoreSource
from loopscope.analysis.finals import Categories, FinalScore
from loopscope.analysis.intervals import figures_of, interval_tables, paired_finals, score_sample, task_ends
from loopscope.analysis.intervals.samples import AVG_AT_K, BEST_AT_K
from loopscope.analysis.parquet import frame
from loopscope.analysis.quantities import DIAGNOSTICS, PROCESS, RESOURCES, Amount, number
from loopscope.analysis.tabled import TabledRun
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
from loopscope.models.interval_rows import PAIRED_AVG
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


def study_tables(
    runs: Sequence[TabledRun], finals: Sequence[FinalScore], categories: Categories
) -> dict[str, pl.DataFrame]:
    """Every table by name.

    Args:
        runs: what was analysed.
        finals: one per planned rollout, those without a record too.
        categories: of every task.
    """
    outcomes, uses = outcome_rows(finals, categories), resource_rows(runs, categories)
    process, diagnostics = (measure_rows(runs, names, categories) for names in (PROCESS, DIAGNOSTICS))
    by_family = category_rows(runs, categories)
    figures = figures_of(outcomes, [*process, *diagnostics], uses, by_family)
    rows: dict[str, Iterable[object]] = {
        "runs": (run.run for run in runs),
        "checkpoints": (row for run in runs for row in run.checkpoints),
        "dips": (row for run in runs for row in run.dips),
        "builds": (row for run in runs for row in run.builds),
        "evaluations": (row for run in runs for row in run.evaluations),
        "outcome": outcomes,
        "task_scores": task_score_rows(finals, categories),
        "process": process,
        "process_by_category": by_family,
        "diagnostics": diagnostics,
        "resources": uses,
        **interval_tables(runs, finals, categories, figures),
    }
    return {name: frame(kind, rows[name]) for name, kind in TABLES.items()}


def outcome_rows(finals: Sequence[FinalScore], categories: Categories) -> list[OutcomeRow]:
    """avg@k and best@k by agent, overall and by category."""
    scores = [(final.agent, final.task, final.value) for final in finals]
    found = {(agent, OVERALL): result for agent, result in outcome(scores).items()}
    found |= outcome_by_category(scores, categories)
    paired = _paired_outcome(finals, categories)
    reconstructed = _counter(_from(finals, ScoreSource.RECONSTRUCTED, categories))
    reported = _counter(_from(finals, ScoreSource.REPORTED, categories))
    missing = _counter((final.agent, categories[final.task]) for final in finals if final.value is None)
    rollouts = Counter((final.agent, final.task) for final in finals)
    common = {name: _common_tasks(finals, categories, name) for name in {category for _, category in found}}
    shared = {name: outcome([row for row in scores if row[1] in tasks]) for name, tasks in common.items()}
    return [
        OutcomeRow(
            agent=agent,
            category=category,
            k=result.k,
            k_min=min(
                count for (a, task), count in rollouts.items() if a == agent and category in (OVERALL, categories[task])
            ),
            n_tasks=result.tasks,
            n_runs=result.scored,
            n_missing=missing(agent, category),
            n_common=len(common[category]),
            n_reconstructed=reconstructed(agent, category),
            n_reported=reported(agent, category),
            avg_at_k=number(result.avg),
            best_at_k=number(result.best),
            common_avg=number(shared[category].get(agent, _NOTHING).avg),
            common_best=number(shared[category].get(agent, _NOTHING).best),
            n_paired=paired.get((agent, category), _NOTHING).scored,
            paired_avg=number(paired.get((agent, category), _NOTHING).avg),
            paired_best=number(paired.get((agent, category), _NOTHING).best),
        )
        for (agent, category), result in sorted(found.items())
    ]


_NOTHING = Outcome(avg=None, best=None, k=0, tasks=0, scored=0, missing=0)


def _paired_outcome(finals: Iterable[FinalScore], categories: Categories) -> dict[tuple[str, str], Outcome]:
    """The same of the paired rewards, over the tasks that are calibrated."""
    scores = [(final.agent, final.task, final.paired) for final in finals if final.paired is not None]
    overall = {(agent, OVERALL): result for agent, result in outcome(scores).items()}
    return overall | outcome_by_category(scores, categories)


def _common_tasks(finals: Iterable[FinalScore], categories: Categories, category: str) -> set[str]:
    """Tasks of a category on which every agent has a score that has one on any of its tasks."""
    by_agent: dict[str, set[str]] = {}
    for final in finals:
        if final.value is not None and category in (OVERALL, categories[final.task]):
            by_agent.setdefault(final.agent, set()).add(final.task)
    return set.intersection(*by_agent.values()) if by_agent else set()


def _from(finals: Iterable[FinalScore], source: ScoreSource, categories: Categories) -> Iterator[tuple[str, str]]:
    return ((final.agent, categories[final.task]) for final in finals if final.source == source)


def _counter(pairs: Iterable[tuple[str, str]]) -> Callable[[str | None, str], int]:
    """How many of the (agent, category) pairs are of an agent (None: of any) and a category or `overall`."""
    found = list(pairs)

    def count(agent: str | None, category: str) -> int:
        return sum(agent in (None, a) and category in (OVERALL, c) for a, c in found)

    return count


def task_score_rows(finals: Sequence[FinalScore], categories: Categories) -> list[TaskScoreRow]:
    """avg@k and best@k by agent and task."""
    grouped: dict[tuple[str, str], list[FinalScore]] = {}
    for final in finals:
        grouped.setdefault((final.agent, final.task), []).append(final)
    ends = task_ends(score_sample(finals, categories))
    paired = task_ends(score_sample(paired_finals(finals), categories))
    ends |= {(agent, task, PAIRED_AVG): found for (agent, task, name), found in paired.items() if name == AVG_AT_K}
    return [_task_score_row(categories[task], of_task, ends) for (_, task), of_task in sorted(grouped.items())]


def _task_score_row(
    category: str, finals: list[FinalScore], ends: Mapping[tuple[str, str, str], tuple[float | None, float | None]]
) -> TaskScoreRow:
    agent, task = finals[0].agent, finals[0].task
    avg_low, avg_high = ends.get((agent, task, AVG_AT_K), (None, None))
    best_low, best_high = ends.get((agent, task, BEST_AT_K), (None, None))
    paired_low, paired_high = ends.get((agent, task, PAIRED_AVG), (None, None))
    result: Outcome = outcome([(final.agent, final.task, final.value) for final in finals])[agent]
    pairs = [(final.agent, final.task, final.paired) for final in finals if final.paired is not None]
    paired: Outcome = outcome(pairs).get(agent, _NOTHING)
    return TaskScoreRow(
        agent=agent,
        task=task,
        category=category,
        k=result.k,
        avg_at_k=number(result.avg),
        best_at_k=number(result.best),
        avg_low=avg_low,
        avg_high=avg_high,
        best_low=best_low,
        best_high=best_high,
        paired_avg=number(paired.avg),
        paired_best=number(paired.best),
        paired_low=paired_low,
        paired_high=paired_high,
        n_missing=result.missing,
        n_reconstructed=sum(final.source == ScoreSource.RECONSTRUCTED for final in finals),
        n_reported=sum(final.source == ScoreSource.REPORTED for final in finals),
    )


def measure_rows(runs: Sequence[TabledRun], measures: Iterable[str], categories: Categories) -> list[MeasureRow]:
    """Measures by agent, overall and by category: seeds within a task first, then tasks equally (Appendix C.5)."""
    rows = []
    for name in measures:
        values = _amounts(runs, name)
        found = {(agent, OVERALL): aggregate for agent, aggregate in two_level(values).items()}
        found |= by_model_and_category(values, categories)
        reconstructed = _counter(_having(runs, name, categories, lambda run: run.reconstructed))
        reported = _counter(_having(runs, name, categories, lambda run: run.final_is_reported))
        rows += [
            MeasureRow(
                agent=agent,
                category=category,
                measure=name,
                value=number(aggregate.value),
                n_tasks=aggregate.tasks,
                n_runs=aggregate.runs,
                n_reconstructed=reconstructed(agent, category),
                n_reported=reported(agent, category),
            )
            for (agent, category), aggregate in sorted(found.items())
        ]
    return rows


def _amounts(runs: Sequence[TabledRun], name: str) -> list[tuple[str, str, Amount]]:
    return [(run.run.agent, run.run.task, run.quantities[name]) for run in runs]


def _having(
    runs: Sequence[TabledRun], name: str, categories: Categories, marked: Callable[[TabledRun], bool]
) -> list[tuple[str, str]]:
    """(agent, category) of the runs with a value that are marked: rest on scores of one source or another."""
    return [
        (run.run.agent, categories[run.run.task]) for run in runs if marked(run) and run.quantities[name] is not None
    ]


def category_rows(runs: Sequence[TabledRun], categories: Categories) -> list[CategoryRow]:
    """Process measures by category over all agents: tasks equally within the category, then agents equally."""
    rows = []
    for name in PROCESS:
        reconstructed = _counter(_having(runs, name, categories, lambda run: run.reconstructed))
        reported = _counter(_having(runs, name, categories, lambda run: run.final_is_reported))
        valid = _counter((r.run.agent, categories[r.run.task]) for r in runs if r.quantities[name] is not None)
        rows += [
            CategoryRow(
                category=category,
                measure=name,
                value=number(value),
                n_runs=valid(None, category),
                n_reconstructed=reconstructed(None, category),
                n_reported=reported(None, category),
            )
            for category, value in sorted(by_category(_amounts(runs, name), categories).items())
        ]
    return rows


def resource_rows(runs: Sequence[TabledRun], categories: Categories) -> list[ResourceRow]:
    """Use per task and in total by agent, overall and by category (Section 2.3)."""
    rows = []
    for name in RESOURCES:
        amounts = _amounts(runs, name)
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
