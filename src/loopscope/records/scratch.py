"""What is unfinished: the names that it has, and its removal whatever it holds."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

SCRATCH_PREFIX = ".tmp-"
"""Every unfinished file or directory starts like this; the next start removes what a killed process left."""
_ASIDE = re.compile(rf"{re.escape(SCRATCH_PREFIX)}old-[0-9a-f]{{6}}-(?P<name>.+)", re.DOTALL)
"""A whole directory that stepped aside for its successor; the name it had is its own again should none have come."""


def scratch_name(path: Path) -> Path:
    """A fresh unfinished name beside `path`, on the same file system so that rename is atomic."""
    return path.with_name(f"{SCRATCH_PREFIX}{secrets.token_hex(6)}-{path.name[:80]}")


def remove_tree(path: Path) -> bool:
    """Remove a directory whatever modes it holds: agents leave some without permissions. False if anything stayed."""

    if not os.path.lexists(path):
        return True

    def unlock(function: Callable[..., object], name: str, _: BaseException) -> None:
        for locked in (Path(name).parent, Path(name)):
            if locked.is_relative_to(path) and locked.is_dir() and not locked.is_symlink():
                locked.chmod(0o700)
        if Path(name).is_dir() and not Path(name).is_symlink():
            shutil.rmtree(name, ignore_errors=True)
        else:
            Path(name).unlink(missing_ok=True)

    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(path, onexc=unlock)
    if path.is_dir() and not path.is_symlink():
        _remove_deep(path)
    return not path.exists()


def _remove_deep(path: Path) -> None:
    """Remove a directory, as far as it goes, that is nested deeper than a path is long: parts move up to its top."""
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError):
            folder.chmod(0o700)
            with os.scandir(folder) as listed:
                entries = list(listed)
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        Path(entry).chmod(0o700)
                        waiting.append(Path(entry).rename(path / f"{SCRATCH_PREFIX}{secrets.token_hex(6)}"))
                    else:
                        Path(entry).unlink()
            if folder != path:
                folder.rmdir()
    with contextlib.suppress(OSError):
        path.rmdir()


def is_scratch(path: Path) -> bool:
    """Whether a file or directory is something unfinished."""
    return path.name.startswith(SCRATCH_PREFIX)


def returns_to(path: Path) -> Path | None:
    """The name that a directory had before it stepped aside for a successor, if a kill kept the successor away."""
    found = _ASIDE.fullmatch(path.name)
    if found is None or not path.is_dir() or path.is_symlink():
        return None
    target = path.with_name(found["name"])
    return None if os.path.lexists(target) else target
