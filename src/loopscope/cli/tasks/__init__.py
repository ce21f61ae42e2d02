"""`loopscope tasks ...`: one module per verb."""

from __future__ import annotations

import typer

from loopscope.cli.tasks.listing import tasks_list

tasks_app = typer.Typer(
    help="Tasks: the built-in ones, others' taken in, what they are worth, new ones.", no_args_is_help=True
)
tasks_app.command("list")(tasks_list)
