"""`collect_garbage`: what of a study can go, and its removal. Records and scores of its runs always stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from enum import StrEnum
from pathlib import Path

from loopscope.models import Part, Record, RunStatus, StudyLock
from loopscope.records.completeness import wanting
from loopscope.records.contents import RETIRED_TASKS
from loopscope.records.durable import (
    RecordError,
    is_scratch,
    read_model,
    remove_tree,
    returns_to,
    scratch_name,
    sync_directory,
    write_model,
)
from loopscope.records.manifest import REMOVED, removal, removed_parts
from loopscope.records.store import LOCK_FILE, RETIRED, RunDir, StudyStore
from loopscope.records.tree import Kind, kind_of, spell, tree_size


class Garbage(StrEnum):
    """Kinds of what can go."""

    LEFTOVERS = "leftovers"
    """Unfinished work of killed processes. Always asked for."""
    RETIRED = "retired"
    """Whole runs, and tasks, that the study no longer has."""
    ATTEMPTS = "attempts"
    NATIVE = "native"
    WORKSPACES = "workspaces"
    """Of runs whose every state is scored."""


class Removable(Record):
    """One file or directory that can go."""

    garbage: Garbage
    place: str
    """Below the study's directory."""
    bytes: int


class Collected(Record):
    """What can go, or what went."""

    removed: bool
    """False: nothing was touched."""
    items: tuple[Removable, ...]
    kept: tuple[str, ...] = ()
    """What was asked for and stays, with the reason."""

    @property
    def bytes(self) -> int:
        """Of all items."""
        return sum(item.bytes for item in self.items)


_PARTS = {Garbage.ATTEMPTS: Part.ATTEMPTS, Garbage.NATIVE: Part.NATIVE, Garbage.WORKSPACES: Part.WORKSPACE}


def collect_garbage(
    store: StudyStore,
    asked: Collection[Garbage],
    *,
    remove: bool,
    notify: Callable[[int, int, str], None] = lambda done, total, name: None,
) -> Collected:
    """Find what can go, and remove it if told to.

    A part of a run is noted as removed (`removed.json`) before it goes, so that `verify` never takes it for lost,
    whatever dies when. What goes takes an unfinished name first, so that nothing half removed has its own.

    Args:
        store: the study; it is held meanwhile, since what another process is working on is no leftover.
        asked: what may go besides leftovers.
        remove: whether to remove it.
        notify: called with (done, total, place) as things are removed.

    Raises:
        StudyError: another process holds the study.
    """
    with store.hold():
        finder = _Finder(store, frozenset(asked) | {Garbage.LEFTOVERS})
        items = tuple(finder.items())
        if remove:
            for done, item in enumerate(items):
                notify(done, len(items), item.place)
                _remove(finder.paths[item.place], _PARTS.get(item.garbage))
            notify(len(items), len(items), "")
    return Collected(removed=remove, items=items, kept=tuple(finder.kept))


class _Finder:
    def __init__(self, store: StudyStore, asked: frozenset[Garbage]) -> None:
        self._store, self._root, self._asked = store, store.path, asked
        self.paths: dict[str, Path] = {}
        self.kept: list[str] = []

    def items(self) -> Iterator[Removable]:
        runs, retired = self._children("runs"), self._children(RETIRED)
        yield from self._leftovers(runs, retired)
        if Garbage.RETIRED in self._asked:
            for path in (*retired, *self._children(RETIRED_TASKS)):
                yield self._item(Garbage.RETIRED, path)
            retired = []
        for run in (*runs, *retired):
            yield from self._parts(run)
        if Garbage.WORKSPACES in self._asked:
            for run in runs:
                yield from self._workspace(run)

    def _children(self, name: str) -> list[Path]:
        folder = self._root / name
        paths = sorted(folder.iterdir()) if kind_of(folder) is Kind.DIRECTORY else []
        folders = (path for path in paths if not is_scratch(path) and kind_of(path) is Kind.DIRECTORY)
        return [path for path in folders if path != self._root / RETIRED_TASKS]

    def _leftovers(self, runs: list[Path], retired: list[Path]) -> Iterator[Removable]:
        tops = [self._root, *(self._root / name for name in ("runs", RETIRED, "tasks"))]
        for folder in (*tops, *(inner for run in (*runs, *retired) for inner in (run, run / "scores"))):
            if kind_of(folder) is Kind.DIRECTORY:
                for path in sorted(filter(is_scratch, folder.iterdir())):
                    if target := returns_to(path):
                        self.kept.append(
                            f"{self._place(path)}: stays, for the next start makes it {spell(target.name)} again"
                        )
                    else:
                        yield self._item(Garbage.LEFTOVERS, path)

    def _parts(self, run: Path) -> Iterator[Removable]:
        if Garbage.ATTEMPTS in self._asked and kind_of(run / "attempts") is Kind.DIRECTORY:
            yield self._item(Garbage.ATTEMPTS, run / "attempts")
        if Garbage.NATIVE in self._asked:
            attempts = run / "attempts"
            tries = attempts.iterdir() if kind_of(attempts) is Kind.DIRECTORY else ()
            for folder in (run, *(() if Garbage.ATTEMPTS in self._asked else sorted(tries))):
                if kind_of(folder / "native") is not Kind.DIRECTORY:
                    continue
                if folder.parent == self._root / "runs" and kind_of(folder / "evidence.json") is None:
                    self.kept.append(
                        f"{self._place(folder / 'native')}: stays, for evidence may be read from it; analyze first"
                    )
                else:
                    yield self._item(Garbage.NATIVE, folder / "native")

    def _workspace(self, path: Path) -> Iterator[Removable]:
        run = RunDir(path)
        if kind_of(run.workspace) is not Kind.FILE:
            return
        try:
            lock = read_model(self._root / LOCK_FILE, StudyLock)
            task = self._store.task(run.record.task)
            every = lock.scoring.model_copy(update={"max_checkpoints": None})
            lacks = wanting(run.record, run.scores(), every, task.info, has_workspace=True)
            lacking = next(lacks, None)
            if run.record.run_id != path.name:
                lacking = ("final", f"is not its own: the record beside it is that of {run.record.run_id}")
            if run.record.status is RunStatus.ENVIRONMENT_ERROR:
                lacking = ("final", "may come from another try")
        except RecordError as error:
            self.kept.append(f"{self._place(run.workspace)}: stays, for its run cannot be read ({error})")
            return
        if lacking:
            self.kept.append(f"{self._place(run.workspace)}: stays, for the state {lacking[0]} {lacking[1]}")
        else:
            yield self._item(Garbage.WORKSPACES, run.workspace)

    def _place(self, path: Path) -> str:
        return spell(str(path.relative_to(self._root)))

    def _item(self, garbage: Garbage, path: Path) -> Removable:
        place = self._place(path)
        self.paths[place] = path
        return Removable(garbage=garbage, place=place, bytes=tree_size(path))


def _remove(path: Path, part: Part | None) -> None:
    if part is not None:
        write_model(path.parent / REMOVED, removal(removed_parts(path.parent) | {part}))
    aside = path if is_scratch(path) else scratch_name(path)
    if aside != path:
        path.rename(aside)
        sync_directory(path.parent)
    if kind_of(aside) is Kind.DIRECTORY:
        if not remove_tree(aside):
            raise RecordError(f"{aside}: cannot be removed; remove it by hand")
    else:
        aside.unlink(missing_ok=True)
    sync_directory(path.parent)
