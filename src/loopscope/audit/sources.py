"""The files of a task, read once for all rules and probes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from loopscope.models.task import TaskInfo

_MOST_BYTES = 1 << 20
"""A larger file is data, not source."""


@dataclass(frozen=True)
class TaskSources:
    """A task's directory, parsed."""

    directory: Path
    info: TaskInfo

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """Regular files of at most 1 MiB below the directory, by path relative to it (`tests/verify.py`)."""
        found = {}
        for path in sorted(self.directory.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= _MOST_BYTES:
                found[path.relative_to(self.directory).as_posix()] = path.read_bytes()
        return found

    def text(self, name: str) -> str:
        """A file's text; empty where there is none. Bytes that are not UTF-8 are replaced."""
        return self.files.get(name, b"").decode("utf-8", "replace")

    def below(self, folder: str, *suffixes: str) -> Iterator[str]:
        """Names of files below a folder (`tests`), with one of these suffixes where any is given."""
        for name in self.files:
            path = PurePosixPath(name)
            if folder in [str(parent) for parent in path.parents] and (not suffixes or path.suffix in suffixes):
                yield name

    @cached_property
    def toml(self) -> Mapping[str, Any]:
        """task.toml; empty where it cannot be parsed."""
        try:
            return tomllib.loads(self.text("task.toml"))
        except tomllib.TOMLDecodeError:
            return {}
