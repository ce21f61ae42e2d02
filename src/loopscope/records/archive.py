"""`export_study`: a study as one file, the same bytes for the same study.

A zstd frame with a tar: `index.json` first, then, in its order, directories, files and links below `study/`. A
skippable frame ends it, so that a file that was cut short is told from its last bytes.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO, cast

import zstandard

from loopscope.models import ArchivedFile, ArchiveIndex, FileHash, Part
from loopscope.models.seal import document
from loopscope.records.contents import Contents, Source, collect
from loopscope.records.durable import RecordError, parse_model, publish_new, scratch_name
from loopscope.records.finding import Severity
from loopscope.records.settled import only_imported, settled
from loopscope.records.store import StudyStore
from loopscope.records.studyfile import STUDY_FILE, load_study
from loopscope.records.tarstream import ArchiveError, Member, Reader, header, writer
from loopscope.records.tree import Kind, name_of
from loopscope.records.verify import TaskHash, verify_study

SUFFIX = ".loopscope.tar.zst"
INDEX = "index.json"
PREFIX = "study/"
TIME = 315_532_800
"""1980-01-01, the time of every member."""
MAX_INDEX = 1 << 28
"""Bytes of an index, enough for a million files."""
MAX_INDEX_RATIO, SMALL_INDEX = 100, 16 << 20
"""An index is no larger than so many times its archive: each file's hash stands in it, and those cannot be compressed.
A small one always is read."""
MAX_WINDOW = 1 << 27
_TRAILER = b"\x50\x2a\x4d\x18" + (16).to_bytes(4, "little") + b"loopscope: whole"
Notify = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Exported:
    """What was written."""

    file: Path
    files: int
    bytes: int
    """Of the study's files."""
    archive_bytes: int
    held: bool = True
    """Nobody could write to the study meanwhile; False where its directory lets the caller only read."""


def export_study(
    store: StudyStore,
    target: Path,
    task_hash: TaskHash,
    *,
    left_out: Collection[Part] = (),
    notify: Notify = lambda done, total, name: None,
) -> Exported:
    """Write a study into one file, durably, and read it back before it gets its name.

    Args:
        store: the study; nothing may write to it meanwhile, so it is held where that is possible.
        target: the file; nothing may lie there.
        task_hash: as for `verify_study`.
        left_out: parts that are not put in.
        notify: called with (done, total, file) as files are written.

    Raises:
        StudyError: another process holds the study, or its file cannot be read.
        RecordError: the study is damaged (an archive of it could not be taken in again), or `target` exists.
    """
    if os.path.lexists(target):
        raise _occupied(target)
    with store.hold_to_read() as held:
        check = verify_study(store, task_hash, hasher=None)
        if wrong := check.of(Severity.DAMAGED):
            more = f" (and {len(wrong) - 1} more: `loopscope study verify`)" if len(wrong) > 1 else ""
            raise RecordError(f"{store.path}/{wrong[0]}{more}")
        parts = frozenset(left_out)
        contents = collect(store.path, parts)
        index = _index(_name(store.path), contents, parts)
        scratch = scratch_name(target)
        try:
            with scratch.open("xb") as file:
                _write(file, index, contents.files, notify)
            try:
                _read_back(scratch)
            except ArchiveError as error:
                raise RecordError(
                    f"{target}: what was written cannot be read back: it {error}; look at the disk"
                ) from None
            size = scratch.stat().st_size
            _publish(scratch, target)
        finally:
            scratch.unlink(missing_ok=True)
    return Exported(target, len(index.files), sum(f.size for f in index.files.values()), size, held)


def _name(study: Path) -> str:
    """As the study file has it; of a study of imported runs alone, as it was called then."""
    return settled(study).name if only_imported(study) else load_study(study / STUDY_FILE).name


def _occupied(target: Path) -> RecordError:
    return RecordError(f"{target}: exists already, and nothing is overwritten; name another file with --out")


def _publish(scratch: Path, target: Path) -> None:
    try:
        publish_new(scratch, target)
    except FileExistsError:  # it came while the archive was written
        raise _occupied(target) from None


def _index(study: str, contents: Contents, left_out: frozenset[Part]) -> ArchiveIndex:
    files = {
        name: ArchivedFile(sha256=source.hash.sha256, size=source.hash.size, executable=source.executable)
        for name, source in contents.files.items()
    }
    return ArchiveIndex(
        study=study,
        created_by=f"loopscope {version('loopscope')}",
        left_out=tuple(sorted(left_out)),
        directories=contents.directories,
        files=files,
        links=contents.links,
    )


def _write(file: IO[bytes], index: ArchiveIndex, sources: dict[str, Source], notify: Notify) -> None:
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    data = document(index)
    with compressor.stream_writer(file, closefd=False) as sink, writer(sink) as tar:
        tar.addfile(header(Member(INDEX, Kind.FILE, len(data), False, ""), TIME), io.BytesIO(data))
        for done, (member, name) in enumerate(expected(index)):
            stream = sources[name].open() if member.kind is Kind.FILE else None
            notify(done, len(index.files), name)
            if stream is None:
                tar.addfile(header(member, TIME))
                continue
            with stream:
                hashed = _Hashed(stream)
                tar.addfile(header(member, TIME), hashed)
            if hashed.result() != sources[name].hash:
                raise RecordError(
                    f"{sources[name].path}: its bytes are not those of its manifest; `loopscope study verify` says more"
                )
    file.write(_TRAILER)


class _Hashed(io.RawIOBase):
    """Reads on and hashes what it gives."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._digest, self._size = stream, hashlib.sha256(), 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size)
        self._digest.update(data)
        self._size += len(data)
        return data

    def result(self) -> FileHash:
        return FileHash(sha256=self._digest.hexdigest(), size=self._size)


def expected(index: ArchiveIndex) -> Iterator[tuple[Member, str]]:
    """The members that follow an index, in order, each with its name there."""
    for name in index.directories:
        yield Member(PREFIX + name_of(name), Kind.DIRECTORY, 0, True, ""), name
    for name, file in index.files.items():
        yield Member(PREFIX + name_of(name), Kind.FILE, file.size, file.executable, ""), name
    for name, link in index.links.items():
        yield Member(PREFIX + name_of(name), Kind.LINK, 0, False, name_of(link)), name


@contextmanager
def open_archive(path: Path) -> Iterator[Reader]:
    """An archive, member by member.

    Raises:
        ArchiveError: it is cut short, or no archive of ours; also while it is read.
    """
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END) - len(_TRAILER)
        file.seek(max(0, size))
        if size < 0 or file.read() != _TRAILER:
            raise ArchiveError("is cut short, or is no archive of a study")
        file.seek(0)
        decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
        try:
            first = cast(IO[bytes], _First(file, size))
            with decompressor.stream_reader(first, read_across_frames=True, closefd=False) as stream:
                yield Reader(stream)
        except zstandard.ZstdError as error:
            raise ArchiveError(f"is damaged ({error})") from None


class _First(io.RawIOBase):
    """The first bytes of a file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data


def read_index(path: Path, reader: Reader) -> ArchiveIndex:
    """The index of an archive that was just opened.

    Raises:
        ArchiveError: the first member is none.
        RecordError: it cannot be read, or a newer version wrote it.
    """
    member = reader.next()
    most = min(MAX_INDEX, max(SMALL_INDEX, MAX_INDEX_RATIO * path.stat().st_size))
    if member is None or member.name != INDEX or member.kind is not Kind.FILE or member.size > most:
        raise ArchiveError("does not begin with the index of a study")
    return parse_model(Path(f"{path}:{INDEX}"), b"".join(reader.chunks()), ArchiveIndex)


def members(index: ArchiveIndex, reader: Reader) -> Iterator[tuple[Member, str]]:
    """Every member after the index, held against it: none more, none less, none other, in its order.

    Raises:
        ArchiveError: one differs.
    """
    for wanted, name in expected(index):
        found = reader.next()
        if found != wanted:
            raise ArchiveError(
                f"does not hold what its index says: {name} is {'absent' if found is None else 'another'}"
            )
        yield found, name
    if reader.next() is not None:
        raise ArchiveError("holds more than its index says")


def copy_member(reader: Reader, wanted: ArchivedFile, name: str, sink: IO[bytes] | None) -> None:
    """Read the bytes of a file, into `sink` if there is one; ArchiveError when they are not those of the index."""
    digest = hashlib.sha256()
    for chunk in reader.chunks():
        digest.update(chunk)
        if sink is not None:
            sink.write(chunk)
    if digest.hexdigest() != wanted.sha256:
        raise ArchiveError(f"is damaged: the bytes of {name} are not those of its index")


def _read_back(path: Path) -> None:
    with open_archive(path) as reader:
        index = read_index(path, reader)
        for member, name in members(index, reader):
            if member.kind is Kind.FILE:
                copy_member(reader, index.files[name], name, None)
