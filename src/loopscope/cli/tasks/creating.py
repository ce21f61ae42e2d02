"""`tasks new`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from loopscope.cli.console import out, print_json, verb
from loopscope.cli.reading import Json


class TaskLanguage(StrEnum):
    """Of a skeleton's starter."""

    PYTHON = "python"
    C = "c"


@verb
def tasks_new(
    name: Annotated[str, typer.Argument(help="The task's name: letters, digits and . _ -", show_default=False)],
    into: Annotated[Path, typer.Option("--into", help="Directory that the task's own is made in.")] = Path(),
    language: Annotated[
        TaskLanguage, typer.Option("--language", help="python: a puzzle, not timed; c: timed.")
    ] = TaskLanguage.PYTHON,
    json: Json = False,
) -> None:
    """Make a small, whole task to write your own from: it runs, and stands up to `tasks check`."""
    from loopscope.records.durable import publish_new
    from loopscope.tasks.errors import TaskError
    from loopscope.tasks.skeleton import new_task

    if Path(name).name != name or name in (".", ".."):
        raise TaskError(name, "is no name of a task", remedy="give it without slashes, and the directory with --into")
    made = new_task(into / name, language.value, publish=publish_new)
    if json:
        print_json({"task": name, "directory": str(made)})
        return
    out.print(f"made: {made}", markup=False)
    out.print(f"next: loopscope tasks calibrate {made} && loopscope tasks check {made}; docs/tasks.md", markup=False)
