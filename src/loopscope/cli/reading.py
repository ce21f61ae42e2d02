"""`analyze`, `report`, `agents list`, `measures verify`: verbs that only read. None needs Harbor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from loopscope.cli.console import Bars, Exit, err, out, plain, print_json, study_directory, verb
from loopscope.cli.tables import counted, plain_table, print_outcome
from loopscope.cli.with_intervals import with_intervals

StudyDir = Annotated[
    Path, typer.Argument(help="The study's directory, or its file.", show_default=False, callback=study_directory)
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]

_LONG = ("checkpoints", "builds", "evaluations", "intervals")
"""Tables of many rows: read them from their files. What `intervals` says of random tasks stands beside each number."""

agents_app = typer.Typer(help="The agents that a study can name.", no_args_is_help=True)
measures_app = typer.Typer(help="The measures themselves.", no_args_is_help=True)


@verb
def analyze(
    study: StudyDir,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Most processes at once; one per processor.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Find the evidence of every run, compute the measures, write the tables. What is unchanged is not read again."""
    from loopscope.analysis.build import analyze as analyze_study

    bars = Bars()
    with bars.running():
        result = analyze_study(
            study,
            lambda done, total, name: bars.update("analyze", done, total, ""),
            workers=workers or len(os.sched_getaffinity(0)),
        )
    for warning in result.summary.warnings:
        err.print(f"[yellow]warning:[/] {plain(warning)}")
    if json:
        frames = {name: frame.to_dicts() for name, frame in result.frames.items() if name not in _LONG}
        print_json(
            {"study": result.summary.model_dump(mode="json"), "renewed": list(result.renewed)}
            | with_intervals(frames, result.frames["intervals"].to_dicts())
        )
    else:
        print_outcome(result)
        out.print(f"{counted(result.frames['runs'].height, 'run')}, {len(result.renewed)} analysed anew")
        out.print(f"tables: {study / 'tables'}")
    if result.faults:
        raise typer.Exit(Exit.FAILED)


@verb
def report(
    study: StudyDir,
    target: Annotated[Path | None, typer.Option("--out", help="Where the site goes; report/ in the study.")] = None,
    json: Json = False,
) -> None:
    """Make the static site from the tables and the records; it opens from a file, offline."""
    from loopscope.report import build_report

    page = build_report(study, target)
    print_json({"report": str(page)}) if json else out.print(f"report: {page.resolve()}")


@agents_app.command("list")
@verb
def agents_list(json: Json = False) -> None:
    """Built-in agents, and Harbor's when it is installed."""
    from loopscope.agents.registry import BUILT_IN, harbor_agents

    try:
        others = [name for name in harbor_agents() if name not in BUILT_IN]
    except ImportError:
        others = []
    if json:
        built_in = [{"name": n, "needs_model": k.needs_model, "summary": k.summary} for n, k in BUILT_IN.items()]
        print_json(built_in + [{"name": name, "needs_model": True, "summary": "Harbor's"} for name in others])
        return
    rows = [[name, "no", kind.summary] for name, kind in BUILT_IN.items()]
    rows += [[name, "yes", "Harbor's"] for name in others]
    out.print(plain_table(["agent", "model", "what it is"], rows))
    out.print("any other: import path `package.module:Class` of a Harbor agent")


@measures_app.command("verify")
@verb
def measures_verify(
    file: Annotated[Path, typer.Argument(help="JSON file of worked cases.", show_default=False)], json: Json = False
) -> None:
    """Check worked cases against the measures, exactly; every mismatch is printed and fails the command."""
    from loopscope.analysis.vectors import verify_vectors

    found = verify_vectors(file)
    if json:
        print_json(
            {
                "cases": found.cases,
                "passed": found.passed,
                "mismatches": [
                    {"case": m.case, "key": m.key, "expected": m.expected, "got": m.got, "why": m.why}
                    for m in found.mismatches
                ],
                "problems": list(found.problems),
            }
        )
    else:
        for line in (*found.problems, *map(str, found.mismatches)):
            out.print(line, markup=False)
        out.print(f"{found.passed} of {found.cases} cases hold ({found.values} values compared)")
    raise typer.Exit(Exit.OK if found.ok else Exit.FAILED)
