"""The files of a task, read once for all rules and probes."""

from __future__ import annotations

import ast
import fnmatch
import posixpath
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from loopscope.models.task import TaskInfo

_MOST_BYTES = 1 << 20
"""A larger file is data, not source."""
_MOST_FILES = 5000
_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)\s+(.*)", re.DOTALL)


@dataclass(frozen=True)
class Instruction:
    """One line of a Dockerfile, continuation lines joined."""

    keyword: str
    """Upper case."""
    rest: str
    line: int


@dataclass(frozen=True)
class TaskSources:
    """A task's directory, parsed."""

    directory: Path
    info: TaskInfo

    @cached_property
    def files(self) -> Mapping[str, bytes]:
        """Regular files of at most 1 MiB below the directory, by path relative to it (`tests/verify.py`)."""
        found: dict[str, bytes] = {}
        for path in sorted(self.directory.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= _MOST_BYTES:
                found[path.relative_to(self.directory).as_posix()] = path.read_bytes()
            if len(found) >= _MOST_FILES:
                break
        return found

    def text(self, name: str) -> str:
        """A file's text; empty where there is none. Bytes that are not UTF-8 are replaced."""
        return self.files.get(name, b"").decode("utf-8", "replace")

    def below(self, folder: str, *suffixes: str) -> Iterator[str]:
        """Names of files below a folder (`tests`), with one of these suffixes where any is given."""
        for name in self.files:
            if name.startswith(folder + "/") and (not suffixes or PurePosixPath(name).suffix in suffixes):
                yield name

    @cached_property
    def toml(self) -> Mapping[str, Any]:
        """task.toml; empty where it cannot be parsed."""
        try:
            return tomllib.loads(self.text("task.toml"))
        except tomllib.TOMLDecodeError:
            return {}

    @cached_property
    def dockerfile(self) -> tuple[Instruction, ...]:
        """The instructions of environment/Dockerfile."""
        found, held, first = [], "", 0
        for number, raw in enumerate(self.text("environment/Dockerfile").splitlines(), 1):
            if raw.lstrip().startswith("#") or not (raw.strip() or held):
                continue
            first = first or number
            held += raw.rstrip().removesuffix("\\") + " "
            if not raw.rstrip().endswith("\\"):
                if match := _INSTRUCTION.fullmatch(held.rstrip()):
                    found.append(Instruction(match[1].upper(), match[2], first))
                held, first = "", 0
        return tuple(found)

    @cached_property
    def copied(self) -> Mapping[str, str]:
        """What the Dockerfile copies out of environment/: {absolute path in the image: name below the task}."""
        found: dict[str, str] = {}
        place = "/"
        for instruction in self.dockerfile:
            if instruction.keyword == "WORKDIR":
                place = posixpath.join(place, instruction.rest.strip().strip("\"'"))
            if instruction.keyword in ("COPY", "ADD") and "--from" not in instruction.rest:
                found.update(self._copy(instruction.rest, place))
        return found

    def _copy(self, rest: str, place: str) -> Iterator[tuple[str, str]]:
        try:
            words = [w.strip('[],"') for w in shlex.split(rest) if not w.startswith("--")]
        except ValueError:
            return
        *patterns, target = words if len(words) > 1 else ("", "")
        for pattern in patterns:
            wanted = posixpath.normpath(posixpath.join("environment", pattern.lstrip("/")))
            for name in self.below("environment"):
                inner = "environment" if wanted == "environment" else wanted
                if name.startswith(inner + "/"):
                    tail = name[len(inner) + 1 :]
                elif fnmatch.fnmatch(name, wanted):
                    single = len(patterns) == 1 and not target.endswith(("/", ".")) and "*" not in pattern
                    tail = "" if single else posixpath.basename(name)
                else:
                    continue
                yield posixpath.normpath(posixpath.join(place, target, tail)), name

    @cached_property
    def starter(self) -> Mapping[str, str]:
        """Files that the agent finds in its work dir: {name relative to it: name below the task}."""
        prefix = self.info.workdir.rstrip("/") + "/"
        found = {path.removeprefix(prefix): name for path, name in self.copied.items() if path.startswith(prefix)}
        return {k: v for k, v in found.items() if posixpath.basename(v) != "Dockerfile"}

    @cached_property
    def editable(self) -> tuple[str, ...]:
        """Files that a solution may change: as the task says, else those of the starter that its own solution names."""
        if self.info.editable:
            return self.info.editable
        script = self.text("solution/solve.sh")
        return tuple(name for name in self.starter if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", script))

    @cached_property
    def modules(self) -> Mapping[str, ast.Module]:
        """Python files of tests/ that can be parsed, by name below the task."""
        found = {}
        for name in self.below("tests", ".py"):
            try:
                found[name] = ast.parse(self.text(name))
            except (SyntaxError, ValueError, RecursionError):
                continue
        return found
