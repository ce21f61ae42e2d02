"""`loopscope tasks ...`: one module per verb."""

from __future__ import annotations

import typer

from loopscope.cli.tasks.adding import tasks_add
from loopscope.cli.tasks.calibrating import tasks_calibrate
from loopscope.cli.tasks.checking import tasks_check
from loopscope.cli.tasks.creating import tasks_new
from loopscope.cli.tasks.listing import tasks_list

tasks_app = typer.Typer(
    help="Tasks: the built-in ones, others' taken in, what they are worth, new ones.", no_args_is_help=True
)
tasks_app.command("add")(tasks_add)
tasks_app.command("list")(tasks_list)
tasks_app.command("calibrate")(tasks_calibrate)
tasks_app.command("check")(tasks_check)
tasks_app.command("new")(tasks_new)
