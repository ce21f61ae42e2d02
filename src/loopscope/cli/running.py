"""`demo`, `run`, `score`: the verbs that start agents or verifiers."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
import webbrowser
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from loopscope.cli.console import Bars, Exit, err, out, print_json, require_run_extra, verb
from loopscope.cli.tables import leaderboard
from loopscope.models import Record

Study = Annotated[Path, typer.Argument(help="A directory with study.yaml, or a study file.", show_default=False)]
Out = Annotated[Path | None, typer.Option("--out", help="Directory of the study's results.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]


class RunSummary(Record):
    """What a run of a study did (`--json`)."""

    study: str
    directory: str
    rollouts_planned: int
    rollouts_done_now: int
    rollouts_failed: int
    """Rollouts that left no workspace; `loopscope run` tries them again."""
    states: int
    """States to score, over all runs."""
    verifications_done_now: int
    states_without_score: int
    seconds: dict[str, float]
    report: str | None = None


def _run(study: Path, directory: Path | None, bars: Bars, *, score: bool) -> RunSummary:
    from loopscope.engine.events import Event
    from loopscope.engine.plan import plan_study
    from loopscope.engine.study import run_study
    from loopscope.records import StudyStore, locate

    file, target = locate(study, directory)

    def notify(event: Event) -> None:
        bars.update(event.phase.value, event.done, event.total, event.message, problem=event.problem)

    store = StudyStore(target)
    with store.hold(), bars.running():
        store.sweep()
        plan = plan_study(file, target)
        result = asyncio.run(run_study(plan, notify, score=score))
    return RunSummary(
        study=plan.spec.name,
        directory=str(target),
        rollouts_planned=len(plan.runs),
        rollouts_done_now=result.rollouts,
        rollouts_failed=result.failed,
        states=result.tally.states if result.tally else 0,
        verifications_done_now=result.tally.verifications if result.tally else 0,
        states_without_score=result.tally.unscored if result.tally else 0,
        seconds=bars.seconds(),
    )


@verb
def run(
    study: Study,
    directory: Out = None,
    score: Annotated[bool, typer.Option(help="Score every commit after the rollouts.")] = True,
    json: Json = False,
) -> None:
    """Run a study: every agent on every task with every seed, then score every commit. Goes on where it stopped."""
    require_run_extra()
    summary = _run(study, directory, Bars(), score=score)
    if json:
        print_json(summary)
    else:
        _tell(summary)
        out.print(f"next: loopscope analyze {summary.directory} && loopscope report {summary.directory}")
    raise typer.Exit(Exit.FAILED if summary.rollouts_failed else Exit.OK)


def _tell(summary: RunSummary) -> None:
    out.print(
        f"{summary.rollouts_planned} rollouts ({summary.rollouts_done_now} done now), "
        f"{summary.states} states scored ({summary.verifications_done_now} verifications now)"
    )
    if summary.rollouts_failed:
        err.print(f"[red]{summary.rollouts_failed} rollouts failed[/]; see their record.json, then run again")
    if summary.states_without_score:
        err.print(f"{summary.states_without_score} states have no score; their reasons stand in scores/*.json")


@verb
def score(
    study: Annotated[Path, typer.Argument(help="The study's directory.", show_default=False)],
    runs: Annotated[list[str] | None, typer.Argument(help="Ids of runs; all by default.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Score what is not scored yet: every commit of every harvested run, and its final state."""
    require_run_extra()
    from loopscope.engine.events import Event
    from loopscope.engine.scoring import Scorer
    from loopscope.records import RecordError, StudyStore, load_study
    from loopscope.records.studyfile import STUDY_FILE

    store = StudyStore.open(study)
    known = {found.run_id for found in store.runs()}
    if unknown := sorted(set(runs or ()) - known):
        raise RecordError(f"{study}: no harvested run is called {unknown[0]!r}; see {study / 'runs'}")
    bars = Bars()

    def notify(event: Event) -> None:
        bars.update(event.phase.value, event.done, event.total, event.message, problem=event.problem)

    with store.hold(), bars.running():
        store.sweep()
        scorer = Scorer(store, load_study(study / STUDY_FILE), notify)
        tally = asyncio.run(scorer.score_all(frozenset(runs) if runs else None))
    if json:
        print_json({"states": tally.states, "verifications": tally.verifications, "unscored": tally.unscored})
    else:
        out.print(f"{tally.states} states, {tally.verifications} verifications now, {tally.unscored} without a score")


@verb
def demo(
    directory: Annotated[Path, typer.Option("--out", help="Directory of the study.")] = Path("demo"),
    fresh: Annotated[bool, typer.Option("--fresh", help="Remove an earlier demo there first.")] = False,
    open_report: Annotated[bool, typer.Option("--open/--no-open", help="Open the report in a browser.")] = True,
    json: Json = False,
) -> None:
    """Three tasks, three agents that need no model, three seeds: run, score every commit, measure, report."""
    require_run_extra()
    from loopscope.analysis.build import analyze
    from loopscope.records import StudyError
    from loopscope.report import build_report

    if fresh and (directory / "runs").is_dir():
        shutil.rmtree(directory)
    bars = Bars()
    with files("loopscope.cli").joinpath("demo.yaml").open("rb") as source:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "study.yaml").write_bytes(source.read())
    try:
        summary = _run(directory, None, bars, score=True)
    except StudyError as error:
        raise StudyError(f"{error} (`loopscope demo --fresh` removes the earlier demo and begins again)") from None
    started = time.monotonic()
    analysis = analyze(directory)
    analyzed = time.monotonic()
    page = build_report(directory)
    seconds = summary.seconds | {
        "analyze": round(analyzed - started, 1),
        "report": round(time.monotonic() - analyzed, 1),
    }
    summary = summary.model_copy(update={"seconds": seconds, "report": str(page)})
    if json:
        print_json(summary)
    else:
        _tell(summary)
        out.print(leaderboard(analysis))
        out.print("seconds: " + ", ".join(f"{phase} {value:.1f}" for phase, value in seconds.items()))
        out.print(f"report: {page.resolve()}")
        if open_report and _has_screen():
            webbrowser.open(page.resolve().as_uri())
    raise typer.Exit(Exit.FAILED if summary.rollouts_failed else Exit.OK)


def _has_screen() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and out.is_terminal
