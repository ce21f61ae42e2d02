"""The manifest of a run directory: written when it is published, held against what lies there later."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from loopscope.models import FileHash, Manifest, Part, Removal
from loopscope.records.durable import RESTORE, SCRATCH_PREFIX, RecordError, draft_model, read_model
from loopscope.records.tree import Entry, Kind, hash_file, kind_of, walk

MANIFEST = "manifest.json"
REMOVED = "removed.json"
UNIT = "unit.json"
LATER = frozenset({MANIFEST, REMOVED, UNIT, "scores", "evidence.json", "attempts"})
"""What of a run directory may come after the manifest and has seals, or manifests of its own (`attempts/<n>/`)."""
DAMAGED_TRY = "-damaged"
"""Ends the name of an earlier try (`attempts/<n>-damaged/`) that was not as it was written when it was set aside."""

_INPUTS = ("transcript.json", "canonical.json.zst", "repository/", "native/")
"""What analysis reads besides sealed documents."""

Hasher = Callable[[Path], FileHash]


def in_manifest(name: str) -> bool:
    """Whether a manifest speaks of a path (below the run directory)."""
    top = name.split("/", 1)[0]
    return top not in LATER and not top.startswith(SCRATCH_PREFIX)


def part_of(name: str) -> Part | None:
    """Which removable part of a run a path belongs to."""
    if name == "workspace.tar.zst":
        return Part.WORKSPACE
    top = name.split("/", 1)[0]
    return {"native": Part.NATIVE, "attempts": Part.ATTEMPTS}.get(top)


def write_manifest(folder: Path, known: Mapping[str, FileHash]) -> Manifest:
    """Write the manifest of a run directory that is about to be published.

    Args:
        folder: the directory, whole but for its name.
        known: hashes of files that were taken while they were written, so that nothing large is read again.
    """
    files = {
        entry.name: known.get(entry.name) or hash_file(entry.path)
        for entry in walk(folder, in_manifest)
        if entry.kind is Kind.FILE
    }
    manifest = Manifest(files=dict(sorted(files.items())))
    draft_model(folder / MANIFEST, manifest)
    return manifest


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a run; None for a run that has none. RecordError when it cannot be read."""
    return read_model(folder / MANIFEST, Manifest) if kind_of(folder / MANIFEST) else None


def removed_parts(folder: Path) -> frozenset[Part]:
    """What of a run was removed on purpose; RecordError when the note cannot be read."""
    path = folder / REMOVED
    return frozenset(read_model(path, Removal).parts) if kind_of(path) else frozenset()


def removal(parts: frozenset[Part]) -> Removal:
    """The note that says so."""
    return Removal(parts=tuple(sorted(parts)))


def differences(
    folder: Path, manifest: Manifest, hasher: Hasher | None, wanted: Callable[[str], bool] = in_manifest
) -> Iterator[tuple[str, str]]:
    """What lies in a run directory otherwise than its manifest says: (path, what is wrong).

    Args:
        folder: the run directory.
        manifest: its manifest.
        hasher: takes a file's hash; None compares kinds and sizes alone.
        wanted: which paths to look at, of those that a manifest speaks of.

    What was removed on purpose may be absent.
    """
    absent = {name for name in manifest.files if wanted(name)}
    for entry in walk(folder, lambda name: in_manifest(name) and (wanted(name) or wanted(f"{name}/"))):
        listed = manifest.files.get(entry.name)
        if listed is None and entry.kind is Kind.DIRECTORY:
            continue
        absent.discard(entry.name)
        if problem := _problem(entry, listed, hasher):
            yield entry.name, problem
    if absent:
        removed = removed_parts(folder)
        yield from ((name, "is missing") for name in sorted(absent) if part_of(name) not in removed)


def _problem(entry: Entry, listed: FileHash | None, hasher: Hasher | None) -> str | None:
    if entry.kind is not Kind.FILE:
        return f"is a {entry.kind}, where a file should be" if listed else f"is a {entry.kind} that no manifest lists"
    if listed is None:
        return "was added after the run was published"
    if entry.size != listed.size:
        return f"was changed: {entry.size} bytes, {listed.size} when it was published"
    if hasher is None:
        return None
    try:
        found = hasher(entry.path)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    return None if found == listed else "was changed: its bytes are not those that were published"


def check_inputs(folder: Path) -> None:
    """Hold what analysis reads of a run (repository, transcript, own logs) against its manifest; without one it passes.

    Raises:
        RecordError: names the first file that differs.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        return
    for name, problem in differences(folder, manifest, hash_file, _is_input):
        raise RecordError(f"{folder / name}: {problem}; {RESTORE}")


def _is_input(name: str) -> bool:
    return name.startswith(_INPUTS)
