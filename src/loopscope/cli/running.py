"""`run` and `score`: the verbs that start agents or verifiers."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopscope.cli.console import (
    Bars,
    Exit,
    err,
    leaves,
    out,
    plain,
    print_json,
    require_run_extra,
    study_directory,
    verb,
)

if TYPE_CHECKING:
    from loopscope.cli.summary import RunSummary
    from loopscope.engine.events import Event
    from loopscope.engine.plan import Plan
    from loopscope.records import StudyStore

_OF_A_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})
_NAMED = 5
"""Waiting rollouts that are named; `status` names all."""
Study = Annotated[Path, typer.Argument(help="A directory with study.yaml, or a study file.", show_default=False)]
Out = Annotated[Path | None, typer.Option("--out", help="Directory of the study's results.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]


def run_held(
    file: Path, store: StudyStore, bars: Bars, *, score: bool, retire: bool = False, again: Collection[str] = ()
) -> RunSummary:
    """Run a study in a directory that the caller holds (`StudyStore.hold`); arguments as for `plan_study`."""
    from loopscope.cli.summary import RunSummary, failed_rollouts, score_summary
    from loopscope.engine.changes import WouldRetire
    from loopscope.engine.loop import polling_loop
    from loopscope.engine.plan import plan_study
    from loopscope.engine.study import run_study

    # What an agent's or an environment's code prints is no part of the result.
    with bars.running(), contextlib.redirect_stdout(sys.stderr):
        _sweep(store)
        try:
            plan = plan_study(file, store.path, retire=retire, again=again)
        except WouldRetire as refusal:
            for line in refusal.lines:
                err.print(plain(line))
            raise
        _tell_notes(plan)
        _note_machine(store)
        with _short_of_room(store):
            result = asyncio.run(run_study(plan, _shown_on(bars), score=score), loop_factory=polling_loop)
    failed = failed_rollouts(store, [run.run_id for run in plan.runs])
    return RunSummary(
        study=plan.spec.name,
        directory=str(store.path),
        rollouts_planned=len(plan.runs),
        rollouts_done_now=result.rollouts,
        rollouts_failed=failed.by_environment + failed.by_agent,
        rollouts_failed_by_environment=failed.by_environment,
        rollouts_failed_by_agent=failed.by_agent,
        rollouts_invalid=failed.invalid,
        scores=score_summary(result.tally) if result.tally else None,
        seconds=bars.seconds(),
    )


def _sweep(store: StudyStore) -> None:
    for path in store.sweep():
        err.print(f"[yellow]warning:[/] {plain(str(path))}: unfinished work of a killed process; remove it by hand")


def _note_machine(store: StudyStore) -> None:
    """Calibrations hold for the machine that verifies: which that is, is kept, and one of another is named."""
    from loopscope.models.calibration import Calibration
    from loopscope.records import RecordError, read_model
    from loopscope.records.machine import note_machine, this_machine
    from loopscope.records.store import MACHINES_FILE

    note_machine(store.calibration / MACHINES_FILE)
    for path in sorted(store.calibration.glob("*.json")):
        if path.name == MACHINES_FILE:
            continue
        try:
            there = read_model(path, Calibration).machine
        except RecordError as error:
            err.print(f"[yellow]warning:[/] {plain(str(error))}", soft_wrap=True)
            continue
        if there != this_machine():
            line = f"calibration of {path.stem}: measured on another machine ({there}); it is not used for this one"
            err.print(f"[yellow]warning:[/] {plain(line)}", soft_wrap=True)


def _tell_notes(plan: Plan) -> None:
    from loopscope.engine.checks import missing_git

    for line in plan.changes:
        err.print(f"[yellow]changed:[/] {plain(line)}")
    if warning := missing_git(plan.spec):
        err.print(f"[yellow]warning:[/] {warning}")
    for name, task in {run.task.info.name: run.task for run in plan.runs}.items():
        for note in task.notes:
            err.print(f"[yellow]note:[/] {plain(f'{name}: {note}')}")


def _shown_on(bars: Bars) -> Callable[[Event], None]:
    def notify(event: Event) -> None:
        bars.update(event.phase.value, event.done, event.total, event.message, problem=event.problem)

    return notify


@contextlib.contextmanager
def _short_of_room(store: StudyStore) -> Iterator[None]:
    """A study that stops for want of room says before the reason what is done and what waits."""
    try:
        yield
    except Exception as error:
        if any(getattr(leaf, "midway", False) for leaf in leaves(error)):
            _tell_what_stands(store)
        raise


def _tell_what_stands(store: StudyStore) -> None:
    from loopscope.engine.status import UnitState, study_status
    from loopscope.records import RecordError, StudyError

    try:
        found = study_status(store.path)
    except (RecordError, StudyError):  # stopped before anything was kept: nothing is to be told
        return
    units = (UnitState.DONE, UnitState.FAILED, UnitState.INVALID, UnitState.WAITING)
    counts = ", ".join(f"{found.counts[state]} {state}" for state in units if found.counts[state])
    waiting = [unit.run_id for unit in found.units if unit.state is UnitState.WAITING]
    names = f" ({', '.join(waiting[:_NAMED])}{', ...' if len(waiting) > _NAMED else ''})" if waiting else ""
    err.print(
        f"so far: rollouts: {counts}{plain(names)}; {found.scored} of {found.states} states scored; "
        f"`loopscope status {plain(str(store.path))}` lists them"
    )


@contextlib.contextmanager
def located(place: Path) -> Iterator[None]:
    """A fault of the disk that names no file (a write does not) is given the place that is worked on."""
    try:
        yield
    except Exception as error:
        for leaf in leaves(error):
            if isinstance(leaf, OSError) and leaf.errno in _OF_A_DISK and leaf.filename is None:
                leaf.filename = str(place)
        raise


@contextlib.contextmanager
def _nothing_left_behind(directory: Path) -> Iterator[None]:
    """Remove a new directory again when the study was refused before anything of it was kept."""
    try:
        yield
    except Exception:
        with contextlib.suppress(OSError):
            for folder in (directory / "tasks", directory / "runs"):
                if folder.is_dir():
                    folder.rmdir()
            if [path.name for path in directory.iterdir()] == [".lock"]:
                (directory / ".lock").unlink()
                directory.rmdir()
        raise


@verb
def run(
    study: Study,
    directory: Out = None,
    score: Annotated[bool, typer.Option(help="Score every commit after the rollouts.")] = True,
    retire: Annotated[
        bool, typer.Option("--retire", help="Move finished runs that the study no longer names to retired/.")
    ] = False,
    again: Annotated[
        list[str] | None,
        typer.Option("--again", help="Id of a run to do once more; may be given repeatedly.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Run a study: every agent on every task with every seed, then score every commit. Goes on where it stopped."""
    require_run_extra()
    from loopscope.records import StudyStore, locate

    file, target = locate(study, directory)
    store, is_new = StudyStore(target), not target.exists()
    with located(target), store.hold(), _nothing_left_behind(target) if is_new else contextlib.nullcontext():
        summary = run_held(file, store, Bars(), score=score, retire=retire, again=again or ())
    if json:
        print_json(summary)
    else:
        summary.tell()
        out.print(f"next: loopscope analyze {target} && loopscope report {target}")
    raise typer.Exit(summary.exit_code)


@verb
def score(
    study: Annotated[
        Path, typer.Argument(help="The study's directory, or its file.", show_default=False, callback=study_directory)
    ],
    runs: Annotated[list[str] | None, typer.Argument(help="Ids of runs; all by default.", show_default=False)] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Try once more what the environment failed too often in a row.")
    ] = False,
    json: Json = False,
) -> None:
    """Score what is not scored yet: every commit of every harvested run, and its final state."""
    require_run_extra()
    from loopscope.cli.summary import score_summary
    from loopscope.engine.inflight import InFlight
    from loopscope.engine.loop import polling_loop
    from loopscope.engine.plan import reopen_study
    from loopscope.engine.scoring import Scorer
    from loopscope.records import RecordError, StudyStore

    store = StudyStore.open(study)
    known = {found.run_id for found in store.runs()}
    if unknown := sorted(set(runs or ()) - known):
        raise RecordError(f"{study}: no harvested run is called {unknown[0]!r}; see {study / 'runs'}")
    with (
        located(store.path),
        store.hold(),
        InFlight(store.path) as flight,
        (bars := Bars()).running(),
        contextlib.redirect_stdout(sys.stderr),
    ):
        flight.scores()
        _sweep(store)
        _note_machine(store)
        spec, warnings = reopen_study(store)
        for warning in warnings:
            err.print(f"[yellow]warning:[/] {plain(warning)}")
        scorer = Scorer(store, spec, _shown_on(bars))
        work = scorer.score_all(frozenset(runs) if runs else None, again=again)
        with _short_of_room(store):
            tally = asyncio.run(work, loop_factory=polling_loop)
    summary = score_summary(tally)
    if json:
        print_json(summary)
    else:
        out.print(
            f"{summary.states} states, {summary.verifications} verifications now, {summary.unscored} without a score"
        )
        summary.tell()
    raise typer.Exit(Exit.FAILED if summary.failed else Exit.OK)
