"""Durable files: temporary, fsync, rename; and typed reading with errors that name the file and the field."""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from pydantic import BaseModel, ValidationError

SCRATCH_PREFIX = ".tmp-"
"""Every unfinished file or directory starts like this; the next start removes what a killed process left."""


class RecordError(Exception):
    """A recorded file is missing or cannot be read. The message names file, field and remedy."""


def _fsync_dir(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def scratch_name(path: Path) -> Path:
    """A fresh unfinished name beside `path`, on the same file system so that rename is atomic."""
    return path.with_name(f"{SCRATCH_PREFIX}{secrets.token_hex(6)}-{path.name[:80]}")


def write_bytes(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: readers see the old content or the new, whatever dies when."""
    path.parent.mkdir(parents=True, exist_ok=True)
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
    _fsync_dir(path.parent)


def publish(scratch: Path, target: Path) -> None:
    """Give a finished scratch file or directory its name. An older target is replaced.

    A directory cannot replace another atomically; the old one is moved aside first and removed after.
    """
    for folder, _, names in os.walk(scratch):
        for name in names:
            fd = os.open(Path(folder) / name, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        _fsync_dir(Path(folder))
    old = scratch_name(target) if target.is_dir() else None
    if old:
        target.rename(old)
    scratch.replace(target)
    _fsync_dir(target.parent)
    if old:
        shutil.rmtree(old, ignore_errors=True)


def sweep(folder: Path) -> int:
    """Remove what killed processes left unfinished directly in `folder`; the number of things removed."""
    removed = 0
    if folder.is_dir():
        for path in folder.glob(f"{SCRATCH_PREFIX}*"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            removed += 1
    return removed


def write_model(path: Path, model: BaseModel) -> None:
    """Write a recorded type as JSON, durably; equal models give equal bytes."""
    write_bytes(path, (model.model_dump_json(indent=1) + "\n").encode())


def read_model[Model: BaseModel](path: Path, kind: type[Model]) -> Model:
    """Read a recorded type.

    Raises:
        RecordError: the file is absent, no JSON, or a field does not fit; names file, field and remedy.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror}); is this a study directory?") from None
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise RecordError(f"{path}: {explain(error)}; restore the file or remove it and run again") from None


def explain(error: ValidationError) -> str:
    """The first problem of a validation error, on one line: field and what is wrong with it."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" if field else message
