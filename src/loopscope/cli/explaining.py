"""`explain`: how each number of a run came about, or one number of the whole study. Only reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from loopscope.cli.console import err, out, plain, print_json, study_directory, verb


class Reading(StrEnum):
    """How a reading is typed."""

    RANDOM_TASKS = "random_tasks"
    FIXED_TASKS = "fixed_tasks"


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
    number: Annotated[
        str | None,
        typer.Option(
            "--number",
            help="Instead of a run: a number of the study with its interval, such as avg_at_k, c2 or cost_usd.",
            show_default=False,
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            help="Instead of a run: the order of the agents by avg_at_k, best_at_k or c2, and whether it would stand.",
            show_default=False,
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent", help="Of --number: whose; `all agents`: the mean of all.", show_default="the only agent"
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", help="Of --number: its difference to that of this agent.", show_default=False),
    ] = None,
    category: Annotated[
        str | None, typer.Option("--category", help="Of --number: only this family of tasks.", show_default="all")
    ] = None,
    reading: Annotated[
        Reading | None,
        typer.Option(
            "--reading",
            help="Of --number: tasks as drawn from others like them, or just these tasks.",
            show_default="random_tasks",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")] = False,
) -> None:
    """Print step by step how the numbers of a run came about, with the messages of the transcript.

    With --number: how one number of the study and its interval came about, with the runs behind it. With --order: how
    sure the order of its agents is.
    """
    from loopscope.models.tables import OVERALL

    of_number = {"--agent": agent, "--against": against, "--category": category, "--reading": reading}
    of_run = {"RUN": run, "--measure": measure, "--checkpoint": checkpoint}
    place = category or OVERALL, (reading or Reading.RANDOM_TASKS).replace("_", " ")
    if order is not None:
        _refuse({"--number": number, "--agent": agent, "--against": against, **of_run}, "with --order")
        _order(study, order, place, json=json)
        return
    _refuse(of_number if number is None else of_run, f"{'without' if number is None else 'with'} --number")
    if number is None:
        _run(study, run, measure, checkpoint, json=json)
        return
    if against is None:
        _number(study, number, agent, place, json=json)
    elif agent is None:
        raise typer.BadParameter("--against needs --agent: whose number is held against that one's")
    else:
        _difference(study, number, (agent, against), place, json=json)


def _refuse(options: Mapping[str, object], where: str) -> None:
    """BadParameter for the first of these that was given."""
    for name, value in options.items():
        if value:
            raise typer.BadParameter(f"{name} does not go {where}")


def _order(study: Path, measure: str, place: tuple[str, str], *, json: bool) -> None:
    from loopscope.analysis.explain.order import explain_order
    from loopscope.cli.explained_order import order_text

    told = explain_order(study, measure, *place)
    print_json(told) if json else out.print(order_text(told, out.width), soft_wrap=True)


def _run(study: Path, run: str | None, measure: list[str] | None, checkpoint: str | None, *, json: bool) -> None:
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
    _warn(told.warnings)
    if checkpoint is not None:
        out.print(checkpoint_text(told, out.width), soft_wrap=True)
    if checkpoint is None or measure:
        out.print(explanation_text(told, out.width), soft_wrap=True)


def _number(study: Path, number: str, agent: str | None, place: tuple[str, str], *, json: bool) -> None:
    from loopscope.analysis.explain.number import explain_number
    from loopscope.cli.explained_number import number_text

    told = explain_number(study, number, agent, *place)
    _warn(() if json else told.warnings)
    print_json(told) if json else out.print(number_text(told, out.width), soft_wrap=True)


def _difference(study: Path, number: str, agents: tuple[str, str], place: tuple[str, str], *, json: bool) -> None:
    from loopscope.analysis.explain.difference import explain_difference
    from loopscope.cli.explained_number import difference_text

    told = explain_difference(study, number, *agents, *place)
    _warn(() if json else told.warnings)
    print_json(told) if json else out.print(difference_text(told, out.width), soft_wrap=True)


def _warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        err.print(f"[yellow]warning:[/] {plain(warning)}", soft_wrap=True)


def _place(study: Path, run: str | None) -> tuple[Path, str | None]:
    """A run's name alone, typed within the study's directory, is one too."""
    if run is None and not study.exists() and Path("runs").is_dir():
        return Path(), str(study)
    return study, run
