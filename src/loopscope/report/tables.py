"""The tables of a study as rows of frozen types: what analysis writes and this room reads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class _Loose(BaseModel):
    """Part of `study.json`; fields this room does not show are let through."""

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)


class TaskEntry(_Loose):
    """A task of the study."""

    name: str
    title: str = ""
    category: str
    timed: bool = False
    metric: str | None = None
    baseline: str | None = None
    reference: str | None = None


class AgentEntry(_Loose):
    """An agent of the study."""

    label: str
    harness: str | None = None
    model: str | None = None


class StudyInfo(_Loose):
    """`tables/study.json`."""

    name: str
    created_by: str = ""
    k: int
    seeds: tuple[int, ...] = ()
    tasks: tuple[TaskEntry, ...]
    agents: tuple[AgentEntry, ...]
    environment: str | None = None
    generated_from: Any = None
    warnings: tuple[str, ...] = Field(default=())


@dataclass(frozen=True)
class RunRow:
    """`runs.parquet`: one rollout and its measures. None is missing."""

    run_id: str
    task: str
    category: str
    agent: str
    harness: str | None
    model: str | None
    seed: int
    status: str
    final_score: float | None
    final_spread: float | None
    best_step_score: float | None
    n_commits: int
    n_checkpoints: int
    rounds_T: int | None
    duration_sec: float | None
    agent_sec: float | None
    cost_usd: float | None
    tokens: float | None
    tool_calls: float | None
    c1: float | None
    c2: float | None
    c3: float | None
    c2_unobserved_as_zero: float | None
    peak_retention: float | None
    dip_rate: float | None
    dip_depth: float | None
    recovery_credit: float | None
    n_dips: int | None
    best_observed: float | None
    early_capture: float | None
    later_headroom: float | None
    builds_per_round: float | None
    rounds_with_build_errors: float | None
    build_coverage: float | None
    gain_density: float | None
    peak_position: float | None
    monotonicity: float | None
    trace_coverage: float | None
    last_rising: bool | None
    flags: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class CheckpointRow:
    """`checkpoints.parquet`: one commit of a run, as the measures took it."""

    run_id: str
    position: int
    canonical_index: int | None
    sha: str
    subject: str
    commit_time: datetime | None
    score: float | None
    score_min: float | None
    score_max: float | None
    n_verifications: int | None
    status: str | None
    high_water: float | None
    canonical: bool
    initial: bool
    gate_reason: str | None
    grade: str | None
    delivered: bool | None
    builds: int | None
    build_failures: int | None
    candidates: int | None
    is_dip_start: bool | None
    is_recovery: bool | None
    dip_episode: int | None


@dataclass(frozen=True)
class DipRow:
    """`dips.parquet`: one dip episode of C3."""

    run_id: str
    episode: int
    start_sha: str | None
    low_sha: str | None
    target_sha: str | None
    before: float
    low: float
    recovered_to: float | None
    depth: float | None
    length: float | None
    rho: float | None
    credit: float | None


@dataclass(frozen=True)
class OutcomeRow:
    """`outcome.parquet`: avg@k and best@k of an agent in a category."""

    agent: str
    category: str
    k: int
    n_tasks: int
    n_runs: int
    n_missing: int
    avg_at_k: float | None
    best_at_k: float | None


@dataclass(frozen=True)
class MeasureRow:
    """`process.parquet` and `diagnostics.parquet`: one measure of an agent in a category."""

    agent: str
    category: str
    measure: str
    value: float | None
    n_tasks: int
    n_runs: int


@dataclass(frozen=True)
class TaskScoreRow:
    """`task_scores.parquet`: avg@k and best@k of an agent on a task."""

    agent: str
    task: str
    category: str
    k: int
    avg_at_k: float | None
    best_at_k: float | None
    n_missing: int
