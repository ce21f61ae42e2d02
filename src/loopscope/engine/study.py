"""A whole study: baselines, rollouts, scores. Stops cleanly at any moment and goes on where it was."""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import dataclass

from loopscope.engine.events import Event, Notify, Phase
from loopscope.engine.plan import Plan, RunPlan
from loopscope.engine.rollout import make_baseline, publish_failure, run_rollout
from loopscope.engine.scoring import Scorer, Tally
from loopscope.models import Problem, RunRecord, RunStatus
from loopscope.records import is_machine_fault


@dataclass(frozen=True)
class StudyResult:
    """What `run_study` did."""

    rollouts: int
    """Rollouts done now."""
    tally: Tally | None


async def run_study(plan: Plan, notify: Notify, *, score: bool = True) -> StudyResult:
    """Run what is unfinished, then score what is unscored.

    One rollout that fails costs only itself. On cancellation everything finished is on disk; calling again does
    the rest.
    """
    todo = plan.unfinished()
    broken = await _baselines(plan, todo, notify)
    await _rollouts(plan, todo, broken, notify)
    tally = await Scorer(plan.store, plan.spec, notify).score_all() if score else None
    return StudyResult(len(todo), tally)


async def _baselines(plan: Plan, todo: list[RunPlan], notify: Notify) -> dict[str, Problem]:
    tasks = {run.task.info.name: run.task for run in todo}
    problems = {}
    for done, (name, task) in enumerate(tasks.items()):
        notify(Event(Phase.PREPARE, done, len(tasks), name))
        problem = await make_baseline(plan, task)
        if problem is not None:
            problems[name] = problem
        message = f"{name}: {problem.message}" if problem else name
        notify(Event(Phase.PREPARE, done + 1, len(tasks), message, problem=problem is not None))
    return problems


async def _rollouts(plan: Plan, todo: list[RunPlan], broken: dict[str, Problem], notify: Notify) -> None:
    done = len(plan.runs) - len(todo)
    slots = asyncio.Semaphore(plan.spec.concurrency)
    notify(Event(Phase.ROLLOUT, done, len(plan.runs), "rollouts"))

    async def one(run: RunPlan) -> None:
        nonlocal done
        async with slots:
            problem = broken.get(run.task.info.name)
            record = publish_failure(plan, run, problem) if problem else await _rollout(plan, run)
        done += 1
        bad = record.status in (RunStatus.ENVIRONMENT_ERROR, RunStatus.AGENT_ERROR)
        notify(Event(Phase.ROLLOUT, done, len(plan.runs), _shown(record), problem=bad))

    async with asyncio.TaskGroup() as group:
        for run in todo:
            group.create_task(one(run))


async def _rollout(plan: Plan, run: RunPlan) -> RunRecord:
    """One rollout, whose faults stay its own. A fault of the machine stops the study: every other run would meet it."""
    try:
        return await run_rollout(plan, run)
    except Exception as error:  # our own bug, or data that found a way: it costs this run, and says where
        if is_machine_fault(error):
            raise
        details = "".join(traceback.format_exception(error))
        return publish_failure(plan, run, Problem(kind=type(error).__name__, stage="harvest", message=details[-1500:]))


def _shown(record: RunRecord) -> str:
    text = f"{record.run_id}: {record.status.value.replace('_', ' ')}, {len(record.commits)} commits"
    first = next((p for p in record.problems if p.stage in ("environment", "agent", "harvest")), None)
    return f"{text} ({first.message})" if first and record.status is not RunStatus.COMPLETED else text
