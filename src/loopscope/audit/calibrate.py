"""Calibration: the starter and the reference of a task, verified here and repeated, each result kept at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from loopscope.audit.trial import REFERENCE, STARTER, Act, Trial, try_task
from loopscope.models import EnvironmentSpec, VerificationStatus
from loopscope.models.calibration import Calibration, CalibrationAct, CalibrationTrial
from loopscope.models.calibration_words import stale
from loopscope.records import RecordError, read_model, write_model
from loopscope.records.machine import this_machine
from loopscope.tasks.load import load_task
from loopscope.tasks.prepare import stated_nominal, verifier_hash

REPEATS = 3
"""Verifications of the starter and of the reference, each."""
_ACTS: dict[CalibrationAct, Act] = {CalibrationAct.STARTER: STARTER, CalibrationAct.REFERENCE: REFERENCE}


@dataclass(frozen=True)
class Place:
    """A task to calibrate, where, and where the result is kept."""

    directory: Path
    """The task, as it is or as a study prepared it."""
    file: Path
    """The calibration's."""
    environment: EnvironmentSpec
    timeout_multiplier: float = 1.0
    """On the verifier's own timeout."""


@dataclass(frozen=True)
class Calibrated:
    """What came of it."""

    calibration: Calibration
    new: int
    """Trials that were made now; the others were there."""
    outdated: str | None
    """Why an earlier calibration was set aside; None where there was none, or it still holds."""
    failed: tuple[str, ...]
    """What the environment failed, a line each; it is tried again by the next call."""


Tell = Callable[[int, int, str], None]
"""Called with (done, total, what ended)."""


def cache_dir() -> Path:
    """Where calibrations of tasks outside a study are kept: the user's cache."""
    chosen = os.environ.get("XDG_CACHE_HOME")
    base = Path(chosen) if chosen else Path.home() / ".cache"
    return base / "loopscope" / "calibration"


def cache_file(task: str, hashed: str) -> Path:
    """The file of a task outside a study. Tasks of one name and different verifiers do not meet in it."""
    return cache_dir() / f"{task}-{hashed[:12]}-{this_machine().fingerprint[:8]}.json"


async def calibrate(place: Place, *, repeats: int = REPEATS, again: bool = False, tell: Tell) -> Calibrated:
    """Verify starter and reference `repeats` times each, in turns; what is kept already is not done again.

    Args:
        place: the task, and where the result is kept.
        repeats: verifications of each.
        again: set aside what is kept.
        tell: called with (done, total, what ended).

    Raises:
        TaskError: the directory is no task.
        RecordError: what is kept cannot be read.
        NoRoomError: the machine has too little disk for the sandbox.
    """
    fresh = await asyncio.to_thread(_fresh, place)
    kept, outdated = (None, None) if again else _kept(place, fresh)
    found = kept or fresh
    done, failed, new = len(found.trials), list[str](), 0
    timeout = await asyncio.to_thread(_timeout, place)
    todo = [act for n in range(repeats) for act in CalibrationAct if len(found.of(act)) <= n]
    total = done + len(todo)
    for act in todo:
        trial = await try_task(place.directory, _ACTS[act], environment=place.environment, timeout_sec=timeout)
        done += 1
        if trial.status is VerificationStatus.ERROR:
            failed.append(f"{found.task}: {act}: {trial.reason}")
        else:
            made = _trial(act, trial, timeout)
            found = found.model_copy(update={"trials": (*found.trials, made)})
            await asyncio.to_thread(write_model, place.file, found)
            new += 1
        said = trial.reason if trial.reward is None else f"reward {trial.reward:.4f}"
        tell(done, total, f"{found.task}: {act} {said}, {trial.seconds:.1f} s")
    return Calibrated(found, new, outdated, tuple(failed))


def _fresh(place: Place) -> Calibration:
    info = load_task(place.directory)
    return Calibration(
        task=info.name,
        verifier_hash=verifier_hash(place.directory),
        environment=place.environment.type,
        machine=this_machine(),
        anchors=info.anchors,
        nominal=stated_nominal(place.directory),
        timed=info.timed,
    )


def _timeout(place: Place) -> float:
    return load_task(place.directory).verifier_timeout_sec * place.timeout_multiplier


def _kept(place: Place, fresh: Calibration) -> tuple[Calibration | None, str | None]:
    """(the calibration that is kept and holds, why one that is kept does not)."""
    if not os.path.lexists(place.file):
        return None, None
    try:
        kept = read_model(place.file, Calibration)
    except RecordError as error:
        raise RecordError(f"{error}, or measure it anew with --again") from None
    facts = {"verifier_hash": fresh.verifier_hash, "environment": fresh.environment}
    why = stale(kept, **facts, machines=(fresh.machine,))
    return (kept, None) if why is None else (None, why)


def _trial(act: CalibrationAct, trial: Trial, timeout: float) -> CalibrationTrial:
    try:
        load: float | None = round(os.getloadavg()[0], 2)
    except OSError:
        load = None
    return CalibrationTrial(
        act=act,
        status=trial.status,
        reward=trial.reward,
        metrics=dict(trial.metrics),
        reason=trial.reason,
        seconds=trial.seconds,
        timeout_sec=timeout,
        load=load,
        at=datetime.now(UTC),
    )
