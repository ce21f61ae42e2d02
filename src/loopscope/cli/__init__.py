"""Thin verbs over the calls a notebook would make."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from loopscope.cli import reading, running
from loopscope.cli.console import Exit, err, out
from loopscope.cli.demonstration import demo
from loopscope.cli.doctor import doctor
from loopscope.cli.explaining import explain
from loopscope.cli.importing import import_
from loopscope.cli.power import power
from loopscope.cli.signals import listen
from loopscope.cli.status import status
from loopscope.cli.study import study_app
from loopscope.cli.tasks import tasks_app

app = typer.Typer(
    help="See inside the research loop of coding agents: run them, score every commit, measure, report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.command()(doctor)
app.command()(running.run)
app.command()(running.score)
app.command()(status)
app.command("import")(import_)
app.command()(reading.analyze)
app.command()(explain)
app.command()(power)
app.command()(reading.report)
app.add_typer(study_app, name="study")
app.add_typer(tasks_app, name="tasks")
app.add_typer(reading.agents_app, name="agents")
app.add_typer(reading.measures_app, name="measures")


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"loopscope {version('loopscope')}")
        raise typer.Exit


@app.callback()
def _main(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    pass


def main() -> None:
    """The command, once it is loaded (`loopscope.command`)."""
    try:
        listen()
        app()
    except KeyboardInterrupt:  # before or after a verb's own care for it
        err.print("stopped")
        sys.exit(Exit.INTERRUPTED)
