"""The tables of a study, one function each: rows in order, columns typed; equal records give equal bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import polars as pl

from loopscope.analysis.runs import CommitRow, RunAnalysis
from loopscope.measures import (
    Aggregate,
    Outcome,
    Recovery,
    by_model_and_category,
    outcome,
    outcome_by_category,
    two_level,
)
from loopscope.models import VerificationStatus

OVERALL = "overall"
Rows = list[dict[str, Any]]
FinalScores = list[tuple[str, str, Any]]
"""(agent, task, final score or None), one per planned rollout."""

PROCESS: Mapping[str, Callable[[RunAnalysis], Fraction | None]] = {
    "c1": lambda run: run.c1_for_tables,
    "c2": lambda run: run.c2.value,
    "c3": lambda run: run.c3.value,
}
DIAGNOSTICS: Mapping[str, Callable[[RunAnalysis], Fraction | int | None]] = {
    "best_observed": lambda run: run.shape.best_observed,
    "early_capture": lambda run: run.shape.early_capture,
    "later_headroom": lambda run: run.shape.later_headroom,
    "builds_per_round": lambda run: run.build.builds_per_round,
    "rounds_with_build_errors": lambda run: run.build.rounds_with_build_errors,
    "peak_retention": lambda run: run.feedback.peak_retention,
    "dip_rate": lambda run: run.feedback.dip_rate,
    "dip_depth": lambda run: run.feedback.dip_depth,
    "recovery_credit": lambda run: run.feedback.recovery_credit,
    "rounds": lambda run: run.feedback.rounds if run.record.commits else None,
    "gain_density": lambda run: run.shape.gain_density,
    "peak_position": lambda run: run.feedback.peak_position,
    "monotonicity": lambda run: run.feedback.monotonicity,
    "trace_coverage": lambda run: run.build.trace_coverage,
    "last_rising": lambda run: _as_number(run.feedback.last_rising),
    "runs_with_dip": lambda run: _as_number(run.feedback.has_dip),
    "evaluated_before_commit": lambda run: evaluated_before_share(run),
}


def _as_number(answer: bool | None) -> Fraction | None:
    return None if answer is None else Fraction(int(answer))


def number(value: Any) -> float | None:
    """A table's double; None stays None."""
    return None if value is None else float(value)


def evaluated_before_share(run: RunAnalysis) -> Fraction | None:
    """Share of the agent's checkpoints whose state it had evaluated before committing; None where that is unknown."""
    answers = [row.evidence.evaluated_before_commit for row in run.canonical if not row.evidence.initial]
    known = [answer for answer in answers if answer is not None]
    return Fraction(sum(known), len(known)) if known else None


def runs_table(runs: Iterable[RunAnalysis]) -> pl.DataFrame:
    """One row per run."""
    return _frame(RUNS, [_run_row(run) for run in runs])


def _run_row(run: RunAnalysis) -> dict[str, Any]:
    record, usage = run.record, run.record.usage
    return {
        "run_id": record.run_id,
        "task": record.task,
        "category": record.category,
        "agent": record.agent,
        "harness": record.harness,
        "model": record.model,
        "seed": record.seed,
        "status": record.status.value,
        "final_score": number(run.final_value),
        "final_spread": number(run.final.spread if run.final else None),
        "best_step_score": number(
            max((row.score.value for row in run.rows if row.score and row.score.value is not None), default=None)
        ),
        "n_commits": len(record.commits),
        "n_checkpoints": len(run.canonical),
        "rounds_T": run.c3.T,
        "duration_sec": record.timings.total_sec,
        "agent_sec": record.timings.agent_sec,
        "cost_usd": number(usage.cost_usd),
        "tokens": usage.tokens,
        "tool_calls": run.tool_calls,
        "c1": number(run.c1.value),
        "c2": number(run.c2.value),
        "c3": number(run.c3.value),
        "c2_unobserved_as_zero": number(run.c2.unobservable_as_zero),
        "n_dips": run.c3.M,
        "build_coverage": number(run.build.trace_coverage),
        "last_rising": run.feedback.last_rising,
        "flags": run.flags,
        "problems": [f"{p.stage}: {p.message}" for p in record.problems],
    } | {
        name: number(measure(run))
        for name, measure in DIAGNOSTICS.items()
        if name not in ("rounds", "last_rising", "runs_with_dip")
    }


def checkpoints_table(runs: Iterable[RunAnalysis]) -> pl.DataFrame:
    """One row per commit of each run."""
    return _frame(CHECKPOINTS, [row for run in runs for row in _checkpoint_rows(run)])


def _checkpoint_rows(run: RunAnalysis) -> Rows:
    starts = {e.start_index: number for number, e in enumerate(run.c3.episodes)}
    targets = {e.target_index: number for number, e in enumerate(run.c3.episodes) if e.recovery is not Recovery.NONE}
    rows = []
    for position, row in enumerate(run.rows):
        index = row.canonical_index
        in_dip = next(
            (
                i
                for i, e in enumerate(run.c3.episodes)
                if index is not None and e.start_index <= index <= e.target_index
            ),
            None,
        )
        rows.append(
            {
                "run_id": run.record.run_id,
                "position": position,
                "canonical_index": index,
                "sha": row.commit.sha,
                "subject": row.commit.subject[:500],
                "commit_time": row.commit.commit_time.isoformat() if row.commit.commit_time else None,
                "status": _status(row),
                "high_water": number(run.c1.high_water[index]) if index is not None else None,
                "canonical": index is not None,
                "initial": row.evidence.initial,
                "gate_reason": row.evidence.reason,
                "grade": row.evidence.grade.value,
                "delivered": row.evidence.delivered,
                "builds": row.evidence.builds,
                "build_failures": row.evidence.build_failures,
                "candidates": row.evidence.candidates,
                "is_dip_start": index in starts if index is not None else False,
                "is_recovery": index in targets if index is not None else False,
                "dip_episode": in_dip,
            }
            | _score_columns(row)
        )
    return rows


def _score_columns(row: CommitRow) -> dict[str, Any]:
    score = row.score
    rewards = score.rewards if score else ()
    return {
        "score": number(score.value if score else None),
        "score_min": number(rewards[0]) if rewards else None,
        "score_max": number(rewards[-1]) if rewards else None,
        "n_verifications": len(score.verifications) if score else 0,
    }


def _status(row: CommitRow) -> str:
    verification = row.score.median_verification if row.score else None
    return (
        verification.status.value
        if verification
        else "not_verified"
        if row.score is None
        else VerificationStatus.ERROR.value
    )


def dips_table(runs: Iterable[RunAnalysis]) -> pl.DataFrame:
    """One row per dip episode."""
    rows: Rows = []
    for run in runs:
        shas = [row.commit.sha for row in run.canonical]
        for number_, e in enumerate(run.c3.episodes):
            recovered = e.recovery is not Recovery.NONE
            rows.append(
                {
                    "run_id": run.record.run_id,
                    "episode": number_,
                    "start_sha": shas[e.start_index],
                    "low_sha": shas[e.low_index],
                    "target_sha": shas[e.target_index] if recovered else None,
                    "before": number(e.before),
                    "low": number(e.low),
                    "recovered_to": number(e.reached) if recovered else None,
                    "depth": number(e.depth),
                    "length": e.length,
                    "rho": number(e.recovered),
                    "credit": number(e.credit),
                }
            )
    return _frame(DIPS, rows)


def outcome_table(finals: FinalScores, categories: Mapping[str, str]) -> pl.DataFrame:
    """avg@k and best@k by agent, overall and by category."""
    found = {(agent, OVERALL): result for agent, result in outcome(finals).items()}
    found |= outcome_by_category(finals, categories)
    return _frame(
        OUTCOME, [_outcome_row(agent, category, result) for (agent, category), result in sorted(found.items())]
    )


def _outcome_row(agent: str, category: str, result: Outcome) -> dict[str, Any]:
    return {
        "agent": agent,
        "category": category,
        "k": result.k,
        "n_tasks": result.tasks,
        "n_runs": result.scored,
        "n_missing": result.missing,
        "avg_at_k": number(result.avg),
        "best_at_k": number(result.best),
    }


def task_scores_table(finals: FinalScores, categories: Mapping[str, str]) -> pl.DataFrame:
    """avg@k and best@k by agent and task."""
    rows = []
    for agent, task in sorted({(agent, task) for agent, task, _ in finals}):
        result = outcome([row for row in finals if row[:2] == (agent, task)])[agent]
        row = _outcome_row(agent, categories[task], result) | {"task": task}
        rows.append({name: row[name] for name in TASK_SCORES})
    return _frame(TASK_SCORES, rows)


def measures_table(
    runs: list[RunAnalysis],
    measures: Mapping[str, Callable[[RunAnalysis], Fraction | int | None]],
    categories: Mapping[str, str],
) -> pl.DataFrame:
    """Measures by agent, overall and by category: seeds within a task first, then tasks equally (Appendix C.5)."""
    rows = []
    for name, measure in measures.items():
        values = [(run.record.agent, run.record.task, measure(run)) for run in runs]
        found: dict[tuple[str, str], Aggregate] = {(agent, OVERALL): a for agent, a in two_level(values).items()}
        found |= by_model_and_category(values, categories)
        rows += [
            {
                "agent": agent,
                "category": category,
                "measure": name,
                "value": number(aggregate.value),
                "n_tasks": aggregate.tasks,
                "n_runs": aggregate.runs,
            }
            for (agent, category), aggregate in sorted(found.items())
        ]
    return _frame(MEASURES, rows)


def _frame(schema: Mapping[str, Any], rows: Rows) -> pl.DataFrame:
    return pl.DataFrame([[row[name] for name in schema] for row in rows], schema=dict(schema), orient="row")


_TEXT, _REAL, _INT, _BOOL = pl.String, pl.Float64, pl.Int64, pl.Boolean
RUNS: Mapping[str, Any] = (
    dict.fromkeys(("run_id", "task", "category", "agent", "harness", "model"), _TEXT)
    | {"seed": _INT, "status": _TEXT, "final_score": _REAL, "final_spread": _REAL, "best_step_score": _REAL}
    | dict.fromkeys(("n_commits", "n_checkpoints", "rounds_T"), _INT)
    | dict.fromkeys(("duration_sec", "agent_sec", "cost_usd"), _REAL)
    | {"tokens": _INT, "tool_calls": _INT}
    | dict.fromkeys(("c1", "c2", "c3", "c2_unobserved_as_zero"), _REAL)
    | {"n_dips": _INT, "build_coverage": _REAL, "last_rising": _BOOL}
    | dict.fromkeys([name for name in DIAGNOSTICS if name not in ("rounds", "last_rising", "runs_with_dip")], _REAL)
    | {"flags": pl.List(_TEXT), "problems": pl.List(_TEXT)}
)
CHECKPOINTS: Mapping[str, Any] = {
    "run_id": _TEXT,
    "position": _INT,
    "canonical_index": _INT,
    "sha": _TEXT,
    "subject": _TEXT,
    "commit_time": _TEXT,
    "score": _REAL,
    "score_min": _REAL,
    "score_max": _REAL,
    "n_verifications": _INT,
    "status": _TEXT,
    "high_water": _REAL,
    "canonical": _BOOL,
    "initial": _BOOL,
    "gate_reason": _TEXT,
    "grade": _TEXT,
    "delivered": _BOOL,
    "builds": _INT,
    "build_failures": _INT,
    "candidates": _INT,
    "is_dip_start": _BOOL,
    "is_recovery": _BOOL,
    "dip_episode": _INT,
}
DIPS: Mapping[str, Any] = (
    {"run_id": _TEXT, "episode": _INT}
    | dict.fromkeys(("start_sha", "low_sha", "target_sha"), _TEXT)
    | dict.fromkeys(("before", "low", "recovered_to", "depth"), _REAL)
    | {"length": _INT, "rho": _REAL, "credit": _REAL}
)
OUTCOME: Mapping[str, Any] = (
    {"agent": _TEXT, "category": _TEXT}
    | dict.fromkeys(("k", "n_tasks", "n_runs", "n_missing"), _INT)
    | {"avg_at_k": _REAL, "best_at_k": _REAL}
)
MEASURES: Mapping[str, Any] = {
    "agent": _TEXT,
    "category": _TEXT,
    "measure": _TEXT,
    "value": _REAL,
    "n_tasks": _INT,
    "n_runs": _INT,
}
TASK_SCORES: Mapping[str, Any] = {
    "agent": _TEXT,
    "task": _TEXT,
    "category": _TEXT,
    "k": _INT,
    "avg_at_k": _REAL,
    "best_at_k": _REAL,
    "n_missing": _INT,
}
