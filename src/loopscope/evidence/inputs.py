"""The digest of everything that a run's evidence is made of, so that nothing is looked at twice."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from loopscope.models import Manifest, Part, TaskFacts
from loopscope.models.evaluator import Evaluator
from loopscope.records import RunDir
from loopscope.records.durable import is_scratch
from loopscope.records.manifest import read_manifest, removed_parts

_ROOM = Path(__file__).parent
_CODE = (_ROOM, _ROOM.parent / "transcripts", _ROOM.parent / "models" / "evidence.py")
_NATIVE = "native/"
_SESSIONS = (".db", ".json", ".jsonl")
"""So end the names of logs that evidence is read from."""
_READ = ("record.json", "canonical.json.zst", "transcript.json")
_BLOCK = 1 << 20


class Hashed:
    """One sha256 over named values, each with its length before it."""

    def __init__(self) -> None:
        self._whole = hashlib.sha256()

    def add(self, name: str, *values: bytes) -> None:
        """One more value, or several under one name."""
        for value in (name.encode("utf-8", "surrogateescape"), *values):
            self._whole.update(len(value).to_bytes(8, "big"))
            self._whole.update(value)

    def add_records(self, run: RunDir) -> None:
        """What of a run's directory evidence and measures are made of.

        The repository is named by the commits of the record. The agent's own logs count as the manifest has them,
        against which they are held before: to remove them (`study gc --native`) changes no digest.

        Raises:
            RecordError: the manifest cannot be read.
        """
        self.add("repository", b"yes" if (run.path / "repository").is_dir() else b"no")
        manifest = read_manifest(run.path)
        listed = _native(manifest) if manifest is not None else {}
        for path in _files(run.path, ("scores",) if manifest is not None else ("scores", "native")):
            self.add(path.relative_to(run.path).as_posix(), _hash(path))
        for name, sha in listed.items():
            self.add(name, bytes.fromhex(sha))

    def digest(self) -> str:
        """Of all that was added."""
        return self._whole.hexdigest()


def digest(run: RunDir, facts: TaskFacts, prepared: frozenset[bytes], evaluator: Evaluator | None) -> str:
    """sha256 over records, scores, transcript, task and evaluator, and after a dot that of the code that reads them.

    Raises:
        RecordError: the manifest cannot be read.
    """
    whole = Hashed()
    whole.add("task", facts.model_dump_json().encode())
    whole.add("prepared", *sorted(prepared))
    whole.add("evaluator", evaluator.model_dump_json().encode() if evaluator else b"")
    whole.add_records(run)
    return f"{whole.digest()}.{code_version()}"


def same_but_code(before: str, now: str) -> bool:
    """Whether two digests are of the same records, read by whichever code."""
    return before.partition(".")[0] == now.partition(".")[0]


def lost_native(run: RunDir) -> bool:
    """Whether logs of the agent's own from which evidence may be read were removed on purpose.

    Raises:
        RecordError: the manifest, or the note of what was removed, cannot be read.
    """
    if Part.NATIVE not in removed_parts(run.path):
        return False
    manifest = read_manifest(run.path)
    return manifest is not None and any(name.endswith(_SESSIONS) for name in _native(manifest))


def _native(manifest: Manifest) -> dict[str, str]:
    return {name: file.sha256 for name, file in sorted(manifest.files.items()) if name.startswith(_NATIVE)}


def code_version() -> str:
    """sha256 over the sources of the rooms that read evidence: changed code looks at every run anew."""
    return sources_version(*_CODE)


@cache
def sources_version(*roots: Path) -> str:
    """sha256 over the sources in some directories of this package, or single files of it."""
    whole = hashlib.sha256()
    for root in roots:
        paths = sorted(root.rglob("*")) if root.is_dir() else [root]
        for path in paths:
            if path.suffix in (".py", ".yaml") and path.is_file():
                name = path.relative_to(_ROOM.parent).as_posix()
                whole.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\0".encode())
    return whole.hexdigest()


def _files(run: Path, folders: tuple[str, ...]) -> Iterator[Path]:
    for name in _READ:
        if (run / name).is_file() and not (run / name).is_symlink():
            yield run / name
    for folder in folders:
        for place, directories, names in os.walk(run / folder):
            if folder == "scores":  # what was never finished is no score
                directories[:], names = _finished(directories), _finished(names)
            directories.sort()
            for name in sorted(names):
                path = Path(place, name)
                if path.is_file() and not path.is_symlink():
                    yield path


def _finished(names: list[str]) -> list[str]:
    return [name for name in names if not is_scratch(Path(name))]


def _hash(path: Path) -> bytes:
    whole = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            whole.update(block)
    return whole.digest()
