"""`study verify`, `export`, `import`, `gc`: a study as files. None needs Harbor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from loopscope.cli.console import Bars, Exit, err, out, plain, print_json, study_directory, verb
from loopscope.models import Part

StudyDir = Annotated[
    Path, typer.Argument(help="The study's directory, or its file.", show_default=False, callback=study_directory)
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]

study_app = typer.Typer(help="A study as files: check it, pack it up, take it in, clean it.", no_args_is_help=True)
_COLOURS = {"damaged": "red", "incomplete": "yellow", "note": "dim"}


@study_app.command()
@verb
def verify(
    study: StudyDir,
    runs: Annotated[list[str] | None, typer.Argument(help="Ids of runs; all by default.", show_default=False)] = None,
    json: Json = False,
) -> None:
    """Check that a study is what was written, and whole: seals, hashes, runs and scores. Changes nothing."""
    from loopscope.records import RecordError, StudyStore
    from loopscope.records.finding import Severity
    from loopscope.records.store import RETIRED
    from loopscope.records.verify import verify_study
    from loopscope.tasks.copying import tree_hash

    store = StudyStore.open(study)
    places = (store.path / "runs", store.path / RETIRED)
    if unknown := sorted(name for name in runs or () if not any((place / name).exists() for place in places)):
        raise RecordError(f"{study}: no run is called {unknown[0]!r}; see {study / 'runs'}")
    with (bars := Bars()).running():
        check = verify_study(store, tree_hash, only=runs or (), notify=_shown(bars, "verify"))
    if json:
        print_json(check.model_dump(mode="json") | {"whole": check.whole})
    else:
        for finding in sorted(check.findings, key=lambda found: list(Severity).index(found.severity)):
            colour = _COLOURS[finding.severity]
            out.print(f"[{colour}]{finding.severity}[/] {plain(str(finding))}", soft_wrap=True)
        counts = {severity: len(check.of(severity)) for severity in Severity}
        unsealed = f", {len(check.unsealed)} of them not sealed (by an earlier version)" if check.unsealed else ""
        out.print(f"{check.runs} runs looked at{unsealed}; " + ", ".join(f"{n} {s}" for s, n in counts.items()))
    raise typer.Exit(Exit.OK if check.whole else Exit.FAILED)


@study_app.command("export")
@verb
def export(
    study: StudyDir,
    target: Annotated[Path | None, typer.Option("--out", help="The archive; NAME.loopscope.tar.zst here.")] = None,
    without: Annotated[str, typer.Option(help=f"Parts to leave out, with commas: {', '.join(Part)}.")] = "",
    json: Json = False,
) -> None:
    """Pack a study into one file, checked on the way in and read back; equal studies give equal bytes."""
    from loopscope.records import StudyStore
    from loopscope.records.archive import SUFFIX, export_study
    from loopscope.tasks.copying import tree_hash

    store = StudyStore.open(study)
    file = target or Path(f"{store.path.name}{SUFFIX}")
    with (bars := Bars()).running():
        done = export_study(store, file, tree_hash, left_out=_parts(without), notify=_shown(bars, "export"))
    if not done.held:
        err.print(
            f"[yellow]warning:[/] {plain(str(study))}: this user may not write there, so it could not be held; "
            "every file was checked, but what a run added meanwhile may be missing"
        )
    if json:
        print_json(
            {"file": str(done.file), "files": done.files, "bytes": done.bytes, "archive_bytes": done.archive_bytes}
        )
    else:
        out.print(f"{done.file}: {done.files} files, {_size(done.bytes)} in {_size(done.archive_bytes)}")
        out.print(f"next: loopscope study import {done.file} --into DIR")


@study_app.command("import")
@verb
def import_(
    archive: Annotated[Path, typer.Argument(help="What `loopscope study export` wrote.", show_default=False)],
    into: Annotated[Path | None, typer.Option(help="The study's directory, absent or empty; the file's name.")] = None,
    max_gb: Annotated[float, typer.Option(min=0, help="Refuse what would unpack to more.")] = 100,
    json: Json = False,
) -> None:
    """Unpack an archive of a study, whoever made it; it gets its directory only when all of it is right."""
    from loopscope.records.archive import SUFFIX
    from loopscope.records.finding import Severity
    from loopscope.records.importing import import_study
    from loopscope.tasks.copying import tree_hash

    target = into or Path(archive.name.removesuffix(SUFFIX))
    if into is None and target.name == archive.name:
        target = Path(f"{archive.name}.study")
    with (bars := Bars()).running():
        done = import_study(archive, target, tree_hash, max_bytes=int(max_gb * 1e9), notify=_shown(bars, "import"))
    for finding in done.check.of(Severity.INCOMPLETE):
        err.print(f"[yellow]incomplete[/] {plain(str(finding))}", soft_wrap=True)
    if json:
        print_json(
            {
                "directory": str(done.directory),
                "study": done.index.study,
                "runs": done.check.runs,
                "left_out": list(done.index.left_out),
                "incomplete": [finding.model_dump(mode="json") for finding in done.check.of(Severity.INCOMPLETE)],
            }
        )
    else:
        left_out = f", without {', '.join(done.index.left_out)}" if done.index.left_out else ""
        out.print(f"{done.directory}: {done.index.study}, {done.check.runs} runs{left_out}", markup=False)
        out.print(f"next: loopscope analyze {done.directory} && loopscope report {done.directory}", markup=False)


@study_app.command()
@verb
def gc(
    study: StudyDir,
    retired: Annotated[bool, typer.Option("--retired", help="Also runs that the study no longer has, wholly.")] = False,
    attempts: Annotated[bool, typer.Option("--attempts", help="Also what earlier tries of rollouts left.")] = False,
    native: Annotated[bool, typer.Option("--native", help="Also agents' own logs; transcripts stay.")] = False,
    workspaces: Annotated[
        bool, typer.Option("--workspaces", help="Also compressed workspaces of runs whose every state is scored.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove it; without this, only say what would go.")] = False,
    json: Json = False,
) -> None:
    """Show what can go: leftovers of killed processes, and what else is asked for. Records and scores always stay."""
    from loopscope.records import StudyStore
    from loopscope.records.gc import Garbage, collect_garbage

    asked = {
        Garbage.RETIRED: retired,
        Garbage.ATTEMPTS: attempts,
        Garbage.NATIVE: native,
        Garbage.WORKSPACES: workspaces,
    }
    store = StudyStore.open(study)
    with (bars := Bars()).running():
        wanted = [garbage for garbage, is_asked in asked.items() if is_asked]
        found = collect_garbage(store, wanted, remove=yes, notify=_shown(bars, "gc"))
    if json:
        print_json(found.model_dump(mode="json") | {"bytes": found.bytes})
        return
    for item in found.items:
        out.print(f"{item.garbage:<11} {_size(item.bytes):>9}  {item.place}", markup=False, soft_wrap=True)
    for line in found.kept:
        err.print(f"[yellow]kept:[/] {plain(line)}", soft_wrap=True)
    what = f"{len(found.items)} {'item' if len(found.items) == 1 else 'items'}, {_size(found.bytes)}"
    if not found.items:
        out.print(f"{what}: there is nothing to remove")
    elif found.removed:
        out.print(f"{what} removed")
    else:
        out.print(f"{what} would go; nothing was touched. `--yes` removes it")


def _parts(text: str) -> set[Part]:
    from loopscope.records import RecordError

    names = {name.strip() for name in text.split(",")} - {""}
    if unknown := sorted(names - set(Part)):
        raise RecordError(f"--without {unknown[0]}: no part of a study; choose of {', '.join(Part)}")
    return {Part(name) for name in names}


def _shown(bars: Bars, phase: str) -> Callable[[int, int, str], None]:
    return lambda done, total, name: bars.update(phase, done, total, "")


def _size(count: int) -> str:
    size, units = float(count), ["B", "kB", "MB", "GB"]
    while size >= 1000 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.0f} {units[0]}" if units[0] == "B" else f"{size:.1f} {units[0]}"
