"""What of a study's directory belongs to the study: what an archive takes, and where things may lie in it."""

from __future__ import annotations

import hashlib
import io
import os
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from loopscope.models import ArchiveIndex, FileHash, Manifest, Part
from loopscope.models.seal import document
from loopscope.records.durable import SCRATCH_PREFIX, RecordError, open_plain
from loopscope.records.manifest import DAMAGED_TRY, REMOVED, in_manifest, part_of, read_manifest, removal, removed_parts
from loopscope.records.store import IMPORTED_FILE, LOCK_FILE, RETIRED
from loopscope.records.studyfile import STUDY_FILE
from loopscope.records.tree import Entry, Kind, hash_file, kind_of, name_of, spell, walk

TOPS = (IMPORTED_FILE, LOCK_FILE, STUDY_FILE, RETIRED, "calibration", "evaluators", "report", "runs", "tables", "tasks")
"""A study's own names in its directory; whatever else lies there is its owner's and stays there."""
_BY_TOP = {"tables": Part.TABLES, "report": Part.REPORT}
_RUN_DEPTH = {"runs": 2, RETIRED: 2}
MAX_DEPTH, MAX_NAME_BYTES, MAX_PART_BYTES = 256, 3000, 255
"""Of a path in an archive that is taken in: what a file system and a path can hold."""
RETIRED_TASKS = f"{RETIRED}/tasks"
"""Where prepared tasks lie that the study no longer names: `<task>__<first 8 of its hash>/`."""
SHELVED_TASK, SHELVED_RECORD = "prepared", "task.json"
"""What such a directory holds, besides the baseline: the prepared task, and its `PreparedTask`."""


@dataclass(frozen=True)
class Source:
    """One file to put into an archive."""

    path: Path
    hash: FileHash
    executable: bool = False
    data: bytes | None = None
    """Its bytes, where they are not the file's."""

    def open(self) -> IO[bytes]:
        """Its bytes."""
        return io.BytesIO(self.data) if self.data is not None else open_plain(self.path)


@dataclass(frozen=True)
class Contents:
    """Everything of a study, by spelled path, sorted."""

    directories: tuple[str, ...]
    files: dict[str, Source]
    links: dict[str, str]


def run_of(name: str) -> tuple[str, str] | None:
    """(run directory, path below it) of a path in a study; an earlier try is a run directory of its own."""
    parts = name.split("/")
    depth = _RUN_DEPTH.get(parts[0])
    if depth is None or len(parts) <= depth or f"{name}/".startswith(f"{RETIRED_TASKS}/"):
        return None
    if parts[depth] == "attempts" and len(parts) > depth + 2:
        depth += 2
    return "/".join(parts[:depth]), "/".join(parts[depth:])


def is_unfinished(name: str) -> bool:
    """Whether a path in a study is, or lies in, something that a killed process left."""
    parts = name.split("/")
    run = run_of(name)
    at = [0, 1] if parts[0] in ("calibration", "evaluators", "runs", RETIRED, "tasks") else [0]
    inside = run[1].split("/") if run else parts[2:3]
    scratch = [parts[i] for i in at if i < len(parts)] + inside[: 2 if inside[:1] == ["scores"] else 1]
    return any(part.startswith(SCRATCH_PREFIX) for part in scratch)


def collect(root: Path, left_out: frozenset[Part]) -> Contents:
    """What an archive of a study holds.

    Hashes come from the manifests where there are some, so that what is large is read once, when it is written; there
    it is held against them.

    Raises:
        RecordError: something is neither a file nor a directory, or a link leads out of its task.
    """
    directories, files, links = [], {}, {}
    shortened: set[str] = set()
    manifests: dict[str, Manifest | None] = {}
    for entry in _entries(root):
        run, part = _part(entry.name, left_out)
        if part in left_out:
            if run:
                shortened.add(run)
        elif entry.kind is Kind.DIRECTORY:
            directories.append(entry.name)
        elif entry.kind is Kind.LINK and is_inside(entry.name, target := spell(str(entry.path.readlink()))):
            links[entry.name] = target
        elif entry.kind is not Kind.FILE:
            raise RecordError(f"{entry.path}: is a {entry.kind}, which no archive takes; remove it")
        else:
            files[entry.name] = Source(entry.path, _hash(root, entry, manifests), entry.executable)
    for name in shortened:
        files[f"{name}/{REMOVED}"] = _note(root / name_of(name), left_out)
    return Contents(tuple(sorted(directories)), dict(sorted(files.items())), dict(sorted(links.items())))


def _part(name: str, left_out: frozenset[Part]) -> tuple[str | None, Part | None]:
    """(the run directory that a path is in, the removable part that it belongs to)."""
    parts = name.split("/")
    if Part.ATTEMPTS in left_out and parts[0] in _RUN_DEPTH and parts[2:3] == ["attempts"]:
        return "/".join(parts[:2]), Part.ATTEMPTS
    if run := run_of(name):
        return run[0], part_of(run[1])
    return None, _BY_TOP.get(parts[0])


def _entries(root: Path) -> Iterator[Entry]:
    yield from walk(root, lambda name: name.split("/", 1)[0] in TOPS and not is_unfinished(name))


def _hash(root: Path, entry: Entry, manifests: dict[str, Manifest | None]) -> FileHash:
    run = run_of(entry.name)
    if run is None or not in_manifest(run[1]) or run[0].endswith(DAMAGED_TRY):
        return hash_file(entry.path)
    if run[0] not in manifests:
        manifests.clear()  # runs come one after the other; one manifest at a time is enough
        manifests[run[0]] = read_manifest(root / name_of(run[0]))
    manifest = manifests[run[0]]
    return (manifest.files.get(run[1]) if manifest else None) or hash_file(entry.path)


def _note(run: Path, left_out: frozenset[Part]) -> Source:
    """The note of a run whose parts are not put in: they, and what had been removed before."""
    here = {part for part in left_out if part not in _BY_TOP.values() and _has(run, part)}
    data = document(removal(removed_parts(run) | here))
    return Source(run / REMOVED, _hash_of(data), data=data)


def _has(run: Path, part: Part) -> bool:
    name = "workspace.tar.zst" if part is Part.WORKSPACE else part.value
    return kind_of(run / name) is not None


def _hash_of(data: bytes) -> FileHash:
    return FileHash(sha256=hashlib.sha256(data).hexdigest(), size=len(data))


def is_inside(name: str, target: str) -> bool:
    """Whether a link is one that a prepared task may have: relative, and never out of its task."""
    parts = name.split("/")
    depth = 2 if parts[0] == "tasks" else 4  # retired/tasks/<task>__<hash>/prepared
    if not f"{name}/".startswith(("tasks/", f"{RETIRED_TASKS}/")) or len(parts) <= depth or target.startswith("/"):
        return False
    steps = [step for step in target.split("/") if step not in ("", ".")]
    if ".." in steps[next((i for i, step in enumerate(steps) if step != ".."), len(steps)) :]:
        return False  # through a link, what looks inside may lie outside
    task = "/".join(parts[:depth])
    return bool(steps) and posixpath.normpath(posixpath.join(posixpath.dirname(name), target)).startswith(f"{task}/")


def misplaced(index: ArchiveIndex) -> str | None:
    """The first name of an index that could not have come from a study, or would lead out of the directory."""
    folders = set(index.directories)
    seen: set[str] = set()
    for name in (*index.directories, *index.files, *index.links):
        parts = [name_of(part) for part in name.split("/")]
        fine = (
            name not in seen
            and spell("/".join(parts)) == name
            and len(parts) <= MAX_DEPTH
            and len(os.fsencode("/".join(parts))) <= MAX_NAME_BYTES
            and all(len(os.fsencode(part)) <= MAX_PART_BYTES for part in parts)
            and parts[0] in TOPS
            and all(part not in ("", ".", "..") and "\0" not in part and "/" not in part for part in parts)
            and (len(parts) == 1 or name.rpartition("/")[0] in folders)
            and not is_unfinished(name)
        )
        if not fine:
            return name
        seen.add(name)
    return next((name for name, target in index.links.items() if not is_inside(name, target)), None)
