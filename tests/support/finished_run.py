"""Run directories as the engine publishes them, without running anything: for tests of plans, changes and status."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from loopscope.engine.plan import Plan, RunPlan
from loopscope.models import Problem, RunRecord, RunStatus, Timings, UnitFile, Usage
from loopscope.records import RunDir, write_model
from loopscope.records.manifest import UNIT, write_manifest

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MARK = "native/mark.txt"
"""A file of each run, for telling whose directory was moved where."""


def failure(kind: str, stage: str, message: str = "it failed") -> Problem:
    return Problem(kind=kind, stage=stage, message=message)


def record_of(run: RunPlan, status: RunStatus = RunStatus.COMPLETED, **more: Any) -> RunRecord:
    """The record of a rollout that ended so."""
    values = {
        "run_id": run.run_id,
        "unit": run.unit.digest,
        "study": "s",
        "task": run.task.info.name,
        "task_hash": run.task.content_hash,
        "category": run.task.info.category,
        "agent": run.agent.label,
        "harness": run.unit.harness or "scripted 1",
        "seed": run.seed,
        "status": status,
        "started_at": NOON,
        "finished_at": NOON,
        "timings": Timings(agent_sec=5, total_sec=6),
        "budget_sec": run.budget_sec,
        "environment": "local",
        "usage": Usage(input_uncached=0, output=0, cost_usd=Decimal(0)),
        **more,
    }
    return RunRecord.model_validate(values)


def finish(plan: Plan, run: RunPlan, status: RunStatus = RunStatus.COMPLETED, mark: str = "", **more: Any) -> RunDir:
    """Publish the directory of one rollout."""
    found = plan.store.run(run.run_id)
    (found.path / "native").mkdir(parents=True)
    (found.path / MARK).write_text(mark or run.unit.digest)
    write_model(found.path / UNIT, UnitFile(unit=run.unit))
    write_model(found.path / "record.json", record_of(run, status, **more))
    write_manifest(found.path, {})
    return found


def finish_all(plan: Plan) -> None:
    """Publish every rollout that is to be done."""
    for run in plan.unfinished():
        finish(plan, run)


def marks(folder: Path) -> dict[str, str]:
    """By directory: which unit's files lie in it."""
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return {path.name: (path / MARK).read_text() for path in found if (path / MARK).is_file()}
