"""Make a run directory of what a rollout left, and give it its name when it is whole."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from harbor.models.trial.result import TrialResult

from loopscope.engine.clock import Stopwatch
from loopscope.engine.ending import Ending, Redactor, earlier_tries, ending_of, ending_of_fault, problem
from loopscope.engine.harvest import LIMITS, TOO_LARGE, LimitsFile
from loopscope.engine.jobs import TrialOutcome, between, seconds
from loopscope.engine.plan import Plan, RunPlan, versions
from loopscope.engine.policy import holds_work
from loopscope.engine.reading import RepositoryReading, read_repository
from loopscope.models import FileHash, Limit, Problem, RunRecord, Timings, UnitFile, Usage
from loopscope.records import draft_model, publish, read_model, remove_tree, scratch_name, write_bytes
from loopscope.records.manifest import UNIT, write_manifest
from loopscope.records.workspace import compress

MAX_NATIVE_BYTES = 1 << 30
MAX_NATIVE_FILES = 5_000
"""Log files of an agent that are kept; each costs a flush to the disk."""
_HARBOR_FILES = ("result.json", "trial.log", "config.json", "exception.txt")


def publish_run(
    plan: Plan,
    run: RunPlan,
    outcome: TrialOutcome,
    workspace: Path,
    watch: Stopwatch,
    secrets: list[str],
    fault: Problem | None = None,
) -> RunRecord:
    """Collect logs and workspace, read the repository, write the record, publish the directory.

    Args:
        workspace: the frozen workspace as a tar; absent when it could not be brought out.
        watch: started with the rollout.
        secrets: values of the agent's environment; none of them (of six characters or more) reaches a file.
        fault: what kept the rollout from starting or from being recorded, where there is no trial that tells.
    """
    target = plan.store.run(run.run_id).path
    folder = scratch_name(target)
    folder.mkdir(parents=True)
    redact, harvest_started = Redactor(secrets), watch.now()
    hashed: dict[str, FileHash] = {}
    try:
        left_out, limits = _keep_logs(outcome, folder, redact), _limits(outcome.trial_dir, workspace)
        if workspace.is_file():
            hashed["workspace.tar.zst"] = compress(workspace, folder / "workspace.tar.zst")
        _keep_earlier_attempts(target, folder)
        found = read_repository(folder, plan.store.baseline(run.task.info.name), run.task)
        if not run.kind.commits:
            found.problems = [p for p in found.problems if p.kind != "no_repository"]
        found.problems += left_out
        earlier = earlier_tries(folder / "attempts")
        ending = (
            ending_of_fault(problem(fault.kind, fault.stage, fault.message, redact), earlier)
            if fault
            else ending_of(
                outcome,
                has_workspace=(folder / "workspace.tar.zst").is_file(),
                too_large=workspace.with_suffix(TOO_LARGE).exists(),
                worked=holds_work(found),
                earlier=earlier,
                redact=redact,
            )
        )
        draft_model(folder / UNIT, UnitFile(unit=run.unit))
        try:
            record = _record(plan, run, outcome, ending, found, folder, watch, harvest_started, limits)
            draft_model(folder / "record.json", record)
        except (ValueError, TypeError) as error:  # data that found a way into a field: the rest is kept all the same
            bad = problem("record_refused", "harvest", f"{type(error).__name__}: {error}", redact)
            ending = Ending(ending.status, (*ending.problems, bad))
            bare = TrialOutcome(outcome.trial_dir, None, outcome.failure)
            record = _record(plan, run, bare, ending, RepositoryReading(), folder, watch, harvest_started, limits)
            draft_model(folder / "record.json", record)
        write_manifest(folder, hashed)
        publish(folder, target)
    finally:
        if folder.exists():
            remove_tree(folder)
    return record


def publish_failure(plan: Plan, run: RunPlan, found: Problem) -> RunRecord:
    """Record a rollout that could not start, or whose run directory could not be made."""
    outcome = TrialOutcome(None, None, (found.kind, found.message))
    return publish_run(plan, run, outcome, Path(os.devnull), Stopwatch(), list(_values(run)), found)


def _values(run: RunPlan) -> Iterable[str]:
    return (os.environ.get(name, "") for name in run.agent.references.values())


def _record(
    plan: Plan,
    run: RunPlan,
    outcome: TrialOutcome,
    ending: Ending,
    found: RepositoryReading,
    folder: Path,
    watch: Stopwatch,
    harvest_started: datetime,
    limits: dict[str, Limit],
) -> RunRecord:
    finished, result = watch.now(), outcome.result
    return RunRecord(
        run_id=run.run_id,
        unit=run.unit.digest,
        tries=_number_of_attempts(folder / "attempts") + 1,
        study=plan.spec.name,
        task=run.task.info.name,
        task_hash=run.task.content_hash,
        category=run.task.info.category,
        agent=run.agent.label,
        harness=f"{result.agent_info.name} {result.agent_info.version}" if result else run.agent.name,
        model=run.agent.model,
        seed=run.seed,
        status=ending.status,
        problems=(*ending.problems, *found.problems),
        started_at=watch.started,
        finished_at=finished,
        timings=Timings(
            environment_sec=watch.length(seconds(result.environment_setup)) if result else None,
            agent_sec=watch.length(seconds(result.agent_execution)) if result else None,
            harvest_sec=between(harvest_started, finished),
            total_sec=between(watch.started, finished),
        ),
        budget_sec=run.budget_sec,
        environment=plan.spec.environment.type,
        limits=limits,
        usage=_usage(run, result),
        commits=found.commits,
        clean_initial=found.clean_initial,
        ambiguous_initial=found.ambiguous_initial,
        head=found.head,
        uncommitted=found.uncommitted,
        has_transcript=(folder / "transcript.json").is_file(),
        versions=versions(),
    )


def _limits(trial_dir: Path | None, workspace: Path) -> dict[str, Limit]:
    """As the harvester wrote them; where Harbor never came to it, as the sandbox did at its stop."""
    places = [*([trial_dir / LIMITS] if trial_dir else []), workspace.with_name(LIMITS)]
    return next((read_model(path, LimitsFile).limits for path in places if path.is_file()), {})


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


def _keep_logs(outcome: TrialOutcome, folder: Path, redact: Redactor) -> list[Problem]:
    """The agent's own logs and Harbor's, plain files only: links and pipes in them are the agent's.

    Returns what to say of those that are not kept.
    """
    if outcome.details:
        details = outcome.details.encode("utf-8", "backslashreplace")
        write_bytes(folder / "harbor" / "exception.txt", redact(details))
    trial = outcome.trial_dir
    if trial is None:
        return []
    bytes_left, files_left, left_out = MAX_NATIVE_BYTES, MAX_NATIVE_FILES, 0
    for root, _, names in os.walk(trial / "agent"):
        for name in sorted(names):
            source = Path(root) / name
            if source.is_symlink() or not source.is_file():
                continue
            size = source.stat().st_size
            if size > bytes_left or not files_left:
                left_out += 1
                continue
            bytes_left, files_left = bytes_left - size, files_left - 1
            _copy(source, folder / "native" / source.relative_to(trial / "agent"), redact)
    for name in _HARBOR_FILES:
        if (trial / name).is_file():
            _copy(trial / name, folder / "harbor" / name, redact)
    transcript = folder / "native" / "trajectory.json"
    if transcript.is_file():
        transcript.rename(folder / "transcript.json")
    if not left_out:
        return []
    bounds = f"{MAX_NATIVE_FILES} files and {MAX_NATIVE_BYTES >> 30} GiB are kept"
    return [problem("logs_left_out", "harvest", f"{left_out} of the agent's log files are left out: {bounds}")]


def _copy(source: Path, target: Path, redact: Redactor) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as content, target.open("wb") as copy:
        redact.copy(content, copy)


def _keep_earlier_attempts(target: Path, folder: Path) -> None:
    """What earlier tries left (hours of an agent's work before a failed harvest, say) stays under `attempts/`."""
    if not target.is_dir():
        return
    attempts = folder / "attempts"
    earlier = target / "attempts"
    if earlier.is_dir():
        shutil.copytree(earlier, attempts, copy_function=os.link)
    number = _number_of_attempts(attempts) + 1
    shutil.copytree(
        target, attempts / str(number), copy_function=os.link, ignore=shutil.ignore_patterns("attempts", ".tmp-*")
    )


def _number_of_attempts(attempts: Path) -> int:
    """The highest number among them; some may have been taken away by hand."""
    numbers = [int(path.name) for path in attempts.iterdir() if path.name.isdecimal()] if attempts.is_dir() else []
    return max(numbers, default=0)
