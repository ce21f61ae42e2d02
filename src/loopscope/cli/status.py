"""`status`: where a study stands. Reads only, needs no Harbor, and disturbs nobody who is running it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopscope.cli.console import Exit, err, out, plain, print_json, study_directory, verb
from loopscope.cli.tables import counted, plain_table

if TYPE_CHECKING:
    from loopscope.engine.status import StudyStatus, UnitStatus

_FEW = 40
"""So many units are listed one by one; of more, those that wait, or are done with nothing left to do, only counted."""


@verb
def status(
    study: Annotated[
        Path, typer.Argument(help="The study's directory, or its file.", show_default=False, callback=study_directory)
    ],
    every: Annotated[bool, typer.Option("--all", help="List every unit, also of a large study.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Show what is done, running, failed, invalid, waiting and retired, and why; exit code 1 when something failed."""
    from loopscope.engine.status import study_status

    found = study_status(study)
    for warning in found.warnings:
        err.print(f"[yellow]warning:[/] {plain(warning)}")
    if json:
        print_json(found)
    else:
        _tell(found, every=every or len(found.units) <= _FEW)
    raise typer.Exit(Exit.FAILED if found.has_failed else Exit.OK)


def _tell(found: StudyStatus, *, every: bool) -> None:
    from loopscope.engine.status import UnitState

    quiet = () if every else (UnitState.DONE, UnitState.WAITING, UnitState.IMPORTED, UnitState.RETIRED)
    shown = [u for u in found.units if u.state not in quiet or (u.state is UnitState.DONE and u.next)]
    rows = [_row(unit, held=found.held) for unit in shown]
    if rows:
        table = plain_table(["run", "state", "tries", "scored", "reason", "next"], rows)
        for column in table.columns[:4]:  # a long reason is folded in its own column, not at the cost of these
            column.no_wrap = True
        out.print(table)
    out.print(_holder(found))
    out.print("units: " + ", ".join(f"{count} {state}" for state, count in found.counts.items() if count))
    if not found.has_units:
        if verb := _next_verb(found):
            out.print(f"next: loopscope {verb} {found.directory}", markup=False, soft_wrap=True)
        return
    kinds = Counter(str(unit.ending) for unit in found.units if unit.state in (UnitState.FAILED, UnitState.INVALID))
    if kinds:
        out.print("failed or invalid: " + ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in kinds.most_common()))
    lacking = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in found.unscored.items())
    out.print(f"scores: {found.scored} of {found.states} states" + (f"; without one: {lacking}" if lacking else ""))
    if found.next.refused:
        for line in found.next.refused:
            out.print(f"[red]damaged:[/] {plain(line)}", soft_wrap=True)
        more = f"`loopscope study verify {plain(found.directory)}` says more"
        out.print(f"another run refuses until that is mended; {more}", soft_wrap=True)
        return
    tried = f" ({found.next.again} of them tried before)" if found.next.again else ""
    doer = "the present run is to do" if found.held else "another run does"
    rollouts, states = counted(found.next.rollouts, "rollout"), counted(found.next.states, "known state")
    out.print(f"{doer} {rollouts}{tried} and {'verify' if found.held else 'verifies'} {states}")


def _next_verb(found: StudyStatus) -> str:
    """What a study of imported runs alone still wants; empty where its report is of all of them."""
    from pydantic import ValidationError

    from loopscope.models.tables import StudySummary

    directory = Path(found.directory)
    try:
        tabled = StudySummary.model_validate_json((directory / "tables" / "study.json").read_bytes())
    except (OSError, ValidationError):
        return "analyze"
    if tabled.generated_from.get("runs") != len(found.units):
        return "analyze"
    return "" if (directory / "report" / "index.html").is_file() else "report"


def _row(unit: UnitStatus, *, held: bool) -> list[str]:
    scored = f"{unit.scored}/{unit.states}" if unit.states else ""
    reason = f"{unit.ending.replace('_', ' ')}: {unit.reason}" if unit.ending and unit.reason else unit.reason
    following = "" if held and unit.next == "run does it" else unit.next
    return [plain(text) for text in (unit.run_id, unit.state, str(unit.tries or ""), scored, reason, following)]


def _holder(found: StudyStatus) -> str:
    if found.holder:
        since = found.holder.since.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        return plain(f"held by process {found.holder.pid} on {found.holder.host} since {since}: {found.holder.doing}")
    return "held by another process" if found.held else "nobody works on it"
