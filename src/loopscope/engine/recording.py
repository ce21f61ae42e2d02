"""Make a run directory of what a rollout left, and give it its name when it is whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

from harbor.models.trial.result import TrialResult

from loopscope.engine.harvest import LIMITS, LimitsFile
from loopscope.engine.jobs import TrialOutcome, between, seconds
from loopscope.engine.plan import Plan, RunPlan, versions
from loopscope.engine.reading import RepositoryReading, read_repository
from loopscope.models import LimitState, PreparedTask, Problem, RunRecord, RunStatus, Timings, Usage
from loopscope.models.annotation import PROBLEM_KEY
from loopscope.records import publish, read_model, remove_tree, scratch_name, write_bytes, write_model
from loopscope.records.workspace import compress

MAX_NATIVE_BYTES = 1 << 30
TOO_LARGE = "TransferTooLarge"
"""The agent left more than is taken out. Its own doing: trying again would cost the same."""
NOT_STARTED = "environment"
_HARBOR_FILES = ("result.json", "trial.log", "config.json", "exception.txt")
_SHORTEST_SECRET = 6
"""Characters; shorter values of an agent's environment are words like `1` or `true`, which occur anywhere."""


@dataclass(frozen=True)
class Ending:
    """How a rollout ended, in our words."""

    status: RunStatus
    problems: tuple[Problem, ...] = ()


def baseline_path(plan: Plan, task: PreparedTask) -> Path:
    """The untouched workspace of a task, as its environment makes it."""
    return plan.store.path / "tasks" / f"{task.info.name}.baseline.tar.zst"


def publish_run(
    plan: Plan, run: RunPlan, outcome: TrialOutcome, workspace: Path, started: datetime, secrets: Iterable[str]
) -> RunRecord:
    """Collect logs and workspace, read the repository, write the record, publish the directory.

    Args:
        workspace: the frozen workspace as a tar; absent when it could not be brought out.
        secrets: values of the agent's environment; none of them reaches a file.
    """
    target = plan.store.run(run.run_id).path
    folder = scratch_name(target)
    folder.mkdir(parents=True)
    try:
        harvest_started = datetime.now(UTC)
        _keep_logs(outcome, folder, [s.encode() for s in secrets if len(s) >= _SHORTEST_SECRET])
        if workspace.is_file():
            compress(workspace, folder / "workspace.tar.zst")
        tried = _keep_earlier_attempts(target, folder)
        found = read_repository(folder, baseline_path(plan, run.task), run.task)
        if not run.kind.commits:
            found.problems = [p for p in found.problems if p.kind != "no_repository"]
        ending = _ending(outcome, has_workspace=(folder / "workspace.tar.zst").is_file(), tried=tried)
        has_transcript = (folder / "transcript.json").is_file()
        record = _record(plan, run, outcome, ending, found, has_transcript, started, harvest_started)
        write_model(folder / "record.json", record)
        publish(folder, target)
    finally:
        if folder.exists():
            remove_tree(folder)
    return record


def publish_failure(plan: Plan, run: RunPlan, problem: Problem) -> RunRecord:
    """Record a rollout that could not start, or whose record could not be made."""
    outcome = TrialOutcome(None, None, (problem.kind, problem.message))
    return publish_run(plan, run, outcome, Path(os.devnull), datetime.now(UTC), ())


def problem(kind: str, stage: str, message: str) -> Problem:
    """A problem with its message on one line; what is no text (bytes of an agent's file names) is shown escaped."""
    text = message.encode("utf-8", "backslashreplace").decode()
    return Problem(kind=kind, stage=stage, message=" ".join(text.split())[:2000])


def _ending(outcome: TrialOutcome, *, has_workspace: bool, tried: bool) -> Ending:
    """How the rollout ended. A workspace that does not come out is worth one more try and no third: an agent that can
    lose its run could otherwise draw until it likes the result."""
    ending = _trial_ending(outcome)
    ended_by_size = any(p.kind == "workspace_too_large" for p in ending.problems)
    if has_workspace or ended_by_size or ending.status is RunStatus.ENVIRONMENT_ERROR:
        return ending
    lost = problem("no_workspace", "harvest", "the workspace could not be brought out of the sandbox")
    return Ending(RunStatus.AGENT_ERROR if tried else RunStatus.ENVIRONMENT_ERROR, (*ending.problems, lost))


def _trial_ending(outcome: TrialOutcome) -> Ending:
    failure, result = outcome.failure, outcome.result
    metadata = (result.agent_result.metadata if result and result.agent_result else None) or {}
    reported = metadata.get(PROBLEM_KEY)
    said = (problem("agent_report", "agent", str(reported)),) if reported else ()
    if failure is None:
        return Ending(RunStatus.COMPLETED, said)
    kind, message = failure
    if kind == "AgentTimeoutError":
        return Ending(RunStatus.DEADLINE, said)
    if result is None or (result.agent_setup is None and result.agent_execution is None):
        return Ending(RunStatus.ENVIRONMENT_ERROR, (problem(kind, NOT_STARTED, message),))
    if kind == TOO_LARGE:
        return Ending(RunStatus.AGENT_ERROR, (problem("workspace_too_large", "harvest", message),))
    return Ending(RunStatus.AGENT_ERROR, (problem(kind, "agent", message),))


def _record(
    plan: Plan,
    run: RunPlan,
    outcome: TrialOutcome,
    ending: Ending,
    found: RepositoryReading,
    has_transcript: bool,
    started: datetime,
    harvest_started: datetime,
) -> RunRecord:
    finished, result = datetime.now(UTC), outcome.result
    return RunRecord(
        run_id=run.run_id,
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
        started_at=started,
        finished_at=finished,
        timings=Timings(
            environment_sec=seconds(result.environment_setup) if result else None,
            agent_sec=seconds(result.agent_execution) if result else None,
            harvest_sec=between(harvest_started, finished),
            total_sec=between(started, finished),
        ),
        budget_sec=run.budget_sec,
        environment=plan.spec.environment.type,
        limits=_limits(outcome.trial_dir),
        usage=_usage(run, result),
        commits=found.commits,
        clean_initial=found.clean_initial,
        ambiguous_initial=found.ambiguous_initial,
        head=found.head,
        uncommitted=found.uncommitted,
        has_transcript=has_transcript,
        versions=versions(),
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


def _keep_logs(outcome: TrialOutcome, folder: Path, secrets: list[bytes]) -> None:
    """The agent's own logs and Harbor's, plain files only: links and pipes in them are the agent's."""
    if outcome.details:
        write_bytes(folder / "harbor" / "exception.txt", _without(outcome.details.encode(), secrets))
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
            _copy(source, folder / "native" / source.relative_to(trial / "agent"), secrets)
    for name in _HARBOR_FILES:
        if (trial / name).is_file():
            _copy(trial / name, folder / "harbor" / name, secrets)
    transcript = folder / "native" / "trajectory.json"
    if transcript.is_file():
        transcript.rename(folder / "transcript.json")


def _copy(source: Path, target: Path, secrets: list[bytes]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if secrets:
        target.write_bytes(_without(source.read_bytes(), secrets))
    else:
        shutil.copyfile(source, target, follow_symlinks=False)


def _without(data: bytes, secrets: list[bytes]) -> bytes:
    for secret in secrets:
        data = data.replace(secret, b"[REDACTED]")
    return data


def _keep_earlier_attempts(target: Path, folder: Path) -> bool:
    """What earlier tries left (hours of an agent's work before a failed harvest, say) stays under `attempts/`.

    Returns:
        Whether an agent has run in the latest of them.
    """
    if not (target / "record.json").is_file():
        return False
    attempts = folder / "attempts"
    earlier = target / "attempts"
    if earlier.is_dir():
        shutil.copytree(earlier, attempts, copy_function=os.link)
    number = len(list(attempts.iterdir())) + 1 if attempts.is_dir() else 1
    shutil.copytree(
        target, attempts / str(number), copy_function=os.link, ignore=shutil.ignore_patterns("attempts", ".tmp-*")
    )
    return read_model(target / "record.json", RunRecord).timings.agent_sec is not None
