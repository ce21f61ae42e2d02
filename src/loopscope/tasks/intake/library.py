"""Take the tasks of a source into a library: a directory of task directories that studies name by path."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from loopscope.tasks.catalog import builtin_names
from loopscope.tasks.copying import copy_tree, entries, tree_hash
from loopscope.tasks.errors import TaskError
from loopscope.tasks.intake.fetch import Source
from loopscope.tasks.intake.formula import mismatches, read_scoring
from loopscope.tasks.intake.records import Obstacle, State, Taken
from loopscope.tasks.load import TaskReading, read_task
from loopscope.tasks.prepare import Publish

MOST_BYTES = 1 << 30
"""Of one task."""
MOST_ENTRIES = 20_000
MOST_TASKS = 2_000
_DEEPEST = 4
"""Directories between a source and its tasks."""
RECORD = "intake.json"

Look = Callable[[TaskReading], Sequence[Obstacle]]
"""What of a task this machine cannot give."""
Notes = Callable[[TaskReading], Sequence[str]]


@dataclass(frozen=True)
class Naming:
    """What tasks are called in the library."""

    alone: str | None = None
    """The name of the only task."""
    prefix: str = ""

    def of(self, found: str) -> str:
        """The name of what is called so in its source."""
        return self.alone or f"{self.prefix}{found}"


def find_tasks(root: Path) -> list[Path]:
    """Directories with a task.toml, sorted: `root` itself, or those below it; not those within another task, nor links.

    Raises:
        TaskError: there is none, or there are absurdly many.
    """
    found = list(_walk(root, 0))
    if not found:
        raise TaskError(
            root, "holds no task (no directory with a task.toml)", remedy="give a Harbor task directory or one above"
        )
    if len(found) > MOST_TASKS:
        raise TaskError(root, f"holds more than {MOST_TASKS} tasks", remedy="give a part of it")
    return found


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    if (folder / "task.toml").is_file():
        yield folder
        return
    if depth == _DEEPEST:
        return
    with os.scandir(folder) as listed:
        inner = sorted(entry.name for entry in listed if entry.is_dir(follow_symlinks=False) and entry.name != ".git")
    for name in inner:
        yield from _walk(folder / name, depth + 1)


def take(
    source: Source, library: Path, naming: Naming, *, look: Look, notes: Notes, publish: Publish
) -> Iterator[Taken]:
    """Take every task of a source, one after the other; a bad one is told of, and the others are taken.

    Args:
        source: where they are.
        library: the directory that gets them; made if it is absent.
        naming: their names there.
        look: what keeps a task from running here.
        notes: what is different here from what its author meant.
        publish: gives a finished directory its name, whole or not at all.

    Raises:
        TaskError: the source holds no task, or `--as` is given for several.
    """
    found = find_tasks(source.directory)
    if naming.alone is not None and len(found) > 1:
        remedy = "use --prefix, or give the directory of one task"
        raise TaskError(source.origin, f"holds {len(found)} tasks, and --as names one", remedy=remedy)
    library.mkdir(parents=True, exist_ok=True)
    for task in found:
        place = task.relative_to(source.directory).as_posix()
        name = naming.of(task.resolve().name if place == "." else task.name)
        scratch = Path(tempfile.mkdtemp(prefix=".tmp-", dir=library))
        try:
            yield _take(task, place, scratch / name, library, look, notes, publish)
        except (TaskError, OSError, ValueError, RecursionError) as error:
            said = str(error).replace(str(scratch / name), place).replace(str(source.directory), source.origin)
            yield Taken(name=name, place=place, state=State.REFUSED, problem=" ".join(said.split())[:600])
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _take(task: Path, place: str, fresh: Path, library: Path, look: Look, notes: Notes, publish: Publish) -> Taken:
    name = fresh.name
    if fresh.parent.parent != library or name in ("", ".", ".."):
        raise TaskError(task, f"cannot be called {name!r}", remedy="give a name without /")
    if name in builtin_names():
        raise TaskError(task, f"is named like the built-in task {name}", remedy="add it with --prefix or --as")
    _bounded(task)
    copy_tree(task, fresh)
    reading = read_task(fresh)
    content = tree_hash(fresh)
    state = _state(task, library / name, content)
    scoring = read_scoring(fresh)
    taken = Taken(
        name=name,
        place=place,
        state=state,
        info=reading.info,
        content_hash=content,
        notes=(*reading.notes, *notes(reading)),
        obstacles=tuple(look(reading)),
        scoring=scoring,
        mismatches=mismatches(reading.info.anchors, scoring),
    )
    if state is State.ADDED:
        publish(fresh, library / name)
    return taken


def _state(task: Path, target: Path, content: str) -> State:
    if not target.exists() and not target.is_symlink():
        return State.ADDED
    if target.is_dir() and not target.is_symlink() and tree_hash(target) == content:
        return State.PRESENT
    raise TaskError(
        task,
        f"another task named {target.name} lies in {target.parent}",
        remedy="add this one with --prefix or --as, or give another directory with --into",
    )


def _bounded(task: Path) -> None:
    """Before anything is copied: a hostile directory can hold more than the disk."""
    size = 0
    for count, (_, status) in enumerate(entries(task), start=1):
        size += status.st_size if stat.S_ISREG(status.st_mode) else 0
        if count > MOST_ENTRIES or size > MOST_BYTES:
            raise TaskError(
                task,
                f"is larger than {MOST_ENTRIES} entries or {MOST_BYTES >> 20} MiB",
                remedy="leave out what it does not need",
            )
