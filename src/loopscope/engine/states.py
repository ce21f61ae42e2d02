"""Make what a verifier is shown: the tar of one state, and which files of the image it replaces."""

from __future__ import annotations

import contextlib
import tarfile
from dataclasses import dataclass
from pathlib import Path

from loopscope.models import Commit
from loopscope.records.repository import Repository, TreeUnreadable
from loopscope.records.workspace import SNAPSHOTS, is_scored, member_path, open_tar

MAX_PATH = 3800
"""Bytes; longer paths can be made step by step but not be opened, so no verifier could read them. They are left out."""

_BLOCK = 4096
_FILE_BYTES = 16 << 10
"""A file system of the sandbox has a file's place for so many bytes."""


@dataclass(frozen=True)
class State:
    """One state, ready for replay."""

    tar: Path
    remove: frozenset[bytes] | None
    """Paths below the work directory to remove first; None empties it, because the tar is the whole workspace."""


def room_bytes(tar: Path) -> int:
    """What a state takes in a file system, from above: whole blocks, and files to a share of the space each."""
    files = blocks = 0
    with open_tar(tar) as archive:
        for member in archive:
            files += 1
            blocks += 1 + (-(-member.size // _BLOCK) if member.isreg() else 0)
    return max(blocks * _BLOCK * 33 // 32, files * _FILE_BYTES)  # a file system keeps some for itself


def final_state(workspace: Path, target: Path) -> State:
    """The frozen workspace without version control and bookkeeping, times and modes as the agent left them."""
    kept: set[str] = set()
    with open_tar(workspace) as source, _create(target) as sink:
        for member in source:
            path = member_path(member)
            if path is None or not is_scored(path) or len(path) > MAX_PATH:
                continue
            member.name = "./" + path.decode("utf-8", "surrogateescape")
            if member.isreg():
                sink.addfile(member, source.extractfile(member))
            elif member.islnk():
                member.linkname = "./" + member.linkname.removeprefix("./")
                if member.linkname not in kept:
                    continue
                sink.addfile(member)
            elif member.issym() or member.isdir():
                sink.addfile(member)
            else:
                continue
            kept.add(member.name)
    return State(target, None)


def commit_state(
    repository: Repository, commit: Commit, workspace: Path, tracked: frozenset[bytes], target: Path, max_bytes: int
) -> State:
    """A commit's tree, with its output snapshot laid over `output/`.

    Args:
        tracked: every path that any commit of the run tracks. What of these the commit lacks is removed from the image;
            files that were never tracked (large data, ignored) stay as the image has them.
        max_bytes: of the tree's files: none that was committed in a sandbox holds more than could come out of it.
    """
    mtime = commit.commit_time.timestamp() if commit.commit_time else 0.0
    written = repository.write_state(commit.tree.encode(), target, max(0.0, mtime), max_bytes)
    if commit.snapshot:
        written |= _add_snapshot(workspace, commit.snapshot, target)
    return State(target, (tracked - written) | _in_the_way(tracked, written))


def tracked_paths(repository: Repository, commits: tuple[Commit, ...]) -> frozenset[bytes]:
    """Paths of all files in all commits of a run."""
    paths: set[bytes] = set()
    for tree in {commit.tree for commit in commits}:
        with contextlib.suppress(TreeUnreadable):  # that commit itself will have no score
            paths.update(path for path, _ in repository.files(tree.encode()))
    return frozenset(paths)


def _in_the_way(tracked: frozenset[bytes], written: set[bytes]) -> frozenset[bytes]:
    """Directories that a written file replaces."""
    folders = {path[: path.rindex(b"/")] for path in tracked if b"/" in path}
    return frozenset(folders & written)


def _create(target: Path) -> tarfile.TarFile:
    return tarfile.open(target, "x", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape")


def _add_snapshot(workspace: Path, snapshot: str, target: Path) -> set[bytes]:
    """Add a snapshot's files to a state's tar; what it brings wins over what the tree has at the same place."""
    prefix = SNAPSHOTS + b"/" + snapshot.encode("utf-8", "surrogateescape") + b"/"

    def place(member: tarfile.TarInfo) -> bytes | None:
        path = member_path(member)
        if path is None or not path.startswith(prefix) or not member.isreg() or len(path) > MAX_PATH:
            return None
        inside = b"output/" + path.removeprefix(prefix)
        return inside if is_scored(inside) else None

    with open_tar(workspace) as source:
        brought = {path for member in source if (path := place(member))}
    plain = target.with_suffix(".plain.tar")
    target.rename(plain)
    with _create(target) as sink:
        with open_tar(plain) as source:
            for member in source:
                if (member_path(member) or b"") not in brought:
                    sink.addfile(member, source.extractfile(member) if member.isreg() else None)
        with open_tar(workspace) as source:
            for member in source:
                if path := place(member):
                    member.name = "./" + path.decode("utf-8", "surrogateescape")
                    sink.addfile(member, source.extractfile(member))
    plain.unlink()
    return brought
