"""One rollout: a Harbor job, and the run record made of what it left."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from harbor.models.trial.config import AgentConfig, VerifierConfig
from harbor.models.trial.result import TrialResult

from loopscope.engine.harvest import LIMITS, WORKSPACE, LimitsFile
from loopscope.engine.jobs import TrialOutcome, between, remove_scratch, run_trial, seconds
from loopscope.engine.lock import machine
from loopscope.engine.plan import Plan, RunPlan, versions
from loopscope.engine.reading import read_repository
from loopscope.models import LimitState, PreparedTask, Problem, RunRecord, RunStatus, Timings, Usage
from loopscope.records import publish, read_model, scratch_name, write_bytes, write_model
from loopscope.records.workspace import compress
from loopscope.tasks.prepare import prepared_dir

HARVEST = "loopscope.engine.harvest:HarvestVerifier"
MAX_NATIVE_BYTES = 1 << 30
TOO_LARGE = "TransferTooLarge"
"""The agent left more than is taken out. Its own doing: trying again would cost the same."""
_NOT_STARTED = "environment"


@dataclass(frozen=True)
class Ending:
    """How the trial ended, in our words."""

    status: RunStatus
    problem: Problem | None


def baseline_path(plan: Plan, task: PreparedTask) -> Path:
    """The untouched workspace of a task, as its environment makes it."""
    return plan.store.path / "tasks" / f"{task.info.name}.baseline.tar.zst"


async def make_baseline(plan: Plan, task: PreparedTask) -> Problem | None:
    """Bring the untouched workspace out of a fresh sandbox, once per study; the reason when that is impossible."""
    target = baseline_path(plan, task)
    if target.is_file():
        return None
    scratch = scratch_name(plan.store.path / "baseline")
    try:
        outcome = await run_trial(
            scratch,
            name="baseline",
            task_dir=prepared_dir(plan.store.path, task.info.name),
            agent=AgentConfig(name="nop"),
            environment=plan.spec.environment,
            verifier=_harvester(task),
        )
        if outcome.failure is None and outcome.trial_dir and (tar := outcome.trial_dir / WORKSPACE).is_file():
            packed = scratch_name(target)
            await asyncio.to_thread(compress, tar, packed)
            publish(packed, target)
            return None
        kind, message = outcome.failure or ("NoWorkspace", "the environment left no workspace")
        write_bytes(target.with_name(f"{task.info.name}.baseline-problem.txt"), outcome.details.encode())
        return Problem(kind=kind, stage=_NOT_STARTED, message=message)
    finally:
        remove_scratch(scratch)


def _harvester(task: PreparedTask) -> VerifierConfig:
    return VerifierConfig(import_path=HARVEST, kwargs={"workdir": task.info.workdir}, override_timeout_sec=3600)


async def run_rollout(plan: Plan, run: RunPlan) -> RunRecord:
    """Run one agent on one task with one seed and publish its run directory.

    Raises only for faults of this machine (disk full) and on cancellation; what goes wrong in the trial is recorded.
    """
    scratch = scratch_name(plan.store.path / run.run_id)
    started = datetime.now(UTC)
    try:
        async with machine(alone=False):
            outcome = await run_trial(
                scratch,
                name="rollout",
                task_dir=prepared_dir(plan.store.path, run.task.info.name),
                agent=_agent_config(plan, run),
                environment=plan.spec.environment,
                verifier=_harvester(run.task),
            )
        return await asyncio.to_thread(_publish_run, plan, run, outcome, started)
    finally:
        remove_scratch(scratch)


def publish_failure(plan: Plan, run: RunPlan, problem: Problem) -> RunRecord:
    """Record a rollout that could not start."""
    outcome = TrialOutcome(None, None, (problem.kind, problem.message))
    return _publish_run(plan, run, outcome, datetime.now(UTC))


def _agent_config(plan: Plan, run: RunPlan) -> AgentConfig:
    kwargs = dict(run.agent.kwargs)
    if run.kind.takes_seed:
        kwargs = {"seed": run.seed, "budget_sec": run.budget_sec} | kwargs
    if run.agent.name == "oracle":
        kwargs["task_dir"] = str(prepared_dir(plan.store.path, run.task.info.name))
    return AgentConfig(
        name=run.kind.harbor_name,
        import_path=run.kind.import_path,
        model_name=run.agent.model,
        kwargs=kwargs,
        env={key: os.path.expandvars(value) for key, value in run.agent.env.items()},
        extra_allowed_hosts=run.agent.allowed_hosts,
        override_timeout_sec=run.budget_sec,
    )


def _publish_run(plan: Plan, run: RunPlan, outcome: TrialOutcome, started: datetime) -> RunRecord:
    target = plan.store.run(run.run_id).path
    folder = scratch_name(target)
    folder.mkdir(parents=True)
    try:
        harvest_started = datetime.now(UTC)
        problems = []
        ending = _ending(outcome)
        if ending.problem:
            problems.append(ending.problem)
        _keep_logs(outcome, folder)
        tar = outcome.trial_dir / WORKSPACE if outcome.trial_dir else None
        status = ending.status
        if tar is not None and tar.is_file():
            compress(tar, folder / "workspace.tar.zst")
        elif status is not RunStatus.ENVIRONMENT_ERROR and not any(p.kind == "workspace_too_large" for p in problems):
            status = RunStatus.ENVIRONMENT_ERROR
            problems.append(
                _problem("no_workspace", "harvest", "the workspace could not be brought out of the sandbox")
            )
        found = read_repository(folder, baseline_path(plan, run.task), run.task)
        finished = datetime.now(UTC)
        record = RunRecord(
            run_id=run.run_id,
            study=plan.spec.name,
            task=run.task.info.name,
            task_hash=run.task.content_hash,
            category=run.task.info.category,
            agent=run.agent.label,
            harness=_harness(run, outcome.result),
            model=run.agent.model,
            seed=run.seed,
            status=status,
            problems=(*problems, *found.problems),
            started_at=started,
            finished_at=finished,
            timings=_timings(outcome.result, started, harvest_started, finished),
            budget_sec=run.budget_sec,
            environment=plan.spec.environment.type,
            limits=_limits(outcome.trial_dir),
            usage=_usage(run, outcome.result),
            commits=found.commits,
            clean_initial=found.clean_initial,
            head=found.head,
            uncommitted=found.uncommitted,
            has_transcript=(folder / "transcript.json").is_file(),
            versions=versions(),
        )
        write_model(folder / "record.json", record)
        publish(folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return record


def _problem(kind: str, stage: str, message: str) -> Problem:
    return Problem(kind=kind, stage=stage, message=" ".join(message.split())[:2000])


def _ending(outcome: TrialOutcome) -> Ending:
    failure, result = outcome.failure, outcome.result
    if failure is None:
        return Ending(RunStatus.COMPLETED, None)
    kind, message = failure
    if kind == "AgentTimeoutError":
        return Ending(RunStatus.DEADLINE, None)
    if result is None or (result.agent_setup is None and result.agent_execution is None):
        return Ending(RunStatus.ENVIRONMENT_ERROR, _problem(kind, _NOT_STARTED, message))
    if kind == TOO_LARGE:
        return Ending(RunStatus.AGENT_ERROR, _problem("workspace_too_large", "harvest", message))
    return Ending(RunStatus.AGENT_ERROR, _problem(kind, "agent", message))


def _harness(run: RunPlan, result: TrialResult | None) -> str:
    info = result.agent_info if result else None
    return f"{info.name} {info.version}" if info else run.agent.name


def _timings(result: TrialResult | None, started: datetime, harvest: datetime, finished: datetime) -> Timings:
    return Timings(
        environment_sec=seconds(result.environment_setup) if result else None,
        agent_sec=seconds(result.agent_execution) if result else None,
        harvest_sec=between(harvest, finished),
        total_sec=between(started, finished),
    )


def _limits(trial_dir: Path | None) -> dict[str, LimitState]:
    path = trial_dir / LIMITS if trial_dir else None
    return read_model(path, LimitsFile).limits if path and path.is_file() else {}


def _usage(run: RunPlan, result: TrialResult | None) -> Usage:
    if not run.kind.needs_model and run.agent.model is None:
        zero = {"input_uncached": 0, "cache_read": 0, "cache_write": 0, "output": 0}
        return Usage(**zero, cost_usd=Decimal(0), source="none")
    context = result.agent_result if result else None
    if context is None or context.n_input_tokens is None:
        return Usage(source="agent")
    cached = context.n_cache_tokens
    return Usage(
        input_uncached=context.n_input_tokens - (cached or 0),
        cache_read=cached,
        output=context.n_output_tokens,
        cost_usd=None if context.cost_usd is None else Decimal(repr(context.cost_usd)),
        source="agent",
    )


def _keep_logs(outcome: TrialOutcome, folder: Path) -> None:
    """The agent's own logs and Harbor's, plain files only: links and pipes in them are the agent's."""
    trial = outcome.trial_dir
    if trial is None:
        return
    left = MAX_NATIVE_BYTES
    for root, _, names in os.walk(trial / "agent"):
        for name in sorted(names):
            source = Path(root) / name
            if source.is_symlink() or not source.is_file() or (size := source.stat().st_size) > left:
                continue
            left -= size
            target = folder / "native" / source.relative_to(trial / "agent")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target, follow_symlinks=False)
    for name in ("result.json", "trial.log", "config.json", "exception.txt"):
        if (trial / name).is_file():
            (folder / "harbor").mkdir(exist_ok=True)
            shutil.copyfile(trial / name, folder / "harbor" / name)
    transcript = folder / "native" / "trajectory.json"
    if transcript.is_file():
        transcript.rename(folder / "transcript.json")
