"""The study that logs are imported into: what it holds already, and the runs that are added to it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from loopscope.imports.record import Identity, make_record
from loopscope.models import FileHash, ImportedStudy, RunRecord, StudyLock
from loopscope.records import RecordError, StudyError, StudyStore, draft_model, read_model, scratch_name
from loopscope.records.durable import is_scratch, make_dirs, publish_new, remove_tree, write_model
from loopscope.records.manifest import write_manifest
from loopscope.records.settled import Settled, settled
from loopscope.records.store import CANONICAL, IMPORTED_FILE, LOCK_FILE, run_id_of
from loopscope.records.studyfile import STUDY_FILE
from loopscope.transcripts.canonical import Transcript
from loopscope.transcripts.serial import Packed

LONG_ENOUGH = 16
"""Characters of a session's id that is taken to be the only one of its name; `main` is not."""
_BEGUN = frozenset({".lock", "runs", "evaluators", ".in-flight.json"})
"""What an import may leave that was killed before its first run."""


def check_target(directory: Path) -> None:
    """Refuse a directory that holds something else than a study, before anything is written to it.

    Raises:
        StudyError: it does, or it is a file.
    """
    try:
        str(directory.absolute()).encode()
    except UnicodeEncodeError:
        raise StudyError(f"{str(directory)!a}: is no UTF-8; name another directory with --into") from None
    if not directory.exists():
        return
    if not directory.is_dir():
        raise StudyError(f"{directory}: is a file; name a study's directory, or a new one, with --into")
    names = {path.name for path in directory.iterdir() if not is_scratch(path)}
    if not names & {IMPORTED_FILE, STUDY_FILE, LOCK_FILE} and not names <= _BEGUN:
        raise StudyError(
            f"{directory}: holds something else than a study; name a study's directory, or a new one, with --into"
        )


@dataclass
class Shelf:
    """The runs of a study by what makes them one: their logs, their sessions, their names."""

    store: StudyStore
    name: str
    planned: frozenset[str]
    """Ids that the study's own runs have, done or not."""
    digests: dict[str, str] = field(default_factory=dict)
    """Digest of a log to the run that holds it."""
    sessions: dict[str, str] = field(default_factory=dict)
    """Id of a session to the run that holds it."""
    taken: set[str] = field(default_factory=set)
    """Ids of runs that there are."""

    def holder(self, transcript: Transcript, digest: str) -> tuple[str | None, bool]:
        """(the run that holds a log already, whether it holds exactly this); of one with the same session, not that."""
        if digest in self.digests:
            return self.digests[digest], True
        found = (self.sessions[name] for name in transcript.source.session_ids if name in self.sessions)
        return next(found, None), False

    def free_seed(self, task: str, agent: str) -> int:
        """The lowest seed from 1 that no run of the study has."""
        seed = 1
        while self.is_taken(run_id_of(task, agent, seed)):
            seed += 1
        return seed

    def is_taken(self, run_id: str) -> bool:
        """Whether a run of this name lies in the study, or is one that its study file plans."""
        return run_id in self.taken or run_id in self.planned

    def put(self, transcript: Transcript, packed: Packed, log: str, identity: Identity) -> RunRecord:
        """Add a run, whole and durable before it has its name.

        Raises:
            OSError: a directory of that name lies there, or the disk refuses.
        """
        record = make_record(transcript, packed.digest, log, identity)
        target = self.store.run(record.run_id).path
        make_dirs(target.parent)
        folder = scratch_name(target)
        try:
            folder.mkdir()
            (folder / CANONICAL).write_bytes(packed.data)
            draft_model(folder / "record.json", record)
            write_manifest(folder, {CANONICAL: FileHash(sha256=packed.sha256, size=len(packed.data))})
            self._mark()
            publish_new(folder, target)
        except OSError as error:
            error.filename = error.filename or str(target)  # a full disk names no file itself
            raise
        finally:
            remove_tree(folder)
        self.note(record)
        return record

    def note(self, record: RunRecord) -> None:
        """Remember a run."""
        self.taken.add(record.run_id)
        if record.imported is not None:
            self.digests[record.imported.digest] = record.run_id
            self.sessions |= dict.fromkeys(filter(_is_unique, record.imported.sessions), record.run_id)

    def _mark(self) -> None:
        """Say that this is a study, where nothing else says so."""
        root = self.store.path
        if not any(os.path.lexists(root / name) for name in (IMPORTED_FILE, STUDY_FILE, LOCK_FILE)):
            write_model(root / IMPORTED_FILE, ImportedStudy(name=self.name))


def open_shelf(store: StudyStore) -> Shelf:
    """The shelf of a study, which the caller holds; also of a directory in which there is no study yet.

    Raises:
        RecordError, StudyError: what the study is cannot be read.
    """
    root = store.path
    known = any(os.path.lexists(root / name) for name in (IMPORTED_FILE, STUDY_FILE, LOCK_FILE))
    study = settled(root) if known else Settled(root.name, None)
    shelf = Shelf(store, study.name, _planned(store))
    shelf.taken |= {path.name for path in (root / "runs").glob("*")}
    for run in store.runs():
        try:
            shelf.note(run.record)
        except RecordError:
            continue  # its name is taken all the same; `verify` tells what is wrong with it
    return shelf


def _planned(store: StudyStore) -> frozenset[str]:
    path = store.path / LOCK_FILE
    return frozenset(read_model(path, StudyLock).units) if os.path.lexists(path) else frozenset()


def _is_unique(session: str) -> bool:
    return len(session) >= LONG_ENOUGH
