"""`tasks add`: take others' tasks into a library, each on its own, and say which can run here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loopscope.cli.console import Bars, Exit, err, out, plain, print_json, require_run_extra, verb
from loopscope.cli.reading import Json
from loopscope.cli.tables import counted, plain_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loopscope.tasks.intake import Intake, Scoring, Taken

_NAMES = "NAME=PATH"
_MOST_SHOWN = 3
"""Obstacles of one kind on the screen; the record has all."""


@verb
def tasks_add(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME] SOURCE",
            help="A directory of Harbor tasks or a git URL; before it what to call it, such as autolab.",
            show_default=False,
        ),
    ],
    into: Annotated[Path | None, typer.Option("--into", help="The library; ./NAME.", show_default=False)] = None,
    alone: Annotated[str | None, typer.Option("--as", help="Name of the only task.", show_default=False)] = None,
    prefix: Annotated[str, typer.Option("--prefix", help="Put before every task's name.", show_default=False)] = "",
    tools: Annotated[
        list[str] | None,
        typer.Option("--toolchain", metavar=_NAMES, help="As in `toolchains` of a study file.", show_default=False),
    ] = None,
    packages: Annotated[
        list[str] | None,
        typer.Option(
            "--python", metavar="PACKAGE", help="As in `python_packages`; again for more.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Take the tasks of a directory or git repository into a library, and say of each whether it can run here.

    One bad task never keeps the others out. A study file names them by path: `autolab/hash_join`.
    """
    require_run_extra()
    from loopscope.audit.here import Here
    from loopscope.records import write_bytes
    from loopscope.records.durable import publish_new
    from loopscope.sandbox.errors import SandboxError
    from loopscope.tasks.intake import RECORD, Intake, Naming, State, opened, take

    if len(given) > 2:
        raise typer.BadParameter(f"{given[2]!r} is one too many: give a name and a source, or a source alone")
    source = given[-1]
    collection = given[0] if len(given) == 2 else _called(source)
    try:
        here = Here(_kwargs(tools or [], packages or []))
    except SandboxError as error:
        raise typer.BadParameter(str(error)) from None
    library = (into or Path(collection)).expanduser().absolute()
    library.parent.mkdir(parents=True, exist_ok=True)
    bars = Bars()
    with bars.running(), opened(source, library.parent) as found:
        taken = []
        for task in take(
            found, library, Naming(alone, prefix), look=here.obstacles, notes=here.notes, publish=publish_new
        ):
            taken.append(task)
            bars.update("add", len(taken), len(taken), "")
        intake = Intake(
            collection=collection,
            origin=found.origin,
            commit=found.commit,
            toolchains=here.toolchains(),
            tasks=tuple(taken),
        )
    write_bytes(library / RECORD, intake.model_dump_json(indent=1).encode() + b"\n")
    if json:
        print_json(intake)
    else:
        _show(intake, library)
    if any(task.state is State.REFUSED for task in intake.tasks):
        raise typer.Exit(Exit.FAILED)


def _called(source: str) -> str:
    """A name for a source that was given none: the last part of its path."""
    name = source.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")
    return name if name not in ("", ".", "..") else Path(source).expanduser().resolve().name


def _kwargs(tools: Sequence[str], packages: Sequence[str]) -> dict[str, object]:
    """Environment kwargs, from what stands on the command line."""
    kwargs: dict[str, object] = {}
    if tools:
        pairs = [tool.partition("=") for tool in tools]
        if wrong := next((name for name, sign, path in pairs if not (sign and path)), None):
            raise typer.BadParameter(f"{wrong!r}: write NAME=PATH, such as rust=~/.rustup")
        kwargs["toolchains"] = {name: path for name, _, path in pairs}
    if packages:
        kwargs["python_packages"] = list(packages)
    return kwargs


def _show(intake: Intake, library: Path) -> None:
    from loopscope.tasks.intake import State

    rows = [
        [plain(t.name), _verdict(t), _why(t), _formula(t.scoring), plain("; ".join(_differs(t)))]
        for t in intake.tasks
        if t.state is not State.REFUSED
    ]
    out.print(plain_table(["task", "here", "why not", "reward", "task.toml differs"], rows))
    for tool in intake.toolchains:
        out.print(
            plain(f"mounted: {tool.name} from {tool.source} at {tool.inside}, {tool.version or 'version unknown'}")
        )
    for task in intake.tasks:
        if task.state is State.REFUSED:
            err.print(f"[bold red]refused:[/] {plain(task.problem or task.place)}", soft_wrap=True)
    good = [task for task in intake.tasks if task.state is not State.REFUSED]
    new = sum(task.state is State.ADDED for task in good)
    out.print(
        f"{counted(new, 'task')} added to {plain(str(library))}, {len(good) - new} there already, "
        f"{len(intake.tasks) - len(good)} refused; {sum(task.runs_here for task in good)} can run here"
    )
    if good:
        shown = _relative(library) / good[0].name
        out.print(
            f"in a study file: tasks: \\[{plain(str(shown))}]; all that was read: {plain(str(library))}/intake.json"
        )


def _relative(library: Path) -> Path:
    return library.relative_to(Path.cwd()) if library.is_relative_to(Path.cwd()) else library


def _verdict(task: Taken) -> str:
    return "yes" if task.runs_here else "no"


def _why(task: Taken) -> str:
    """Each kind of obstacle once; of programs and modules their names, of programs the way to get them too."""
    by_kind: dict[str, list[str]] = {}
    for obstacle in task.obstacles:
        bring = f" ({obstacle.remedy})" if obstacle.kind == "toolchain" else ""
        what = obstacle.what.removeprefix("lacks ").removeprefix("the Python module ")
        by_kind.setdefault(obstacle.kind.value, []).append(what + bring)
    shown = {
        kind: found if len(found) <= _MOST_SHOWN else [*found[:_MOST_SHOWN], "..."] for kind, found in by_kind.items()
    }
    return plain("; ".join(f"{kind}: {', '.join(found)}" for kind, found in shown.items()))


def _formula(scoring: Scoring) -> str:
    """Form and anchors: `log 2.5 to 0.15 = 0.5`: the reference is worth that."""
    ends = [str(n.value) if n else "?" for n in (scoring.baseline, scoring.reference)]
    worth = "" if scoring.at_reference is None else f" = {float(scoring.at_reference):g}"
    return f"{scoring.form.value} {ends[0]} to {ends[1]}{worth}"


def _differs(task: Taken) -> list[str]:
    return [f"{m.field} {m.stated}, verifier {m.read} ({m.where})" for m in task.mismatches]
