"""`import_study`: take in an archive that may be anything, and give it a directory only when all of it is right."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from loopscope.models import ArchiveIndex, FileHash
from loopscope.records.archive import PREFIX, copy_member, members, open_archive, read_index
from loopscope.records.contents import misplaced
from loopscope.records.durable import RecordError, publish_new, remove_tree, scratch_name
from loopscope.records.finding import Severity, StudyCheck
from loopscope.records.store import StudyStore
from loopscope.records.tarstream import ArchiveError, Reader
from loopscope.records.tree import Kind, kind_of, spell
from loopscope.records.verify import TaskHash, verify_study

Notify = Callable[[int, int, str], None]
ENTRY_BYTES = 4096
"""What a file or a directory takes besides its bytes: an archive of a few KiB may hold a million empty ones."""
_ANEW = "take a whole copy of the archive, or export the study again"


@dataclass(frozen=True)
class Imported:
    """What was taken in."""

    directory: Path
    index: ArchiveIndex
    check: StudyCheck
    """Of the study as it lies there now: nothing in it is damaged; it may be incomplete, as it was exported."""


def import_study(
    archive: Path,
    target: Path,
    task_hash: TaskHash,
    *,
    max_bytes: int,
    notify: Notify = lambda done, total, name: None,
) -> Imported:
    """Unpack an archive of a study beside `target`, check it, and give it that name.

    Nothing of the archive is believed: names, kinds and sizes are held against its index, and the index against what a
    study can hold, before anything is written; files are made new in directories made new, and links come last, so that
    nothing is ever written through one.

    Args:
        archive: what `export_study` wrote, or what claims to be that.
        target: the study's directory; absent or empty.
        task_hash: as for `verify_study`.
        max_bytes: the most that is taken in, `ENTRY_BYTES` for each file and directory included.
        notify: called with (done, total, file) as files are written.

    Raises:
        RecordError: the archive is refused, or something lies at `target`.
    """
    _check_free(target)
    if not archive.is_file():
        raise RecordError(f"{archive}: no such file; give what `loopscope study export` wrote")
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = scratch_name(target)
    try:
        with open_archive(archive) as reader:
            index = read_index(archive, reader)
            _check_index(archive, index, max_bytes, target.parent)
            scratch.mkdir()
            _unpack(reader, index, scratch, notify)
        store = StudyStore(scratch)
        check = verify_study(store, task_hash, hasher=_from_index(store.path, index))
        if wrong := check.of(Severity.DAMAGED):
            raise RecordError(f"{archive}: holds a study that is damaged: {wrong[0].place}: {wrong[0].what}; {_ANEW}")
        _check_free(target)
        publish_new(scratch, target)
    except ArchiveError as error:
        raise RecordError(f"{archive}: {error}; {_ANEW}") from None
    finally:
        remove_tree(scratch)
    return Imported(target, index, check.model_copy(update={"study": str(target)}))


def _check_free(target: Path) -> None:
    kind = kind_of(target)
    if kind is None or (kind is Kind.DIRECTORY and not any(target.iterdir())):
        return
    raise RecordError(f"{target}: exists already, and nothing is overwritten; name a new directory with --into")


def _check_index(archive: Path, index: ArchiveIndex, max_bytes: int, folder: Path) -> None:
    """Everything that can be refused before anything is written."""
    if (name := misplaced(index)) is not None:
        raise ArchiveError(f"names {name[:200]!r}, which cannot be part of a study")
    entries = len(index.files) + len(index.directories) + len(index.links)
    size = sum(file.size for file in index.files.values()) + entries * ENTRY_BYTES
    if any(file.size < 0 for file in index.files.values()):
        raise ArchiveError("has a file of less than no bytes")
    if size > max_bytes:
        raise RecordError(
            f"{archive}: would unpack to {size / 1e9:.1f} GB ({entries} files and directories), more than "
            f"{max_bytes / 1e9:g}; allow more with --max-gb"
        )
    if size > (free := shutil.disk_usage(folder).free):
        raise RecordError(f"{archive}: would unpack to {size / 1e9:.1f} GB, and {free / 1e9:.1f} are free; make room")
    inodes = os.statvfs(folder)
    if inodes.f_files and entries > inodes.f_favail:  # some file systems count none
        raise RecordError(
            f"{archive}: would unpack to {entries} files and directories, and the file system of {folder} has room for "
            f"{inodes.f_favail} (`df -i`); make room, or name another place with --into"
        )


def _unpack(reader: Reader, index: ArchiveIndex, folder: Path, notify: Notify) -> None:
    """Make everything that the index lists; ArchiveError when the archive holds anything else."""
    total, done = len(index.files), 0
    for member, name in members(index, reader):
        path = folder / member.name.removeprefix(PREFIX)
        try:
            if member.kind is Kind.DIRECTORY:
                path.mkdir()
            elif member.kind is Kind.LINK:
                path.symlink_to(member.link)
            else:
                _make_file(reader, index, name, path)
                done += 1
                notify(done, total, name)
        except (FileExistsError, NotADirectoryError):
            raise ArchiveError(f"holds {name} twice") from None


def _make_file(reader: Reader, index: ArchiveIndex, name: str, path: Path) -> None:
    wanted = index.files[name]
    mode = 0o755 if wanted.executable else 0o644
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "wb") as file:
        copy_member(reader, wanted, name, file)


def _from_index(folder: Path, index: ArchiveIndex) -> Callable[[Path], FileHash]:
    """Hashes of the files that were just unpacked: they were taken on the way."""

    def hasher(path: Path) -> FileHash:
        file = index.files[spell(str(path.relative_to(folder)))]
        return FileHash(sha256=file.sha256, size=file.size)

    return hasher
