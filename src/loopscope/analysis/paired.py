"""Which tasks of a study are calibrated, how their rewards are paired by it, and what is to be said of that."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from loopscope.models import PreparedTask
from loopscope.models.calibration import Calibration, Machine, SeenMachines
from loopscope.models.calibration_words import SATURATED, stale, warnings_of
from loopscope.models.pairing import Pairing, pairing_of
from loopscope.records import RecordError, StudyStore, read_model
from loopscope.records.store import MACHINES_FILE

if TYPE_CHECKING:
    from loopscope.analysis.tabled import TabledRun


@dataclass(frozen=True)
class Pairings:
    """Of a study."""

    by_task: Mapping[str, Pairing]
    """The tasks whose calibration holds, with how their rewards are paired."""
    warnings: tuple[str, ...] = ()
    """What does not hold, is missing, or makes a task hard to trust."""


def pairings_of(store: StudyStore, tasks: Mapping[str, PreparedTask], environment: str | None) -> Pairings:
    """How the rewards of each task are paired; none where nothing was calibrated, and nothing is said then.

    Args:
        store: the study.
        tasks: its prepared tasks by name.
        environment: type of the study's environment; None for a study of imported runs alone.
    """
    if environment is None:
        return Pairings({})
    files = {name: store.calibration / f"{name}.json" for name in tasks}
    there = {name: path for name, path in files.items() if os.path.lexists(path)}
    if not there:
        return Pairings({})
    machines, warnings = _machines(store)
    found: dict[str, Pairing] = {}
    for name, path in there.items():
        pairing, lines = _pairing(path, tasks[name], environment, machines)
        warnings += [f"calibration of {name}: {line}" for line in lines]
        if pairing is not None:
            found[name] = pairing
    if absent := sorted(tasks.keys() - there.keys()):
        command = f"`loopscope tasks calibrate --study {store.path.name}`"
        warnings.append(f"not calibrated, so without paired rewards: {', '.join(absent)}; {command} does that")
    return Pairings(found, tuple(warnings))


def _machines(store: StudyStore) -> tuple[tuple[Machine, ...], list[str]]:
    path = store.calibration / MACHINES_FILE
    if not os.path.lexists(path):
        return (), []
    try:
        return read_model(path, SeenMachines).machines, []
    except RecordError as error:
        return (), [f"where the study was verified counts as unknown: {error}"]


def _pairing(
    path: Path, task: PreparedTask, environment: str, machines: tuple[Machine, ...]
) -> tuple[Pairing | None, Sequence[str]]:
    try:
        calibration = read_model(path, Calibration)
    except RecordError as error:
        return None, [f"counts as missing: {error}"]
    why = stale(calibration, verifier_hash=task.verifier_hash, environment=environment, machines=machines)
    if why is not None:
        return None, [f"is not used: {why}; `loopscope tasks calibrate` measures anew"]
    pairing = pairing_of(calibration)
    return (pairing if isinstance(pairing, Pairing) else None), warnings_of(calibration)


def saturated_runs(runs: Iterable[TabledRun], pairings: Pairings) -> list[str]:
    """Calibrated tasks on which official final scores stand at the top of the scale."""
    by_task: dict[str, list[bool]] = {}
    for run in runs:
        if run.run.task in pairings.by_task and run.final is not None and not run.run.imported:
            by_task.setdefault(run.run.task, []).append(run.final >= SATURATED)
    return [
        f"the reward of {task} saturates: {sum(at_top)} of {len(at_top)} final scores are {SATURATED} or more"
        for task, at_top in sorted(by_task.items())
        if any(at_top)
    ]
