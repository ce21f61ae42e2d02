"""`tasks calibrate`."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from loopscope.cli.console import Bars, Exit, err, out, plain, print_json, require_run_extra, study_directory, verb
from loopscope.cli.reading import Json
from loopscope.cli.tables import plain_table

if TYPE_CHECKING:
    from loopscope.audit.calibrate import Calibrated, Place

_MISSING = "-"


@verb
def tasks_calibrate(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(help="Names or directories; all of the study's, else all built-in ones.", show_default=False),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            "--study",
            help="Keep it in this study, whose tables then hold paired rewards.",
            show_default=False,
            callback=lambda path: path and study_directory(path),
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Verifications of starter and reference, each.")] = 3,
    again: Annotated[bool, typer.Option("--again", help="Measure anew what is there.")] = False,
    json: Json = False,
) -> None:
    """Measure what the untouched starter and the reference of tasks are worth here. What is there is not done again."""
    require_run_extra()
    from loopscope.engine.loop import polling_loop
    from loopscope.records import StudyStore

    store = StudyStore(study) if study else None
    held = store.hold() if store else contextlib.nullcontext()
    with held, (bars := Bars()).running(), contextlib.redirect_stdout(sys.stderr):
        places = _of_study(store, tasks or []) if store else _outside(tasks or [])
        work = _all(places, repeats, again, bars)
        found = asyncio.run(work, loop_factory=polling_loop)
    for done in found:
        _tell(done)
    if json:
        print_json([_as_json(place, done) for place, done in zip(places, found, strict=True)])
    else:
        out.print(plain_table(_HEADS, [_row(done) for done in found]))
        out.print("paired reward: starter 0, reference its worth in the task; official rewards are never changed")
        out.print(
            f"next: loopscope analyze {store.path}" if store else f"kept in: {places[0].file.parent}", markup=False
        )
    raise typer.Exit(Exit.FAILED if any(done.failed for done in found) else Exit.OK)


def _of_study(store: Any, names: list[str]) -> list[Place]:
    """The prepared tasks of a study, in its own environment and with its own deadlines."""
    from loopscope.audit.calibrate import Place
    from loopscope.records import RecordError, load_study
    from loopscope.records.studyfile import STUDY_FILE

    prepared = store.tasks()
    if unknown := [name for name in names if name not in prepared]:
        known = ", ".join(sorted(prepared)) or "none yet; `loopscope run` prepares them"
        raise RecordError(f"{store.path}: no prepared task is called {unknown[0]!r}; there are: {known}")
    if not prepared:
        raise RecordError(f"{store.path}: no task is prepared yet; `loopscope run` does that, then calibrate")
    spec = load_study(store.path / STUDY_FILE)
    return [
        Place(
            store.path / "tasks" / name,
            store.calibration / f"{name}.json",
            spec.environment,
            float(spec.scoring.timeout_multiplier),
        )
        for name in names or sorted(prepared)
    ]


def _outside(names: list[str]) -> list[Place]:
    from loopscope.audit.calibrate import Place, cache_file
    from loopscope.models import EnvironmentSpec
    from loopscope.tasks import load_task, resolve
    from loopscope.tasks.catalog import builtin_names
    from loopscope.tasks.prepare import verifier_hash

    found = []
    for name in names or builtin_names():
        directory = resolve(name, Path()).directory
        file = cache_file(load_task(directory).name, verifier_hash(directory))
        found.append(Place(directory, file, EnvironmentSpec()))
    return found


async def _all(places: list[Place], repeats: int, again: bool, bars: Bars) -> list[Calibrated]:
    from loopscope.audit.calibrate import calibrate

    found = []
    for number, place in enumerate(places):

        def tell(_: int, __: int, message: str, number: int = number) -> None:
            bars.update("calibrate", number, len(places), message)

        done = await calibrate(place, repeats=repeats, again=again, tell=tell)
        found.append(done)
        bars.update("calibrate", number + 1, len(places), f"{done.calibration.task}: {done.new} measured now")
    return found


def _tell(done: Calibrated) -> None:
    from loopscope.models.calibration_words import warnings_of

    name = done.calibration.task
    if done.outdated:
        err.print(f"[yellow]set aside:[/] {plain(f'{name}: an earlier calibration: {done.outdated}')}", soft_wrap=True)
    for line in warnings_of(done.calibration):
        err.print(f"[yellow]warning:[/] {plain(f'{name}: {line}')}", soft_wrap=True)
    for line in done.failed:
        err.print(f"[red]failed:[/] {plain(line)}; the same command tries again", soft_wrap=True)


_HEADS = ["task", "starter", "spread", "reference", "spread", "n", "longest", "of", "load", "paired by"]


def _row(done: Calibrated) -> list[str]:
    from loopscope.models.calibration import CalibrationAct
    from loopscope.models.pairing import Pairing, pairing_of

    found, cells = done.calibration, list[str]()
    for act in CalibrationAct:
        cells += [_number(found.reward(act)), _number(found.spread(act))]
    pairing = pairing_of(found)
    loads = [trial.load for trial in found.trials if trial.load is not None]
    return [
        plain(found.task),
        *cells,
        str(min(len(found.rewards(act)) for act in CalibrationAct)),
        _MISSING if found.seconds is None else f"{found.seconds:.1f} s",
        f"{found.trials[-1].timeout_sec:g} s" if found.trials else _MISSING,
        f"{min(loads):.0f}-{max(loads):.0f}" if loads else _MISSING,
        plain(pairing.words) if isinstance(pairing, Pairing) else _MISSING,
    ]


def _number(value: Any) -> str:
    return _MISSING if value is None else f"{value:.3f}"


def _as_json(place: Place, done: Calibrated) -> dict[str, Any]:
    from loopscope.models.calibration_words import warnings_of
    from loopscope.models.pairing import Pairing, pairing_of

    pairing = pairing_of(done.calibration)
    shown = None
    if isinstance(pairing, Pairing):
        shown = {"metric": pairing.metric, "formula": pairing.formula.model_dump(mode="json")}
    return {
        "file": str(place.file),
        "calibration": done.calibration.model_dump(mode="json"),
        "measured_now": done.new,
        "outdated": done.outdated,
        "pairing": shown,
        "why_unpaired": pairing if isinstance(pairing, str) else None,
        "warnings": list(warnings_of(done.calibration)),
        "failed": list(done.failed),
    }
