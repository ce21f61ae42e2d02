"""The tables that are there, kept where nothing that they are made of has changed.

`tables/made_from.json` says what that was, as digests, and what the files were like when they were written. While it
all holds, neither evidence is read nor a measure computed, and what makes tables is not even loaded.
"""

from __future__ import annotations

import hashlib
import io
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import polars as pl

from loopscope.evidence.inputs import Hashed, code_version, sources_version
from loopscope.models import TaskFacts
from loopscope.models.base import Record
from loopscope.models.tables import TABLES, StudySummary
from loopscope.records import RecordError, RunDir, StudyStore, read_model, write_model
from loopscope.records.durable import is_scratch, parse_model, read_plain
from loopscope.records.settled import Settled

SUMMARY = "study.json"
_NOTE = "made_from.json"
_PACKAGE = Path(__file__).parents[1]
_ROOMS = tuple(_PACKAGE / name for name in ("analysis", "measures", "models", "records"))
"""Whose code makes tables of evidence; that which makes evidence has a digest of its own."""
_LIBRARIES = ("loopscope", "numpy", "polars")


class MadeFrom(Record):
    """`tables/made_from.json`. One that cannot be read counts as none: the tables are made anew."""

    inputs: str
    """sha256 over study, tasks, records, and the code that makes tables of them."""
    evidence: str
    """sha256 over the evidence of all runs."""
    files: dict[str, str]
    """sha256 of each file beside it, by name."""


@dataclass(frozen=True)
class Kept:
    """Tables that are as they would be made again."""

    summary: StudySummary
    frames: dict[str, pl.DataFrame]


@dataclass(frozen=True)
class Inputs:
    """Everything that the tables of a study are made of, as it is before they are made."""

    store: StudyStore
    runs: Sequence[RunDir]
    digest: str | None
    """None where something cannot be read: what that is, and what it costs, is told where the run is analysed."""

    def kept(self) -> Kept | None:
        """The tables that were made of this; None where they were made of something else, or are not whole."""
        try:
            made = read_model(self.store.tables / _NOTE, MadeFrom)
            if made.inputs != self.digest or made.evidence != _evidence(self.runs):
                return None
            for run in self.runs:
                run.check_inputs()
            files = {name: read_plain(self.store.tables / name) for name in (SUMMARY, *map(file_of, TABLES))}
            if _hashes(files) != made.files:
                return None
            summary = parse_model(self.store.tables / SUMMARY, files[SUMMARY], StudySummary)
        except (OSError, RecordError):
            return None
        return Kept(summary, {name: pl.read_parquet(io.BytesIO(files[file_of(name)])) for name in TABLES})

    def note(self, files: Mapping[str, bytes]) -> None:
        """Write down that these files, which lie among the tables now, were made of this."""
        if self.digest is not None:
            made = MadeFrom(inputs=self.digest, evidence=_evidence(self.runs), files=_hashes(files))
            write_model(self.store.tables / _NOTE, made)


def inputs_of(
    store: StudyStore,
    study: Settled,
    tasks: Mapping[str, TaskFacts],
    prepared: Mapping[str, frozenset[bytes]],
    warnings: Iterable[str],
) -> Inputs:
    """What the tables of a study are going to be made of; to be asked before any of it is read.

    Args:
        store: the study.
        study: what its directory says that it is.
        tasks: the prepared ones by name.
        prepared: files of their untouched work directories, where they are known.
        warnings: what else will be told of it.
    """
    runs = list(store.runs())
    whole = Hashed()
    libraries = (f"{name} {version(name)}".encode() for name in _LIBRARIES)
    whole.add("code", code_version().encode(), sources_version(*_ROOMS).encode(), *libraries)
    whole.add("python", platform.python_version().encode())
    whole.add("study", study.name.encode(), study.spec.model_dump_json().encode() if study.spec else b"")
    whole.add("warnings", *(text.encode("utf-8", "surrogateescape") for text in (*study.warnings, *warnings)))
    for name, facts in tasks.items():
        whole.add(f"task {name}", facts.model_dump_json().encode(), *sorted(prepared.get(name, ())))
    try:
        for path in sorted(path for path in (store.path / "runs").glob("*/") if not is_scratch(path)):
            whole.add(f"folder {path.name}", b"recorded" if store.run(path.name).is_recorded else b"")
        for path in sorted(store.evaluators.glob("*.yaml")):
            whole.add(f"evaluator {path.name}", read_plain(path))
        for run in runs:
            whole.add(f"run {run.run_id}")
            whole.add_records(run)
    except (OSError, RecordError):
        return Inputs(store, runs, None)
    return Inputs(store, runs, whole.digest())


def file_of(table: str) -> str:
    """The name of a table's file."""
    return f"{table}.parquet"


def _hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def _evidence(runs: Iterable[RunDir]) -> str:
    """OSError: a run has none, or it cannot be read."""
    whole = Hashed()
    for run in runs:
        whole.add(run.run_id, read_plain(run.path / "evidence.json"))
    return whole.digest()
