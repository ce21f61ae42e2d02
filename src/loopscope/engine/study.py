"""A whole study: baselines, rollouts, scores. Stops cleanly at any moment and goes on where it was."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from functools import partial

from loopscope.engine.events import Event, Notify, Phase
from loopscope.engine.inflight import InFlight
from loopscope.engine.kinds import main_problem
from loopscope.engine.lock import Tell
from loopscope.engine.needs import Need, Needs
from loopscope.engine.plan import Plan, RunPlan
from loopscope.engine.providers import answer_of
from loopscope.engine.rollout import make_baseline, publish_failure, run_rollout
from loopscope.engine.scheduler import Job, Scheduler
from loopscope.engine.scoring import Scorer, Tally
from loopscope.engine.temporary import temporaries_in
from loopscope.engine.turns import fair_order
from loopscope.models import Problem, RunRecord, RunStatus
from loopscope.models.limits import limits_met
from loopscope.records import is_machine_fault
from loopscope.records.studyfile import NoRoomError


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

    Raises:
        NoRoomError: the disk has no room for some units; everything else was done first.
    """
    todo = plan.unfinished()
    short: NoRoomError | None = None
    with InFlight(plan.store.path) as flight, temporaries_in(plan.store.path):
        fitting, short = _fitting(plan, todo, notify)
        broken = await _baselines(plan, fitting, notify)
        try:
            await _rollouts(plan, fitting, broken, flight, notify)
        except NoRoomError as error:
            short = error
        flight.scores()
        tally = await Scorer(plan.store, plan.spec, notify).score_all() if score else None
    if short is not None:
        raise short
    return StudyResult(len(todo), tally)


def _fitting(plan: Plan, todo: list[RunPlan], notify: Notify) -> tuple[list[RunPlan], NoRoomError | None]:
    """Those that the disk has room for, and what the others lack. Before anything is made: a baseline takes a sandbox
    too, and one that failed would fail every rollout.

    Raises:
        NoRoomError: there is no room for a single one.
    """
    needs = Needs(plan.store.path, plan.spec)
    capacity = needs.capacity()
    wanted = {run.run_id: needs.rollout(run.task.info.name, run.agent, run.kind) for run in todo}
    lacking = {run_id: need for run_id, need in wanted.items() if not capacity.fits(need, ())}
    if not lacking:
        return todo, None
    short = capacity.shortage(list(lacking.values()))
    if len(lacking) == len(todo):
        raise short
    notify(Event(Phase.PREPARE, 0, 0, str(short), problem=True))
    return [run for run in todo if run.run_id not in lacking], short


async def _baselines(plan: Plan, todo: list[RunPlan], notify: Notify) -> dict[str, Problem]:
    tasks = {run.task.info.name: run.task for run in todo}
    problems = {}
    for done, (name, task) in enumerate(tasks.items()):
        notify(Event(Phase.PREPARE, done, len(tasks), name))
        problem = await make_baseline(plan, task, partial(_tell, notify, Phase.PREPARE, done, len(tasks)))
        if problem is not None:
            problems[name] = problem
        message = f"{name}: {problem.message}" if problem else name
        notify(Event(Phase.PREPARE, done + 1, len(tasks), message, problem=problem is not None))
    return problems


async def _rollouts(
    plan: Plan, todo: list[RunPlan], broken: dict[str, Problem], flight: InFlight, notify: Notify
) -> None:
    done, total = len(plan.runs) - len(todo), len(plan.runs)
    notify(Event(Phase.ROLLOUT, done, total, "rollouts"))

    async def work(run: RunPlan) -> RunRecord:
        problem = broken.get(run.task.info.name)
        if problem:
            return publish_failure(plan, run, problem)
        with flight.unit(run.run_id):
            return await _rollout(plan, run, tell, needs.storage_mb(run.task.info.name))

    def tell(message: str) -> None:
        _tell(notify, Phase.ROLLOUT, done, total, message)

    def finished(_: RunPlan, record: RunRecord) -> None:
        nonlocal done
        done += 1
        bad = record.status in (RunStatus.ENVIRONMENT_ERROR, RunStatus.AGENT_ERROR)
        notify(Event(Phase.ROLLOUT, done, total, _shown(record), problem=bad))

    needs = Needs(plan.store.path, plan.spec)
    scheduler = Scheduler[RunPlan, RunRecord](
        needs.capacity(),
        finished=finished,
        providers=needs.providers(),
        answer=answer_of,
        tell=tell,
    )
    await scheduler.run(_jobs(plan, todo, broken, needs), work)


def _tell(notify: Notify, phase: Phase, done: int, total: int, message: str) -> None:
    notify(Event(phase, done, total, message, problem=True))


def _jobs(plan: Plan, todo: list[RunPlan], broken: dict[str, Problem], needs: Needs) -> list[Job[RunPlan]]:
    """Seed by seed; those that cannot start need nothing."""
    rounds = {seed: number for number, seed in enumerate(plan.spec.seeds)}
    return [
        Job(
            run,
            rounds[run.seed],
            Need() if run.task.info.name in broken else needs.rollout(run.task.info.name, run.agent, run.kind),
        )
        for run in fair_order(todo, lambda run: rounds[run.seed], lambda run: (run.task.info.name, run.agent.label))
    ]


async def _rollout(plan: Plan, run: RunPlan, tell: Tell, storage_mb: int | None) -> RunRecord:
    """One rollout, whose faults stay its own. A fault of the machine stops the study: every other run would meet it."""
    try:
        return await run_rollout(plan, run, tell, storage_mb)
    except Exception as error:  # our own bug, or data that found a way: it costs this run, and says where
        if is_machine_fault(error) or isinstance(error, NoRoomError):
            raise
        details = "".join(traceback.format_exception(error))
        return publish_failure(plan, run, Problem(kind=type(error).__name__, stage="harvest", message=details[-1500:]))


def _shown(record: RunRecord) -> str:
    text = f"{record.run_id}: {record.status.value.replace('_', ' ')}, {len(record.commits)} commits"
    first = main_problem(record.problems)
    failed = [first.message] if first and record.status is not RunStatus.COMPLETED else []
    said = "; ".join([*failed, *limits_met(record.limits)])
    return f"{text} ({said})" if said else text
