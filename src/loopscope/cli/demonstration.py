"""`demo`: the whole way on a study that comes with loopscope, in a directory of its own."""

from __future__ import annotations

import os
import shutil
import time
import webbrowser
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from loopscope.cli.console import Bars, Exit, out, print_json, require_run_extra, verb
from loopscope.cli.running import Json, run_held
from loopscope.cli.tables import print_outcome

MARKER = "# loopscope demo:"
"""How the demo's study file begins. A directory whose study file begins otherwise is not ours to write to."""
SET_UP_SEC = "LOOPSCOPE_SETUP_SEC"
"""How `make demo` tells the seconds that its set-up took."""


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
    from loopscope.records import StudyError, StudyStore, write_bytes
    from loopscope.report import build_report

    started = time.monotonic()
    _refuse_what_is_not_ours(directory)
    bars = Bars()
    store = StudyStore(directory)
    with store.hold(), as_file(files("loopscope.cli") / "demo.yaml") as source:
        if fresh:
            _remove_study(directory)
        if not (directory / "study.yaml").exists():
            write_bytes(directory / "study.yaml", source.read_bytes())
        try:
            summary = run_held(source, store, bars, score=True)
        except StudyError as error:
            raise StudyError(f"{error} (`loopscope demo --fresh` removes the earlier demo and begins again)") from None
    scored = time.monotonic()
    analysis = analyze(directory)
    analyzed = time.monotonic()
    page = build_report(directory).resolve()
    ended = time.monotonic()
    seconds = summary.seconds | {"analyze": analyzed - scored, "report": ended - analyzed, "total": ended - started}
    if set_up := _set_up_seconds():
        seconds |= {"set_up": set_up, "total_with_set_up": seconds["total"] + set_up}
    rounded = {phase: round(value, 1) for phase, value in seconds.items()}
    summary = summary.model_copy(update={"seconds": rounded, "report": str(page)})
    if json:
        print_json(summary)
    else:
        print_outcome(analysis)
        summary.tell()
        out.print("seconds: " + ", ".join(f"{phase.replace('_', ' ')} {value:.1f}" for phase, value in rounded.items()))
        out.print(f"report: {page}")
        if open_report and _has_screen():
            webbrowser.open(page.as_uri())
    raise typer.Exit(summary.exit_code or (Exit.FAILED if analysis.faults else Exit.OK))


def _refuse_what_is_not_ours(directory: Path) -> None:
    """A demo goes to a directory that is absent or empty, or that holds an earlier demo.

    Raises:
        StudyError: the directory holds something else.
    """
    from loopscope.records import StudyError, load_study
    from loopscope.records.durable import is_scratch

    if not directory.exists():
        return
    if not directory.is_dir():
        raise StudyError(f"{directory}: is a file; name a directory with --out")
    if not [path for path in directory.iterdir() if path.name != ".lock" and not is_scratch(path)]:
        return
    file = directory / "study.yaml"
    if file.is_file() and file.read_bytes().startswith(MARKER.encode()) and load_study(file).name == "demo":
        return
    raise StudyError(f"{directory}: is not empty and holds no demo; name a new or empty directory with --out")


def _remove_study(directory: Path) -> None:
    """The study file goes last: until then a killed removal can be repeated."""
    from loopscope.records.contents import TOPS
    from loopscope.records.studyfile import STUDY_FILE

    for name in sorted(TOPS, key=lambda name: name == STUDY_FILE):
        path = directory / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _set_up_seconds() -> float | None:
    try:
        return float(os.environ[SET_UP_SEC])
    except (KeyError, ValueError):
        return None


def _has_screen() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and out.is_terminal
