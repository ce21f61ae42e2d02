"""`import`: agents' own logs become runs of a study. Needs no Harbor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopscope.cli.console import Bars, Exit, err, out, plain, print_json, study_directory, verb
from loopscope.cli.tables import counted, plain_table

if TYPE_CHECKING:
    from loopscope.imports import Report

_FEW = 60
"""So many runs are listed one by one."""


@verb
def import_(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Logs, or directories of logs.", show_default=False)
    ],
    into: Annotated[
        Path,
        typer.Option(help="The study's directory, or a new one.", show_default=False, callback=study_directory),
    ],
    format: Annotated[str | None, typer.Option(help="Format of the logs; found by itself.", show_default=False)] = None,
    task: Annotated[str | None, typer.Option(help="Task of the logs that name none.", show_default=False)] = None,
    category: Annotated[str | None, typer.Option(help="Family of the task.", show_default=False)] = None,
    agent: Annotated[
        str | None, typer.Option(help="Label in tables; the model's or the harness's name.", show_default=False)
    ] = None,
    evaluator: Annotated[
        list[Path] | None,
        typer.Option(help="Evaluator file of a task (docs/evaluators.md); can be repeated.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Take in runs of Claude Code, Codex, OpenCode, Kimi Code, Harbor, Inspect and others from their own logs."""
    from loopscope.imports import Options, import_logs

    bars = Bars()
    options = Options(format, task, category, agent, tuple(evaluator or ()))
    with bars.running():
        report = import_logs(paths, into, options, lambda done, total, name: bars.update("import", done, total, ""))
    for warning in report.warnings:
        err.print(f"[yellow]warning:[/] {plain(warning)}")
    for unread in report.unread:
        err.print(f"[red]not imported:[/] {plain(unread.name)}: {plain(unread.reason)}", soft_wrap=True)
    if json:
        print_json(_data(report))
    else:
        _tell(report)
    if not report.unread:
        raise typer.Exit(Exit.OK)
    raise typer.Exit(Exit.FAILED if report.taken else Exit.BAD_INPUT)


def _data(report: Report) -> dict[str, object]:
    return {
        "study": str(report.study),
        "runs": [
            {
                "run_id": found.run_id,
                "log": found.log,
                "format": found.format,
                "harness": found.harness,
                "messages": found.messages,
                "calls": found.calls,
                "notes": found.notes,
                "new": found.new,
            }
            for found in report.taken
        ],
        "not_imported": [{"log": unread.name, "reason": unread.reason} for unread in report.unread],
        "evaluators": list(report.evaluators),
        "warnings": report.warnings,
    }


def _tell(report: Report) -> None:
    shown = report.taken if len(report.taken) <= _FEW else [found for found in report.taken if found.notes]
    if shown:
        rows = [
            [
                plain(found.run_id),
                found.format,
                str(found.messages),
                str(found.calls),
                str(found.notes),
                _what(found.new),
            ]
            for found in shown
        ]
        out.print(plain_table(["run", "format", "messages", "calls", "notes", ""], rows))
    known = len(report.taken) - report.new
    lines = [f"{counted(report.new, 'run')} imported"]
    lines += [f"{counted(known, 'log')} known already"] if known else []
    lines += [f"{counted(len(report.unread), 'log')} not"] if report.unread else []
    out.print(", ".join(lines))
    if report.evaluators:
        out.print(plain(f"evaluators kept: {', '.join(report.evaluators)}"))
    if any(found.notes for found in report.taken):
        out.print("notes: what a reader could not take as it stands; a run's record.json has them (`imported.notes`)")
    if report.taken:
        out.print(f"next: loopscope analyze {report.study}", markup=False, soft_wrap=True)


def _what(new: bool) -> str:
    return "" if new else "known already, unchanged"
