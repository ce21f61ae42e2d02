"""What of a study is finished, and that it stays as it is: hashes of every file of every finished unit."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from loopscope.models import RunStatus, VerificationStatus
from loopscope.records import RunDir, StudyStore, remove_tree

_LATER = ("scores/", "evidence.json")
"""Written after the rollout, by others."""


@dataclass
class Finished:
    """The finished part of a study."""

    files: dict[str, dict[str, str]] = field(default_factory=dict)
    """By run: each file that its rollout left, with its hash."""
    scores: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    """By run and state: each verification that counts, as JSON."""


def look(path: str) -> dict[str, Any]:
    """`Finished` of a study in whatever state it is, as JSON. Everything in it must be readable at any moment."""
    found = Finished()
    store = StudyStore(Path(path))
    store.tasks()
    for run in store.runs():
        scores = run.scores()
        if run.record.status is RunStatus.ENVIRONMENT_ERROR:
            continue
        found.files[run.run_id] = _hashes(run)
        found.scores[run.run_id] = {
            state: [v.model_dump_json() for v in score.verifications if v.status is not VerificationStatus.ERROR]
            for state, score in scores.items()
        }
    return asdict(found)


def _hashes(run: RunDir) -> dict[str, str]:
    hashes = {}
    for file in sorted(run.path.rglob("*")):
        name = str(file.relative_to(run.path))
        if file.is_symlink() or not file.is_file() or name.startswith(_LATER) or "/.tmp-" in f"/{name}":
            continue
        hashes[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return hashes


def compare(before: Finished, after: Finished) -> list[str]:
    """What of `before` is not in `after` as it was."""
    wrong = []
    for run, files in before.files.items():
        if run not in after.files:
            wrong.append(f"{run}: lost")
            continue
        now = after.files[run]
        wrong += [f"{run}/{name}: lost" for name in files.keys() - now.keys()]
        wrong += [f"{run}/{name}: changed" for name in files.keys() & now.keys() if files[name] != now[name]]
        wrong += [f"{run}/{name}: came later" for name in now.keys() - files.keys()]
        for state, verifications in before.scores[run].items():
            kept = after.scores[run].get(state, [])[: len(verifications)]
            if kept != verifications:
                wrong.append(f"{run}/scores/{state}: verifications were lost or done again")
    return wrong


def litter(path: str) -> list[str]:
    """Unfinished things that are left in a study."""
    root = Path(path)
    return sorted(str(file.relative_to(root)) for file in root.rglob("*") if file.name.startswith(".tmp-"))


def forget_tables(path: str) -> None:
    """Let the next analysis make its tables anew: those that hold are kept, and nothing is written."""
    Path(path, "tables/made_from.json").unlink()


def tables(path: str) -> dict[str, str]:
    """Hash of each table, and of what says what they are about; what they were made from holds times of day."""
    folder = Path(path, "tables")
    files = [file for file in sorted(folder.glob("[!.]*")) if file.name != "made_from.json"]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def remove(path: str) -> bool:
    """Remove a directory."""
    return remove_tree(Path(path))


def used(path: str) -> int:
    """Bytes in use of a file system."""
    found = os.statvfs(path)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def inodes(path: str) -> int:
    """Inodes in use of a file system."""
    found = os.statvfs(path)
    return found.f_files - found.f_ffree
