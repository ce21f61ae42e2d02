"""`explain`: how each number of a run came about. Only reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loopscope.cli.console import err, out, plain, print_json, study_directory, verb


@verb
def explain(
    study: Annotated[
        Path,
        typer.Argument(
            help="The study's directory, or its file; or a run's own directory.",
            show_default=False,
            callback=study_directory,
        ),
    ],
    run: Annotated[
        str | None,
        typer.Argument(help="Id of the run, or an unambiguous part of it.", show_default="the only run"),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            help="Only this: checkpoints, score, c1, c2, c3, diagnostics, extras, transcript, usage, or the name of a "
            "number (a column of the table of runs); may be given repeatedly.",
            show_default="all",
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint", help="One commit with all that is seen of it: its position, or its id.", show_default=False
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Print step by step how the numbers of a run came about, with the messages of the transcript."""
    from loopscope.analysis.explain import explain_run, find_checkpoint, selected
    from loopscope.cli.explained import checkpoint_text, explanation_text

    directory, wanted = _place(study, run)
    told = explain_run(directory, wanted)
    if checkpoint is not None:
        one = find_checkpoint(told, checkpoint)
        told = selected(told.model_copy(update={"checkpoints": (one,)}), ["checkpoints", *(measure or ())])
    elif measure:
        told = selected(told, measure)
    if json:
        print_json(told)
        return
    for warning in told.warnings:
        err.print(f"[yellow]warning:[/] {plain(warning)}", soft_wrap=True)
    if checkpoint is not None:
        out.print(checkpoint_text(told, out.width), soft_wrap=True)
    if checkpoint is None or measure:
        out.print(explanation_text(told, out.width), soft_wrap=True)


def _place(study: Path, run: str | None) -> tuple[Path, str | None]:
    """A run's name alone, typed within the study's directory, is one too."""
    if run is None and not study.exists() and Path("runs").is_dir():
        return Path(), str(study)
    return study, run
