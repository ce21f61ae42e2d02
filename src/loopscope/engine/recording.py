"""Make a run directory of what a rollout left, and give it its name when it is whole."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from harbor.models.trial.result import TrialResult

from loopscope.engine.clock import Stopwatch
from loopscope.engine.collecting import Collected, Try, collect
from loopscope.engine.ending import Ending, Redactor, ending_of, ending_of_fault, problem
from loopscope.engine.jobs import TrialOutcome, between, seconds
from loopscope.engine.plan import Plan, RunPlan, versions
from loopscope.engine.policy import holds_work
from loopscope.engine.reading import RepositoryReading
from loopscope.models import Problem, RunRecord, Timings, UnitFile, Usage
from loopscope.records import draft_model, publish, remove_tree, scratch_name
from loopscope.records.manifest import UNIT, write_manifest


def publish_run(ended: Try) -> RunRecord:
    """Collect logs and workspace, read the repository, write the record, publish the directory."""
    target = ended.plan.store.run(ended.run.run_id).path
    folder = scratch_name(target)
    folder.mkdir(parents=True)
    try:
        left = collect(ended, folder)
        record = _write_record(ended, left, _judge(ended, left))
        draft_model(folder / UNIT, UnitFile(unit=ended.run.unit))
        write_manifest(folder, left.hashed)
        publish(folder, target)
    finally:
        if folder.exists():
            remove_tree(folder)
    return record


def publish_failure(plan: Plan, run: RunPlan, found: Problem) -> RunRecord:
    """Record a rollout that could not start, or whose run directory could not be made."""
    outcome = TrialOutcome(None, None, (found.kind, found.message))
    redact = Redactor([os.environ.get(name, "") for name in run.agent.references.values()])
    return publish_run(Try(plan, run, outcome, Path(os.devnull), Stopwatch(), redact, found))


def _judge(ended: Try, left: Collected) -> Ending:
    if fault := ended.fault:
        said = problem(fault.kind, fault.stage, fault.message, ended.redact)
        return ending_of_fault(said, left.earlier)
    return ending_of(
        ended.outcome,
        has_workspace=left.has_workspace,
        too_large=left.too_large,
        died=left.sandbox.died,
        worked=holds_work(left.found),
        earlier=left.earlier,
        redact=ended.redact,
    )


def _write_record(ended: Try, left: Collected, ending: Ending) -> RunRecord:
    """Write the record. Data that found a way into a field costs that data; the rest is kept all the same."""
    try:
        record = _record(ended, left, ending)
        draft_model(left.folder / "record.json", record)
    except (ValueError, TypeError) as error:
        bad = problem("record_refused", "harvest", f"{type(error).__name__}: {error}", ended.redact)
        bare = replace(ended, outcome=TrialOutcome(ended.outcome.trial_dir, None, ended.outcome.failure))
        left = replace(left, found=RepositoryReading())
        record = _record(bare, left, Ending(ending.status, (*ending.problems, bad)))
        draft_model(left.folder / "record.json", record)
    return record


def _record(ended: Try, left: Collected, ending: Ending) -> RunRecord:
    run, found, result = ended.run, left.found, ended.outcome.result
    finished = ended.watch.now()
    return RunRecord(
        run_id=run.run_id,
        unit=run.unit.digest,
        tries=left.tries,
        study=ended.plan.spec.name,
        task=run.task.info.name,
        task_hash=run.task.content_hash,
        category=run.task.info.category,
        agent=run.agent.label,
        harness=f"{result.agent_info.name} {result.agent_info.version}" if result else run.agent.name,
        model=run.agent.model,
        seed=run.seed,
        status=ending.status,
        problems=(*ending.problems, *found.problems),
        started_at=ended.watch.started,
        finished_at=finished,
        timings=Timings(
            environment_sec=ended.watch.length(seconds(result.environment_setup)) if result else None,
            agent_sec=ended.watch.length(seconds(result.agent_execution)) if result else None,
            harvest_sec=between(left.began, finished),
            total_sec=between(ended.watch.started, finished),
        ),
        budget_sec=run.budget_sec,
        environment=ended.plan.spec.environment.type,
        limits=left.sandbox.limits,
        usage=_usage(run, result),
        commits=found.commits,
        clean_initial=found.clean_initial,
        ambiguous_initial=found.ambiguous_initial,
        head=found.head,
        uncommitted=found.uncommitted,
        has_transcript=(left.folder / "transcript.json").is_file(),
        versions=versions(),
    )


def _usage(run: RunPlan, result: TrialResult | None) -> Usage:
    """What the agent claims; a claim that is no amount (negative, NaN) is unknown."""
    if not run.kind.needs_model and run.agent.model is None:
        return Usage(input_uncached=0, cache_read=0, cache_write=0, output=0, cost_usd=Decimal(0), source="none")
    context = result.agent_result if result else None
    if context is None:
        return Usage(source="agent")
    given, cached, output = (
        _amount(n) for n in (context.n_input_tokens, context.n_cache_tokens, context.n_output_tokens)
    )
    cost = context.cost_usd
    return Usage(
        input_uncached=None if given is None else max(0, given - (cached or 0)),
        cache_read=cached,
        output=output,
        cost_usd=Decimal(repr(cost)) if cost is not None and math.isfinite(cost) and cost >= 0 else None,
        source="agent",
    )


def _amount(number: int | None) -> int | None:
    return number if number is not None and number >= 0 else None
