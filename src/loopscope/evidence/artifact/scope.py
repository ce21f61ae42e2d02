"""Which files are the artifact of a task, as far as its instruction says so."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from loopscope.transcripts.canonical import MessageKind, Role, ToolKind, Transcript

_CODED = re.compile(r"`([^`\s]{1,300})`")
_FILE = re.compile(r"[\w./{}-]*\w\.[A-Za-z]\w{0,4}\Z")
_MAY_EDIT = re.compile(
    r"\b(?:edit(?:able)?|optimi[sz]e|modify|implement in|solution file|you may change)\b", re.IGNORECASE
)
_MUST_NOT = re.compile(r"\b(?:not|never|read-only|readonly|don't|fixed|must keep)\b", re.IGNORECASE)
_TESTS = re.compile(r"(?:_test\.go|(?:^|/)test_[\w-]+\.py|(?:^|/)(?:bench|prof)\w*_test\.\w+)\Z")


@dataclass(frozen=True, slots=True)
class ArtifactScope:
    """The files that a solution consists of."""

    files: frozenset[str] = frozenset()
    """Paths that the task lets an agent change: absolute ones, or relative to the task's work directory."""
    root: str | None = None
    """The work directory, absolute, where it is known."""
    fixed: frozenset[str] = frozenset()
    """Files that the task forbids to change, named like the others."""

    @property
    def known(self) -> bool:
        """Whether anything is known of the artifact."""
        return bool(self.files)

    def name(self, path: str | None) -> str | None:
        """The artifact file that a path means, as the task names it; None for every other file.

        A relative path, whose start is not known, means the file whose path ends with it. Where several files of one
        directory make up the artifact, new files beside them with the same ending belong to it, tests excepted.
        """
        if path is None:
            return None
        path = posixpath.normpath(path)
        for name in sorted(self.files):
            if self._same(path, name):
                return name
        return self._beside(path)

    def inside(self, path: str | None) -> bool | None:
        """Whether a path lies in the work directory; None when nothing tells, or when it lies above it."""
        if path is None:
            return None
        if not path.startswith(("/", "~", "..")):
            return True
        if path.startswith(("/tmp", "/var/tmp", "/dev/shm")):  # noqa: S108
            return False
        if self.root is None or self.root.startswith(path.rstrip("/") + "/"):
            return None
        return path == self.root or path.startswith(self.root.rstrip("/") + "/")

    def _same(self, path: str, name: str) -> bool:
        if path == name or self._absolute(name) == path:
            return True
        if path.startswith(("/", "~")):
            return (
                not name.startswith("/")
                and self.root is None
                and _elsewhere(path) is None
                and path.endswith("/" + name)
            )
        short = path.lstrip("./")
        return bool(short) and (name == short or name.endswith("/" + short) or short.endswith("/" + name))

    def _absolute(self, name: str) -> str:
        return name if name.startswith("/") or self.root is None else posixpath.join(self.root, name)

    def _beside(self, path: str) -> str | None:
        if _TESTS.search(path) or _elsewhere(path):
            return None
        siblings = [name for name in self.files if posixpath.splitext(name)[1] == posixpath.splitext(path)[1]]
        places = {posixpath.dirname(self._absolute(name)) for name in siblings}
        if len(siblings) < 2 or len(places) != 1:
            return None
        if any(self._same(path, name) for name in sorted(self.fixed)):
            return None
        place, where = places.pop(), posixpath.dirname(path)
        base = posixpath.basename(path)
        if where == place or (where == "" and not path.startswith("/")):
            return posixpath.join(place, base) if place else base
        if place == "" and where.startswith("/") and where.endswith("/app"):
            return base
        return None


def _elsewhere(path: str) -> str | None:
    return path if path.startswith(("/tmp/", "/var/tmp/", "/dev/shm/")) or "/orig/" in path else None  # noqa: S108


@lru_cache(maxsize=64)
def scope_from_instruction(text: str) -> ArtifactScope:
    """Read which files may be edited out of a task's instruction.

    Lines that allow editing count with the files that they name in backticks, and so does the list that directly
    follows such a line; lines that forbid something do not.
    """
    files: list[str] = []
    fixed: list[str] = []
    listing = False
    for line in text.splitlines():
        names = [name for name in _CODED.findall(line) if len(name) <= 300 and _FILE.search(name)]
        bullet = line.lstrip().startswith(("-", "*", "+"))
        may, must_not = _MAY_EDIT.search(line), _MUST_NOT.search(line)
        if must_not is not None and _MAY_EDIT.search(line, must_not.end()):
            fixed += [name for name in names if line.find(f"`{name}`") > must_not.start()]
        if must_not is not None and (may is None or must_not.start() < may.start()):
            listing = False
        elif may is not None:
            files += _allowed(line, names)
            listing = line.rstrip().endswith(":")
        elif listing and bullet:
            files += names
        elif line.strip():
            listing = False
    kept = _shortest(dict.fromkeys(files))
    return ArtifactScope(frozenset(kept), _root(text, kept), frozenset(fixed) - frozenset(files))


def _allowed(line: str, names: list[str]) -> list[str]:
    """The files of a line that allows editing; what follows a prohibition in it does not count."""
    stop = _MUST_NOT.search(line)
    end = stop.start() if stop else len(line)
    return [name for name in names if 0 <= line.find(f"`{name}`") < end]


def _shortest(names: Iterable[str]) -> list[str]:
    """Without names that are only a shorter form of another."""
    listed = list(names)
    return [name for name in listed if not any(other != name and other.endswith("/" + name) for other in listed)]


def _root(text: str, names: Iterable[str]) -> str | None:
    absolute = [name for name in names if name.startswith("/")]
    for name in absolute or re.findall(r"(?<![\w.])/[\w./-]+", text):
        found = re.match(r"(/.*?/app)(?:/|\Z)", name) or re.match(r"(/app)(?:/|\Z)", name)
        if found and "path/to" not in name:
            return found[1]
    if absolute:
        return posixpath.commonpath([posixpath.dirname(name) for name in absolute])
    return None


def instruction_of(transcript: Transcript) -> str:
    """The first message of the user; what the harness puts before it counts only where there is nothing else."""
    first: str | None = None
    for item in transcript.messages:
        if item.role is Role.USER:
            if item.kind is MessageKind.PLAIN:
                return item.text
            first = item.text if first is None else first
    return first or ""


def scope_of(transcript: Transcript) -> ArtifactScope:
    """The scope by the first message of the user; a work directory that it leaves open is learned from edited paths."""
    scope = scope_from_instruction(instruction_of(transcript))
    if scope.root is not None or not scope.files:
        return scope
    for call in transcript.calls:
        if call.kind not in (ToolKind.EDIT, ToolKind.WRITE, ToolKind.READ) or not call.path:
            continue
        for name in sorted(scope.files):
            if call.path.startswith("/") and call.path.endswith("/" + name) and not _elsewhere(call.path):
                return replace(scope, root=call.path[: -len(name) - 1])
    return scope
