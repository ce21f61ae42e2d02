"""One Harbor job per trial: built, run, and whatever happens turned into an outcome."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("HARBOR_TELEMETRY", "0")
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import harbor.job
from harbor.job import Job
from harbor.models.environment_type import EnvironmentType
from harbor.models.job.config import JobConfig
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, VerifierConfig
from harbor.models.trial.result import TimingInfo, TrialResult
from harbor.publisher.packager import Packager
from harbor.trial.hooks import TrialHookEvent
from harbor.utils.logger import logger as harbor_logger
from pydantic import ValidationError
from rich.progress import Progress

from loopscope.models import EnvironmentSpec
from loopscope.records import explain
from loopscope.records.studyfile import NoRoomError

_INNER_ERROR = re.compile(r"^[ |]*(?:[\w.]+\.)?(\w+(?:Error|Exception|Missing\w*)): (.+)$", re.MULTILINE)
NO_ROOM = "NoDiskError"
"""Name of the error with which our sandbox says that the machine's disk is too full for it."""
LOCAL_ENVIRONMENT = "loopscope.sandbox.environment:LocalEnvironment"


class _NoProgress(Progress):
    """Jobs run side by side, and Harbor's bars share one console whose stack of live displays they would break."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "disable": True})


harbor.job.Progress = _NoProgress  # type: ignore[attr-defined]

_hash_of = Packager.compute_content_hash


@lru_cache(maxsize=256)
def _hash_once(task_dir: Path, _: tuple[int, int]) -> tuple[str, list[Path]]:
    return _hash_of(task_dir)


def _content_hash(task_dir: Path) -> tuple[str, list[Path]]:
    """Harbor hashes a task twice per trial, for lock files of jobs that we throw away; prepared tasks never change."""
    status = task_dir.stat()
    return _hash_once(task_dir, (status.st_ino, status.st_mtime_ns))


Packager.compute_content_hash = staticmethod(_content_hash)  # type: ignore[method-assign]


@dataclass(frozen=True)
class TrialOutcome:
    """How a trial ended. Either Harbor gave a result, or the job itself failed with `error`."""

    trial_dir: Path | None
    result: TrialResult | None
    error: tuple[str, str] | None = None
    """(exception type, message)."""
    traceback: str = ""
    """Of `error`."""

    @property
    def agent_ran(self) -> bool:
        """Whether the trial came as far as the agent's own run."""
        return self.result is not None and self.result.agent_execution is not None

    @property
    def failure(self) -> tuple[str, str] | None:
        """Type and message of what went wrong, wherever; None when nothing did."""
        if self.error:
            return self.error
        info = self.result.exception_info if self.result else None
        if info is None:
            return None
        if info.exception_type == "ExceptionGroup":  # what matters is the error inside
            inner = _INNER_ERROR.findall(info.exception_traceback)
            if inner:
                kind, message = inner[-1]
                return str(kind), str(message)
        return info.exception_type, info.exception_message

    @property
    def details(self) -> str:
        """The whole traceback, for the person who has to mend it."""
        info = self.result.exception_info if self.result else None
        return self.traceback or (info.exception_traceback if info else "")


def environment_config(spec: EnvironmentSpec, storage_mb: int | None = None) -> EnvironmentConfig:
    """A study's environment in Harbor's terms: `local` is ours, a name is Harbor's type, `pkg.mod:Class` a class.

    `storage_mb`: in the place of the task's.
    """
    resources = {
        "override_cpus": spec.cpus,
        "override_memory_mb": spec.memory_mb,
        "override_storage_mb": storage_mb,
        "kwargs": spec.kwargs,
    }
    if spec.type == "local":
        return EnvironmentConfig(import_path=LOCAL_ENVIRONMENT, **resources)
    if ":" in spec.type:
        return EnvironmentConfig(import_path=spec.type, **resources)
    return EnvironmentConfig(type=EnvironmentType(spec.type), **resources)


async def run_trial(
    scratch: Path,
    *,
    name: str,
    task_dir: Path,
    agent: AgentConfig,
    environment: EnvironmentSpec,
    verifier: VerifierConfig,
    storage_mb: int | None = None,
) -> TrialOutcome:
    """Run one trial as a job of its own in `scratch`; `storage_mb` is in the place of the task's.

    What happens inside is no error of ours, but for one:

    Raises:
        NoRoomError: its sandbox was not made because this machine has too little disk.
    """
    config = partial(
        JobConfig,
        job_name=name,
        jobs_dir=scratch,
        n_concurrent_trials=1,
        quiet=True,
        agents=[agent],
        verifier=verifier,
        tasks=[TaskConfig(path=task_dir)],
    )
    outcome = await _outcome(scratch / name, lambda: config(environment=environment_config(environment, storage_mb)))
    if outcome.failure and outcome.failure[0] == NO_ROOM and not outcome.agent_ran:
        raise NoRoomError(outcome.failure[1])
    return outcome


async def _outcome(job_dir: Path, configure: Callable[[], JobConfig]) -> TrialOutcome:
    begun: list[TrialResult] = []

    async def agent_begins(event: TrialHookEvent) -> None:
        begun.append(event.result)

    try:
        job = await Job.create(configure())
        job.on_agent_started(agent_begins)
        _quiet_console()
        outcome = await job.run()
    except ValidationError as error:
        return TrialOutcome(None, None, ("ValidationError", explain(error)))
    except Exception as error:  # a bad task, agent or environment kills a Harbor job; it must cost one trial
        cause, folder = _cause(error), _trial_dir(job_dir)
        failure = (type(cause).__name__, str(cause))
        return TrialOutcome(folder, _written_result(folder) or _unwritten(begun), failure, traceback.format_exc())
    finally:
        _forget_loggers(job_dir)
    result = outcome.trial_results[0] if outcome.trial_results else None
    return TrialOutcome(_trial_dir(job_dir), result, None if result else ("JobError", "Harbor ran no trial"))


def _forget_loggers(job_dir: Path) -> None:
    """Harbor names loggers after trials, and Python keeps every logger there ever was."""
    trial = _trial_dir(job_dir)
    if trial is None:
        return
    known = logging.Logger.manager.loggerDict
    gone = [known.pop(name) for name in list(known) if trial.name in name]
    for place in list(known.values()):
        if isinstance(place, logging.PlaceHolder):
            for logger in gone:
                place.loggerMap.pop(cast(logging.Logger, logger), None)


def _written_result(trial_dir: Path | None) -> TrialResult | None:
    """What a trial wrote before its job died: it tells whether an agent ran."""
    path = trial_dir / "result.json" if trial_dir else None
    try:
        return TrialResult.model_validate_json(path.read_bytes()) if path else None
    except (OSError, ValueError):
        return None


def _unwritten(begun: list[TrialResult]) -> TrialResult | None:
    """The result of a trial whose agent ran and left what cannot be written down: all but the agent's own words.

    Else such an end would pass for a sandbox that never started, and an agent could draw until it likes its result.
    """
    return begun[-1].model_copy(update={"agent_result": None, "exception_info": None}) if begun else None


def _cause(error: BaseException) -> BaseException:
    """The first error inside a group: that is what went wrong."""
    return _cause(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _quiet_console() -> None:
    """Harbor's job logs to its files and to the console; the console is ours."""
    for handler in harbor_logger.handlers:
        if type(handler) is logging.StreamHandler:
            handler.setLevel(logging.CRITICAL + 1)
    # A line that cannot be written to a file (an agent's error with half a character, say) would be shown as it is.
    logging.raiseExceptions = False


def _trial_dir(job_dir: Path) -> Path | None:
    found = [path for path in job_dir.glob("*__*") if path.is_dir()] if job_dir.is_dir() else []
    return found[0] if found else None


def seconds(timing: TimingInfo | None) -> float | None:
    """Length of one of Harbor's phases."""
    if timing is None or timing.started_at is None or timing.finished_at is None:
        return None
    return round((timing.finished_at - timing.started_at).total_seconds(), 3)


def between(start: datetime, end: datetime) -> float:
    """Seconds between two moments, to the millisecond."""
    return round((end - start).total_seconds(), 3)


async def to_its_end[**P, R](function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a function in a thread and, on cancellation, wait for it before passing the cancellation on.

    A thread cannot be stopped; whoever cleans up its input meanwhile would make it publish half of it.
    """
    task = asyncio.create_task(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # the cancellation counts; one that nobody asks for is printed as if it were our own bug
        raise
