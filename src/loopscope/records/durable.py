"""Durable files: temporary, fsync, rename; and typed reading with errors that name the file and the field."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import stat
from io import BufferedReader
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from loopscope.models.base import NEWER_VERSION
from loopscope.models.seal import document, must_be_sealed, unseal
from loopscope.records.scratch import SCRATCH_PREFIX as SCRATCH_PREFIX
from loopscope.records.scratch import is_scratch as is_scratch
from loopscope.records.scratch import remove_tree as remove_tree
from loopscope.records.scratch import returns_to as returns_to
from loopscope.records.scratch import scratch_name as scratch_name

RESTORE = "restore the file (from an archive: `loopscope study import`), or remove it and run again"
CHANGED = "seal: it was changed after loopscope wrote it, so its numbers cannot be vouched for"

MAX_DOCUMENT = 64 << 20
"""Bytes; a larger file is no document and not read into memory. What a record says is bounded where it is made
(`history.py`), so that no agent's repository makes one that cannot be read again."""

_MACHINE_FAULTS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)
_AT_FDCWD = -100
_RENAME_NOREPLACE, _RENAME_EXCHANGE = 1, 2


class RecordError(Exception):
    """A recorded file is missing or cannot be read. The message names file, field and remedy."""


def sync_directory(path: Path) -> None:
    """Make sure that the names in a directory are on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_dirs(path: Path) -> None:
    """Make a directory and what is missing above it, durably: a new directory's own name is lost in a power cut too."""
    if path.is_dir():
        return
    make_dirs(path.parent)
    path.mkdir(exist_ok=True)
    sync_directory(path.parent)


def write_bytes(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: readers see the old content or the new, whatever dies when."""
    make_dirs(path.parent)
    scratch = scratch_name(path)
    try:
        with scratch.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def publish(scratch: Path, target: Path) -> None:
    """Give a finished scratch file or directory its name, durably. An older target is replaced.

    A directory changes places with the older one in one step where the file system can do that, so that the name is
    never without a whole directory. Where it cannot, the older one steps aside meanwhile; `sweep` brings it back when
    its successor never came.
    """
    _sync_all(scratch)
    if target.is_dir() and not target.is_symlink():
        replaced = scratch if _exchange(scratch, target) else _step_aside(scratch, target)
        sync_directory(target.parent)
        remove_tree(replaced)
    else:
        scratch.replace(target)
        sync_directory(target.parent)


def _step_aside(scratch: Path, target: Path) -> Path:
    """Put `scratch` in the place of `target`, in two steps; where the older directory lies now."""
    aside = target.with_name(f"{SCRATCH_PREFIX}old-{secrets.token_hex(3)}-{target.name}")
    target.rename(aside)
    try:
        scratch.replace(target)
    except OSError:
        aside.rename(target)
        raise
    return aside


def publish_new(scratch: Path, target: Path) -> None:
    """The same where nothing is ever replaced: the name must be free; for a directory, an empty one may lie there.

    Raises:
        OSError: something lies there (`FileExistsError` where a file is to be published).
    """
    _sync_all(scratch)
    if scratch.is_dir():
        scratch.rename(target)
    elif (number := _renameat2(scratch, target, _RENAME_NOREPLACE)) in (errno.EINVAL, errno.ENOSYS):
        target.hardlink_to(scratch)
        scratch.unlink()
    elif number:
        raise OSError(number, os.strerror(number), str(target))
    sync_directory(target.parent)


def _sync_all(path: Path) -> None:
    if not path.is_dir():
        _fsync_file(path)
    for folder, _, names in os.walk(path):
        for name in names:
            _fsync_file(Path(folder) / name)
        sync_directory(Path(folder))


def _fsync_file(path: Path) -> None:
    if path.is_symlink():  # kept by its directory
        return
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _exchange(one: Path, other: Path) -> bool:
    """Let two names change places atomically (Linux, most file systems); False where that is not to be had."""
    return _renameat2(one, other, _RENAME_EXCHANGE) == 0


def _renameat2(one: Path, other: Path, flag: int) -> int:
    """renameat2(2); 0 or the error's number, ENOSYS where the system has no such call."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return errno.ENOSYS
    done = rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), flag)
    return 0 if done == 0 else ctypes.get_errno()


def is_machine_fault(error: BaseException) -> bool:
    """Whether an error speaks of this machine (disk full, no memory, no descriptors) and not of what was read."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _MACHINE_FAULTS)


def sweep(folder: Path) -> list[Path]:
    """Bring back what stepped aside, and remove what else killed processes left unfinished directly in `folder`.

    Returns what would not go.
    """
    stayed = []
    for path in list(folder.glob(f"{SCRATCH_PREFIX}*")) if folder.is_dir() else ():
        if target := returns_to(path):
            path.rename(target)
            sync_directory(folder)
        elif path.is_dir() and not path.is_symlink():
            if not remove_tree(path):
                stayed.append(path)
        else:
            path.unlink(missing_ok=True)
    return stayed


def write_model(path: Path, model: BaseModel) -> None:
    """Write a recorded type as JSON, durably, sealed where its type says so; equal models give equal bytes."""
    write_bytes(path, document(model))


def draft_model(path: Path, model: BaseModel) -> None:
    """The same inside an unfinished directory, which `publish` makes durable as a whole: nothing waits for the disk."""
    path.write_bytes(document(model))


def read_model[Model: BaseModel](path: Path, kind: type[Model]) -> Model:
    """Read a recorded type. What is no plain file (a link, a pipe) is not opened.

    Raises:
        RecordError: the file is absent, no JSON, a field does not fit, a newer version wrote it, or it was changed
            after it was written; names file, field and remedy.
    """
    try:
        data = read_plain(path)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EINVAL):
            raise RecordError(f"{path}: is no plain file, and was not opened; {RESTORE}") from None
        raise RecordError(f"{path}: cannot be read ({error.strerror}); is this a study directory?") from None
    return parse_model(path, data, kind)


def parse_model[Model: BaseModel](path: Path, data: bytes, kind: type[Model]) -> Model:
    """The same for bytes that were read from `path`."""
    body, whole = unseal(data)
    try:
        model = kind.model_validate_json(body)
    except ValidationError as error:
        if whole is not True and first_of(error)["loc"] == ("seal",):  # it stands where loopscope writes none
            raise RecordError(f"{path}: {CHANGED}; {RESTORE}") from None
        newer = any(found["type"] == NEWER_VERSION for found in error.errors(include_url=False))
        remedy = "" if newer else f"; {RESTORE}"
        raise RecordError(f"{path}: {explain(error)}{remedy}") from None
    if whole is False or (whole is None and must_be_sealed(kind, body)):
        raise RecordError(f"{path}: {CHANGED}; {RESTORE}")
    return model


def read_plain(path: Path) -> bytes:
    """Bytes of a plain file; OSError for what is none or larger than documents are. Nothing is followed or awaited."""
    with open_plain(path) as file:
        if os.fstat(file.fileno()).st_size > MAX_DOCUMENT:
            raise OSError(errno.EFBIG, "larger than any document", str(path))
        return file.read(MAX_DOCUMENT)


def open_plain(path: Path) -> BufferedReader:
    """Open a plain file for reading; see `read_plain`."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a plain file", str(path))
    return os.fdopen(fd, "rb")


def first_of(error: ValidationError) -> ErrorDetails:
    """What to name first: an unknown field before a missing one, for it often is the missing one misspelt."""
    found = error.errors(include_url=False)
    return next((one for one in found if one["type"] == "extra_forbidden"), found[0])


def explain(error: ValidationError) -> str:
    """The first problem of a validation error, on one line: field and what is wrong with it."""
    first = first_of(error)
    field = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" if field else message
