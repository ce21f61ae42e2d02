"""Rows of the tables that tell of agents over many runs. Columns are described as in `run_rows.py`."""

from __future__ import annotations

from dataclasses import dataclass

OVERALL = "overall"
"""The category that stands for all of them."""


@dataclass(frozen=True)
class OutcomeRow:
    """`outcome.parquet`: avg@k and best@k of an agent in a category. By agent, then category."""

    agent: str
    """Label of the agent."""
    category: str
    """The family, or `overall`."""
    k: int
    """Rollouts per task: the largest number that any task has. [count; 2.2]"""
    k_min: int
    """The smallest. [count; 2.2]"""
    n_tasks: int
    """Tasks with at least one scored rollout. [count; ]"""
    n_runs: int
    """Runs with a final score. [count; ]"""
    n_missing: int
    """Rollouts, planned or done, without a final score. [count; ]"""
    n_common: int
    """Tasks on which all agents with a score in the category have one; below `n_tasks`: no comparison. [count; ]"""
    n_reconstructed: int
    """Runs among `n_runs` whose final score is reconstructed and no official one. [count; metrics]"""
    n_reported: int
    """Those whose final score is no official one, but reported by the imported log. [count; metrics]"""
    avg_at_k: float | None
    """Mean over tasks of the mean final score. [reward; 2.2]"""
    best_at_k: float | None
    """Mean over tasks of the best final score. [reward; 2.2]"""
    common_avg: float | None
    """`avg_at_k` over the `n_common` tasks alone; None where there is none. [reward; 2.2]"""
    common_best: float | None
    """`best_at_k` over them. [reward; 2.2]"""
    n_paired: int
    """Runs with a paired reward (`runs.final_paired`). [count; calibration]"""
    paired_avg: float | None
    """`avg_at_k` of the paired rewards, over the calibrated tasks alone; None where there is none.
    [reward; calibration]"""
    paired_best: float | None
    """`best_at_k` of them. [reward; calibration]"""


@dataclass(frozen=True)
class TaskScoreRow:
    """`task_scores.parquet`: avg@k and best@k of an agent on a task. By agent, then task."""

    agent: str
    """Label of the agent."""
    task: str
    """Name of the task."""
    category: str
    """The task's family."""
    k: int
    """Rollouts. [count; 2.2]"""
    avg_at_k: float | None
    """Mean final score. [reward; 2.2]"""
    best_at_k: float | None
    """Best final score. [reward; 2.2]"""
    avg_low: float | None
    """Of avg@k on just this task with other seeds; None, like `avg_high`, with one score, which tells no spread.
    [reward; statistics]"""
    avg_high: float | None
    """The other end. [reward; statistics]"""
    best_low: float | None
    """Of best@k, likewise: the best of as many as have a score. [reward; statistics]"""
    best_high: float | None
    """The other end. [reward; statistics]"""
    paired_avg: float | None
    """Mean paired reward (`runs.final_paired`); None where the task is not calibrated. [reward; calibration]"""
    paired_best: float | None
    """Best paired reward. [reward; calibration]"""
    paired_low: float | None
    """Of `paired_avg`, as `avg_low` is of avg@k; None, like `paired_high`, with one paired reward. [reward;
    statistics]"""
    paired_high: float | None
    """The other end. [reward; statistics]"""
    n_missing: int
    """Rollouts without a final score. [count; ]"""
    n_reconstructed: int
    """Runs whose final score is reconstructed and no official one. [count; metrics]"""
    n_reported: int
    """Those whose final score is no official one, but reported by the imported log. [count; metrics]"""


@dataclass(frozen=True)
class MeasureRow:
    """`process.parquet` and `diagnostics.parquet`: one measure of an agent in a category, seeds within tasks first."""

    agent: str
    """Label of the agent."""
    category: str
    """The family, or `overall`."""
    measure: str
    """A column of `runs` (C1 without the literal 0 of a run that was never scored), `rounds` (T) or `runs_with_dip`."""
    value: float | None
    """Mean over tasks of the mean over the task's valid runs. [the measure's; C.5]"""
    n_tasks: int
    """Tasks in the mean. [count; ]"""
    n_runs: int
    """Runs with a value. [count; ]"""
    n_reconstructed: int
    """Runs among `n_runs` whose scores are reconstructed, in part or all. [count; metrics]"""
    n_reported: int
    """Runs among `n_runs` whose final score is reported by the imported log. [count; metrics]"""


@dataclass(frozen=True)
class CategoryRow:
    """`process_by_category.parquet`: a measure in a category, tasks equally within each agent, then agents equally."""

    category: str
    """The family."""
    measure: str
    """`c1`, `c2` or `c3`."""
    value: float | None
    """Mean over the agents with a value. [share; C.5]"""
    n_runs: int
    """Runs with a value. [count; ]"""
    n_reconstructed: int
    """Runs among `n_runs` whose scores are reconstructed, in part or all. [count; metrics]"""
    n_reported: int
    """Runs among `n_runs` whose final score is reported by the imported log. [count; metrics]"""


@dataclass(frozen=True)
class ResourceRow:
    """`resources.parquet`: what an agent used of one resource. By resource, agent, then category."""

    agent: str
    """Label of the agent."""
    category: str
    """The family, or `overall`."""
    resource: str
    """`tokens`, `cost_usd`, `priced_usd`, `priced_full_usd`, `agent_sec` or `tool_calls`."""
    per_task: float | None
    """Mean over rollouts, then over tasks; unknown amounts are left out. [the resource's; 2.3]"""
    total: float | None
    """Over the runs whose amount is known. [the resource's; 2.3]"""
    runs: int
    """Runs with a known amount. [count; ]"""
    unknown: int
    """Runs without. [count; ]"""
