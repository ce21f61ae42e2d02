"""One rollout: a Harbor job, and then its run directory; and the untouched workspace of each task."""

from __future__ import annotations

import tarfile
from pathlib import Path

import zstandard
from harbor.models.trial.config import AgentConfig, VerifierConfig
from harbor.utils.env import resolve_env_vars

from loopscope.engine.clock import Stopwatch
from loopscope.engine.collecting import Try
from loopscope.engine.ending import Redactor, problem
from loopscope.engine.harvest import LIMITS, MAX_WORKSPACE_BYTES, WORKSPACE
from loopscope.engine.jobs import run_trial, to_its_end
from loopscope.engine.kinds import NOT_STARTED
from loopscope.engine.lock import Tell, machine, nobody
from loopscope.engine.plan import Plan, RunPlan
from loopscope.engine.recording import publish_failure, publish_run
from loopscope.models import EnvironmentSpec, PreparedTask, Problem, RunRecord
from loopscope.records import publish, remove_tree, scratch_name, write_bytes
from loopscope.records.workspace import compress, list_workspace
from loopscope.sandbox.export import ExportOnStop
from loopscope.tasks.prepare import prepared_dir

HARVEST = "loopscope.engine.harvest:HarvestVerifier"

__all__ = ["make_baseline", "publish_failure", "run_rollout"]


async def make_baseline(plan: Plan, task: PreparedTask, tell: Tell = nobody) -> Problem | None:
    """Bring the untouched workspace out of a fresh sandbox, once per study; the reason when that is impossible."""
    target = plan.store.baseline(task.info.name)
    if await to_its_end(_is_whole, target):
        return None
    scratch = scratch_name(plan.store.path / "baseline")
    tar = scratch / WORKSPACE
    try:
        async with machine(alone=False, tell=tell):
            outcome = await run_trial(
                scratch,
                name="baseline",
                task_dir=prepared_dir(plan.store.path, task.info.name),
                agent=AgentConfig(name="nop"),
                environment=plan.spec.environment,
                verifier=_harvester(task, tar),
            )
        if outcome.failure is None and tar.is_file():
            packed = scratch_name(target)
            await to_its_end(compress, tar, packed)
            publish(packed, target)
            return None
        kind, message = outcome.failure or ("NoWorkspace", "the environment left no workspace")
        write_bytes(target.with_name(f"{task.info.name}.baseline-problem.txt"), outcome.details.encode())
        return problem(kind, NOT_STARTED, message)
    finally:
        await to_its_end(remove_tree, scratch)


def _is_whole(archive: Path) -> bool:
    """Whether a baseline is there and can be read to its end; a torn one is made again."""
    try:
        list_workspace(archive)
    except (OSError, tarfile.TarError, zstandard.ZstdError):
        return False
    return True


def _harvester(task: PreparedTask, file: Path) -> VerifierConfig:
    kwargs = {"workdir": task.info.workdir, "file": str(file)}
    return VerifierConfig(import_path=HARVEST, kwargs=kwargs, override_timeout_sec=3600)


def _exporting(spec: EnvironmentSpec, task: PreparedTask, file: Path) -> EnvironmentSpec:
    """Our sandbox brings the workspace out when it stops, should Harbor never come to call the harvester.

    An agent can make Harbor fail after its end (a transcript that is no text, say); a run that it lost that way would
    be tried again until the agent liked the result.
    """
    if spec.type != "local":
        return spec
    export = ExportOnStop(
        path=task.info.workdir, file=file, max_bytes=MAX_WORKSPACE_BYTES, limits=file.with_name(LIMITS)
    )
    return spec.model_copy(update={"kwargs": spec.kwargs | {"export_on_stop": export.model_dump(mode="json")}})


async def run_rollout(plan: Plan, run: RunPlan, tell: Tell = nobody, storage_mb: int | None = None) -> RunRecord:
    """Run one agent on one task with one seed and publish its run directory.

    `tell` hears of a long wait for the machine; `storage_mb`: what our sandbox may write, in the place of the task's.

    Raises only for faults of this machine (disk full) and on cancellation; what goes wrong in the trial is recorded.
    """
    agent = _agent_config(plan, run)
    scratch = scratch_name(plan.store.path / run.run_id)
    tar = scratch / WORKSPACE
    watch = Stopwatch()
    try:
        async with machine(alone=False, tell=tell):
            outcome = await run_trial(
                scratch,
                name="rollout",
                task_dir=prepared_dir(plan.store.path, run.task.info.name),
                agent=agent,
                environment=_exporting(plan.spec.environment, run.task, tar),
                verifier=_harvester(run.task, tar),
                storage_mb=storage_mb if plan.spec.environment.type == "local" else None,
            )
        redact = Redactor(list(resolve_env_vars(agent.env).values()))
        return await to_its_end(publish_run, Try(plan, run, outcome, tar, watch, redact))
    finally:
        await to_its_end(remove_tree, scratch)


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
