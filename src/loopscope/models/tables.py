"""The tables of a study: one type per kind of row, each column written here and nowhere else.

Analysis fills these rows and derives the Parquet schema from their types; the report checks what it reads against them.
None is missing, never zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from loopscope.models.base import Record

OVERALL = "overall"
"""The category that stands for all of them."""

NOT_VERIFIED = "not_verified"
"""Status of a state that no verifier has seen."""


@dataclass(frozen=True)
class RunRow:
    """`runs.parquet`: one rollout and its measures."""

    run_id: str
    task: str
    category: str
    agent: str
    harness: str
    model: str | None
    seed: int
    status: str
    """How the rollout ended."""
    final_score: float | None
    final_spread: float | None
    final_status: str
    """How the verification behind the final score ended (`VerificationStatus`), or `not_verified`."""
    best_step_score: float | None
    n_commits: int
    n_checkpoints: int
    """Commits that passed the proposal gate."""
    rounds_T: int | None
    duration_sec: float | None
    agent_sec: float | None
    cost_usd: float | None
    tokens: int | None
    tool_calls: int | None
    c1: float | None
    c2: float | None
    c3: float | None
    c2_unobserved_as_zero: float | None
    n_dips: int | None
    build_coverage: float | None
    last_rising: bool | None
    best_observed: float | None
    early_capture: float | None
    later_headroom: float | None
    builds_per_round: float | None
    rounds_with_build_errors: float | None
    peak_retention: float | None
    dip_rate: float | None
    dip_depth: float | None
    recovery_credit: float | None
    gain_density: float | None
    peak_position: float | None
    monotonicity: float | None
    trace_coverage: float | None
    evaluated_before_commit: float | None
    flags: tuple[str, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class CheckpointRow:
    """`checkpoints.parquet`: one commit of a run, as the measures took it."""

    run_id: str
    position: int
    """Among all commits, from 0."""
    canonical_index: int | None
    """Among the canonical checkpoints, from 0; None when the gate removed it."""
    sha: str
    subject: str
    commit_time: datetime | None
    """The agent's claim; ISO 8601 in the file, since zoned columns cannot be read where the zone files are absent."""
    score: float | None
    score_min: float | None
    score_max: float | None
    n_verifications: int
    status: str
    """How the verification behind the score ended (`VerificationStatus`), or `not_verified`."""
    high_water: float | None
    canonical: bool
    initial: bool
    """The clean initial state: a score boundary."""
    ambiguous_initial: bool
    """An initial state that no audit can call clean: no attempt (C2), but an ordinary checkpoint elsewhere."""
    gate_reason: str
    grade: str
    delivered: bool | None
    builds: int | None
    """In the window that ends with the commit; so are the next two."""
    build_failures: int | None
    candidates: int | None
    builds_by_state: int | None
    """On the very artifact that was committed, whenever in the run; so are the next two."""
    build_failures_by_state: int | None
    candidates_by_state: int | None
    is_dip_start: bool
    is_recovery: bool
    dip_episode: int | None


@dataclass(frozen=True)
class DipRow:
    """`dips.parquet`: one dip episode of C3 (Appendix C.4)."""

    run_id: str
    episode: int
    start_sha: str
    low_sha: str
    target_sha: str | None
    """Where it was recovered to; None when nothing was regained."""
    before: float
    low: float
    recovered_to: float | None
    depth: float
    length: int
    rho: float
    credit: float


@dataclass(frozen=True)
class OutcomeRow:
    """`outcome.parquet`: avg@k and best@k of an agent in a category."""

    agent: str
    category: str
    k: int
    n_tasks: int
    n_runs: int
    """Runs with a final score."""
    n_missing: int
    avg_at_k: float | None
    best_at_k: float | None


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
class CategoryRow:
    """`process_by_category.parquet`: a measure in a category, tasks equally within each agent, then agents equally."""

    category: str
    measure: str
    value: float | None


@dataclass(frozen=True)
class ResourceRow:
    """`resources.parquet`: what an agent used of one resource (Section 2.3)."""

    agent: str
    category: str
    resource: str
    """`tokens`, `cost_usd`, `agent_sec` or `tool_calls`."""
    per_task: float | None
    """Mean over rollouts, then over tasks."""
    total: float | None
    """Over the runs whose amount is known."""
    runs: int
    """Runs with a known amount."""
    unknown: int
    """Runs without."""


TABLES: dict[str, type] = {
    "runs": RunRow,
    "checkpoints": CheckpointRow,
    "dips": DipRow,
    "outcome": OutcomeRow,
    "task_scores": TaskScoreRow,
    "process": MeasureRow,
    "process_by_category": CategoryRow,
    "diagnostics": MeasureRow,
    "resources": ResourceRow,
}
"""Every table by the name of its file, `tables/<name>.parquet`, with its kind of row."""


class TaskSummary(Record):
    """A task, for the report's head."""

    name: str
    title: str
    category: str
    timed: bool
    metric: str | None
    baseline: Decimal | None
    reference: Decimal | None


class AgentSummary(Record):
    """An agent, for the report's head."""

    label: str
    harness: str
    model: str | None


class StudySummary(Record):
    """`tables/study.json`: what the tables are about."""

    name: str
    created_by: str
    k: int
    seeds: tuple[int, ...]
    tasks: tuple[TaskSummary, ...]
    agents: tuple[AgentSummary, ...]
    environment: str
    generated_from: dict[str, int]
    """How many records stand behind the tables: planned, runs, scored states."""
    warnings: tuple[str, ...]
