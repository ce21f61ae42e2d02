"""Read the repository out of a harvested workspace: commits, the clean initial state, what was left uncommitted."""

from __future__ import annotations

import hashlib
import re
import shutil
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from dulwich.ignore import IgnoreFilter

from loopscope.models import Commit, PreparedTask, Problem
from loopscope.records.durable import is_machine_fault
from loopscope.records.history import read_history
from loopscope.records.repository import Repository, TreeUnreadable
from loopscope.records.salvage import Salvage, salvage
from loopscope.records.workspace import FileEntry, Listing, list_workspace


@dataclass
class RepositoryReading:
    """What the record says about version control."""

    commits: tuple[Commit, ...] = ()
    head: str | None = None
    clean_initial: str | None = None
    ambiguous_initial: str | None = None
    uncommitted: bool | None = None
    problems: list[Problem] = field(default_factory=list)

    def note(self, kind: str, message: str) -> None:
        """Add a problem of the harvest stage; what is no text is shown escaped."""
        text = message.encode("utf-8", "backslashreplace").decode()
        self.problems.append(Problem(kind=kind, stage="harvest", message=text))


def read_repository(folder: Path, baseline: Path, task: PreparedTask) -> RepositoryReading:
    """Salvage `folder/workspace.tar.zst` into `folder/repository` and read it.

    Args:
        baseline: archive of the untouched workspace, for the path audit of the first commit.
    """
    reading = RepositoryReading()
    workspace = folder / "workspace.tar.zst"
    if not workspace.is_file():
        return reading
    try:
        report = salvage(workspace, folder / "repository")
    except Exception as error:  # as below
        if is_machine_fault(error):
            raise
        report = Salvage(notes=[f"{type(error).__name__}: {error}"[:500]])
    for note in report.notes[:20]:
        reading.note("repository_damaged", note)
    if not report.found:
        shutil.rmtree(folder / "repository", ignore_errors=True)
        reading.note("no_repository", "no git repository in the work directory; nothing but the final state is scored")
        return reading
    try:
        repository = Repository(folder / "repository")
        try:
            _read(repository, workspace, baseline, task, reading)
        finally:
            repository.close()
    except Exception as error:  # hostile data finds ways; the workspace archive keeps it all for another look
        if is_machine_fault(error):
            raise
        shutil.rmtree(folder / "repository", ignore_errors=True)
        found = f"{type(error).__name__}: {error}"[:500]
        failed = RepositoryReading(problems=reading.problems)
        failed.note("repository_unreadable", f"{found}; only the final state is scored, all is kept in the workspace")
        return failed
    return reading


def _read(
    repository: Repository, workspace: Path, baseline: Path, task: PreparedTask, reading: RepositoryReading
) -> None:
    history = read_history(repository)
    listing = list_workspace(workspace)
    reading.head = history.head
    reading.commits = tuple(_with_snapshot(commit, listing) for commit in history.commits)
    if not listing.complete:
        reading.note("workspace_too_many_files", "the workspace holds more files than are looked at; all are kept")
    if history.rewritten:
        reading.note("history_rewritten", "some commits are no ancestors of HEAD; all that survive are scored")
    for note in history.notes:
        reading.note("history_cut", note)
    if not history.commits:
        reading.note("no_commit", "the repository holds no commit")
        return
    first = next((c for c in history.commits if c.superseded_by is None), history.commits[0])
    if baseline.is_file():
        found = audit_initial(repository, first, _untouched(baseline, _stamp(baseline)), task.info.editable)
        reading.clean_initial = first.sha if found is Initial.CLEAN else None
        reading.ambiguous_initial = first.sha if found is Initial.AMBIGUOUS else None
    head = next((c for c in history.commits if c.sha == history.head), None)
    if head is not None:
        reading.uncommitted = _differs(repository, head, listing)


@lru_cache(maxsize=64)
def _untouched(baseline: Path, _: tuple[int, int]) -> dict[bytes, FileEntry]:
    """Files of a baseline archive. A task that changed has another one under the same name."""
    return list_workspace(baseline).files


def _stamp(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_ino, status.st_mtime_ns


def _with_snapshot(commit: Commit, listing: Listing) -> Commit:
    """Attach `output_snapshot/<commit>_<time>`: the directory whose name begins with this commit's id."""
    for name in sorted(listing.snapshots, reverse=True):
        prefix = name.split(b"_", 1)[0].decode("ascii", "replace")
        if len(prefix) >= 7 and commit.sha.startswith(prefix) and name.isascii():
            digest = hashlib.sha256()
            for path, entry in sorted(listing.snapshots[name].items()):
                digest.update(b"%s\0%o\0%s\0" % (path, entry.mode, entry.blob))
            return commit.model_copy(update={"snapshot": name.decode("ascii"), "snapshot_id": digest.hexdigest()})
    return commit


_MAX_RULES = 500
_COSTLY = re.compile(rb"[^/]*\*[^/*]+\*[^/*]+\*|\[.*\[")
"""Rules with more than two stars in one part of a path: matching them backtracks, and some backtrack for ever."""


class Initial(StrEnum):
    """What the path audit makes of a first commit."""

    CLEAN = "clean"
    """Every file is the prepared task's, and none is missing that the commit does not ignore."""
    AMBIGUOUS = "ambiguous"
    """What it tracks of the prepared task is unchanged, but files are left out or others were added."""
    CHANGED = "changed"
    """A prepared path differs, or a file that a solution may change is missing: it holds the agent's work."""


def audit_initial(
    repository: Repository, commit: Commit, baseline: dict[bytes, FileEntry], editable: tuple[str, ...]
) -> Initial:
    """Compare a first commit with the untouched workspace, path by path."""
    try:
        files = dict(repository.files(commit.tree.encode()))
    except TreeUnreadable:
        return Initial.CHANGED
    if any(path in baseline and baseline[path] != entry for path, entry in files.items()):
        return Initial.CHANGED
    missing = baseline.keys() - files.keys()
    if not files or any(name.encode() in missing for name in editable):
        return Initial.CHANGED
    ignored = _ignore_filter(repository, commit)
    if files.keys() <= baseline.keys() and all(ignored.is_ignored(path) for path in missing):
        return Initial.CLEAN
    return Initial.AMBIGUOUS


def _differs(repository: Repository, head: Commit, listing: Listing) -> bool:
    try:
        files = dict(repository.files(head.tree.encode()))
    except TreeUnreadable:
        return True
    ignored = _ignore_filter(repository, head)
    return any(
        files.get(path) != listing.files.get(path) and not (path not in files and ignored.is_ignored(path))
        for path in files.keys() | listing.files.keys()
    )


def _ignore_filter(repository: Repository, commit: Commit) -> IgnoreFilter:
    """The rules of the commit's own root .gitignore, those that can be matched in no time."""
    tree = repository.tree(commit.tree.encode())
    entry = tree[b".gitignore"] if tree is not None and b".gitignore" in tree else None
    text = repository.blob(entry[1]) if entry else None
    lines = (text or b"").splitlines()[:_MAX_RULES]
    try:
        return IgnoreFilter([line for line in lines if len(line) <= 255 and not _COSTLY.search(line)])
    except Exception:  # hostile patterns may not compile; then nothing counts as ignored
        return IgnoreFilter([])
