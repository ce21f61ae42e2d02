"""One rollout: a Harbor job, and then its run directory; and the untouched workspace of each task."""

from __future__ import annotations

from datetime import UTC, datetime

from harbor.models.trial.config import AgentConfig, VerifierConfig
from harbor.utils.env import resolve_env_vars

from loopscope.engine.harvest import WORKSPACE
from loopscope.engine.jobs import run_trial, to_its_end
from loopscope.engine.lock import machine
from loopscope.engine.plan import Plan, RunPlan
from loopscope.engine.recording import NOT_STARTED, baseline_path, problem, publish_failure, publish_run
from loopscope.models import PreparedTask, Problem, RunRecord
from loopscope.records import publish, remove_tree, scratch_name, write_bytes
from loopscope.records.workspace import compress
from loopscope.tasks.prepare import prepared_dir

HARVEST = "loopscope.engine.harvest:HarvestVerifier"

__all__ = ["make_baseline", "publish_failure", "run_rollout"]


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
            await to_its_end(compress, tar, packed)
            publish(packed, target)
            return None
        kind, message = outcome.failure or ("NoWorkspace", "the environment left no workspace")
        write_bytes(target.with_name(f"{task.info.name}.baseline-problem.txt"), outcome.details.encode())
        return problem(kind, NOT_STARTED, message)
    finally:
        remove_tree(scratch)


def _harvester(task: PreparedTask) -> VerifierConfig:
    return VerifierConfig(import_path=HARVEST, kwargs={"workdir": task.info.workdir}, override_timeout_sec=3600)


async def run_rollout(plan: Plan, run: RunPlan) -> RunRecord:
    """Run one agent on one task with one seed and publish its run directory.

    Raises only for faults of this machine (disk full) and on cancellation; what goes wrong in the trial is recorded.
    """
    agent = _agent_config(plan, run)
    scratch = scratch_name(plan.store.path / run.run_id)
    started = datetime.now(UTC)
    try:
        async with machine(alone=False):
            outcome = await run_trial(
                scratch,
                name="rollout",
                task_dir=prepared_dir(plan.store.path, run.task.info.name),
                agent=agent,
                environment=plan.spec.environment,
                verifier=_harvester(run.task),
            )
        return await to_its_end(publish_run, plan, run, outcome, started, resolve_env_vars(agent.env).values())
    finally:
        remove_tree(scratch)


def _agent_config(plan: Plan, run: RunPlan) -> AgentConfig:
    own = {
        "seed": run.seed,
        "budget_sec": run.budget_sec,
        "task_dir": str(prepared_dir(plan.store.path, run.task.info.name)),
    }
    return AgentConfig(
        name=run.kind.harbor_name,
        import_path=run.kind.import_path,
        model_name=run.agent.model,
        kwargs=run.agent.kwargs | {name: own[name] for name in run.kind.given},
        env=run.agent.env,  # references stay references in everything Harbor writes; it resolves them itself
        extra_allowed_hosts=run.agent.allowed_hosts,
        override_timeout_sec=run.budget_sec,
    )
