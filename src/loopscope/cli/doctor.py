"""`doctor`: what this machine can do, what each missing piece costs, and what mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopscope.cli.console import Exit, out, print_json, verb

if TYPE_CHECKING:
    from loopscope.models import StudySpec
    from loopscope.sandbox.doctor import Check, Finding, Machine

_WIDTH = 100
_STUDY_SEC = 20.0
"""For agents and environments of somebody else's, which are imported."""


@verb
def doctor(
    study: Annotated[
        Path | None,
        typer.Argument(help="Also see whether this study can run here: its file or directory.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """What this machine can do, what each missing piece costs, and the command that mends it."""
    from loopscope.cli.findings import survey_text
    from loopscope.sandbox.doctor import checks, examine

    if study is None:
        survey = examine([*checks(), _lock_check()])
    else:
        from loopscope.records import load_study, locate

        file, place = locate(study)
        spec = load_study(file)
        local = spec.environment.type == "local"
        asked = [*_study_checks(file, spec), *checks(place), _lock_check()]
        survey = examine(asked, subject=f"the study {spec.name!r}", sandboxed=local)
    if json:
        print_json(survey)
    else:
        out.print(survey_text(survey, min(out.width, _WIDTH)), soft_wrap=True)
    raise typer.Exit(Exit.OK if survey.runs else Exit.FAILED)


def _lock_check() -> Check:
    from loopscope.sandbox.doctor import Area, Check, Need

    return Check(Area.STORAGE, "machine-wide lock", _look_lock, Need.REQUIRED)


def _look_lock(_: Machine) -> Iterator[Finding]:
    from loopscope.engine.lock import lock_dir
    from loopscope.sandbox.doctor import Area, Finding, Need, State

    try:
        folder = lock_dir()
    except OSError as error:
        cost, remedy = (
            "timed verifications cannot be kept alone on the machine",
            "name a directory that can be written:",
        )
        command = "export LOOPSCOPE_LOCK_DIR=/path/to/a/directory"
        yield Finding(
            Area.STORAGE, "machine-wide lock", State.MISSING, str(error), cost, remedy, (command,), Need.REQUIRED
        )
    else:
        yield Finding(Area.STORAGE, "machine-wide lock", State.OK, f"{folder}/loopscope-*.lock", need=Need.REQUIRED)


def _study_checks(file: Path, spec: StudySpec) -> list[Check]:
    from loopscope.sandbox.doctor import Area, Check, Need

    def asking(name: str) -> Callable[[Machine], Iterable[Finding]]:
        def look(_: Machine) -> Iterable[Finding]:
            try:
                from loopscope.engine import fitness
            except ImportError:  # Harbor's own row says so
                return []
            found: Iterable[Finding] = getattr(fitness, f"look_{name}")(file, spec)
            return found

        return look

    parts = ("environment", "agents", "tasks")
    return [Check(Area.STUDY, part, asking(part), Need.REQUIRED, _STUDY_SEC) for part in parts]
