"""Hold one run directory against its manifest, its seals and itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel

from loopscope.models import Part, PreparedTask, RunEvidence, RunRecord, RunStatus, StateScore, StudyLock, UnitFile
from loopscope.models.seal import unseal
from loopscope.records.completeness import WAS_GIVEN_UP, wanting
from loopscope.records.durable import RecordError, is_scratch, read_model, read_plain, returns_to
from loopscope.records.finding import Finding, Severity, damaged, incomplete, note
from loopscope.records.manifest import (
    DAMAGED_TRY,
    MANIFEST,
    UNIT,
    Hasher,
    differences,
    in_manifest,
    read_manifest,
    removed_parts,
)
from loopscope.records.tree import Kind, hash_file, kind_of, spell, walk

AGAIN = "restore it (from an archive: `loopscope study import`), or move the run's directory away and run again"
REMOVE_TRY = f"restore it, rename the try's directory to end in {DAMAGED_TRY!r}, or `loopscope study gc --attempts`"
RESCORE = "restore it, or remove it and score again"
RENAME = "restore it, or remove it: `loopscope run` names the unit again where the record and the lock tell it"
REANALYZE = "remove it; `loopscope analyze` makes it again"
MOST = 5
"""Findings of one kind of a run that are told one by one; a lost repository is one line, not hundreds."""


@dataclass(frozen=True)
class StudyFacts:
    """What is known of the study that a run is part of."""

    root: Path
    lock: StudyLock | None
    tasks: Mapping[str, PreparedTask]
    """The prepared tasks whose records can be read."""
    hasher: Hasher | None
    """Takes a file's hash; None compares sizes alone."""

    def place(self, path: Path) -> str:
        """A path as findings name it."""
        return spell(str(path.relative_to(self.root)))

    def said(self, path: Path, error: RecordError, remedy: str) -> Finding:
        """A reader's refusal as a finding; `remedy` stands in for a reader's own that knows less."""
        message = str(error).removeprefix(f"{path}: ")
        what, _, advice = message.rpartition("; ")
        if advice.startswith("upgrade"):
            remedy = advice
        elif not what:
            what = message
        return damaged(self.place(path), what, remedy)


class RunCheck:
    """One run directory: of the study (`runs/`), retired (`retired/`), or an earlier try (`attempts/<n>/`)."""

    def __init__(self, study: StudyFacts, folder: Path, run_id: str, *, current: bool) -> None:
        self._study, self._folder, self._run_id, self._current = study, folder, run_id, current
        self._place = study.place(folder)

    def findings(self) -> Iterator[Finding]:
        """Everything that is not as it should be."""
        kind = kind_of(self._folder)
        if kind is not Kind.DIRECTORY:
            yield damaged(self._place, f"is a {kind}, where a run directory should be", "remove it and run again")
            return
        yield from self.own()
        if self._current:
            yield from self._completeness()
        yield from self._attempts()
        for folder in (self._folder, self._folder / "scores"):
            yield from leftovers(self._study, folder)

    def own(self) -> Iterator[Finding]:
        """What is wrong with the rollout's own files: seals, hashes, identity; earlier tries are not looked at."""
        yield from self._documents()
        yield from self._together([*self._files()])
        yield from self._identity()

    @cached_property
    def sealed(self) -> bool:
        """False for a run that the first version wrote: it has neither a manifest nor seals."""
        if kind_of(self._folder / MANIFEST):
            return True
        if isinstance(self._record, RecordError):
            return True
        return unseal(read_plain(self._folder / "record.json"))[1] is not None  # a later version would not be read

    @cached_property
    def _record(self) -> RunRecord | RecordError:
        return _read(self._folder / "record.json", RunRecord)

    @cached_property
    def _scores(self) -> dict[Path, StateScore | RecordError]:
        folder = self._folder / "scores"
        paths = sorted(folder.iterdir()) if kind_of(folder) is Kind.DIRECTORY else []
        return {path: _read(path, StateScore) for path in paths if not is_scratch(path)}

    def _documents(self) -> Iterator[Finding]:
        record, study = self._folder / "record.json", self._study
        if kind_of(record) is None:
            yield damaged(study.place(record), "is missing", AGAIN)
        elif isinstance(self._record, RecordError):
            yield study.said(record, self._record, AGAIN)
        for path, score in self._scores.items():
            if isinstance(score, RecordError):
                yield study.said(path, score, RESCORE)
        yield from self._unit()
        scores, evidence = self._folder / "scores", self._folder / "evidence.json"
        if (kind := kind_of(scores)) not in (None, Kind.DIRECTORY):
            yield damaged(study.place(scores), f"is a {kind}, where a directory should be", RESCORE)
        if kind_of(evidence):
            found = _read(evidence, RunEvidence)
            if isinstance(found, RecordError):
                yield study.said(evidence, found, REANALYZE)
            elif found.run_id != self._run_id:
                yield damaged(study.place(evidence), f"is that of {found.run_id}", REANALYZE)

    def _unit(self) -> Iterator[Finding]:
        study, record = self._study, self._record
        unit = self._folder / UNIT
        if kind_of(unit):
            found_unit = _read(unit, UnitFile)
            if isinstance(found_unit, RecordError):
                yield study.said(unit, found_unit, RENAME)
            elif isinstance(record, RunRecord) and record.unit not in (None, found_unit.unit.digest):
                yield damaged(study.place(unit), "is another unit than the record names", RENAME)
        elif isinstance(record, RunRecord) and record.unit is not None:
            yield damaged(study.place(unit), "is missing", RENAME)

    def _files(self) -> Iterator[Finding]:
        """Files against the manifest. A changed record is told once, by its seal."""
        try:
            manifest = read_manifest(self._folder)
        except RecordError as error:
            yield self._study.said(self._folder / MANIFEST, error, AGAIN)
            return
        try:
            removed_parts(self._folder)
        except RecordError as error:
            yield self._study.said(self._folder / "removed.json", error, "restore it")
            return
        if manifest is not None:
            for name, problem in differences(self._folder, manifest, self._study.hasher):
                if name != "record.json" or isinstance(self._record, RunRecord):
                    yield damaged(f"{self._place}/{name}", problem, AGAIN)
            return
        if self.sealed:
            yield damaged(f"{self._place}/{MANIFEST}", "is missing", AGAIN)
        for entry in walk(self._folder, in_manifest):
            if entry.kind in (Kind.LINK, Kind.SPECIAL):
                yield damaged(f"{self._place}/{entry.name}", f"is a {entry.kind}; it was not opened", "remove it")

    def _together(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The same, told by directory where many files below it have the same thing wrong."""
        groups: dict[tuple[str, str], list[Finding]] = {}
        for finding in findings:
            top = finding.place.removeprefix(f"{self._place}/").split("/", 1)[0]
            groups.setdefault((top, finding.what), []).append(finding)
        for (top, what), group in groups.items():
            if len(group) <= MOST:
                yield from group
            else:
                first = group[0]
                what = f"{len(group)} files, of each: {what} (the first is {first.place.rsplit('/', 1)[-1]})"
                yield damaged(f"{self._place}/{top}", what, first.remedy)

    def _identity(self) -> Iterator[Finding]:
        """Whether everything speaks of this run, this task and this unit of the study."""
        record = self._record
        if isinstance(record, RecordError):
            return
        here = f"{self._place}/record.json"
        if record.run_id != self._run_id:
            yield damaged(here, f"is the record of {record.run_id}", AGAIN)
        task, lock = self._study.tasks.get(record.task), self._study.lock
        for path, score in self._scores.items():
            if isinstance(score, RecordError):
                continue
            if score.state != path.stem:
                yield damaged(self._study.place(path), f"is the score of the state {score.state}", RESCORE)
            elif self._current and task and score.verifier_hash != task.verifier_hash:
                yield damaged(self._study.place(path), f"is by another verifier than that of {record.task}", RESCORE)
        if not self._current:
            return
        if task and record.imported is None and record.task_hash != task.content_hash:
            yield damaged(here, f"was made on another form of the task {record.task}", AGAIN)
        unit = lock.units.get(record.run_id) if lock else None
        if unit and record.unit and record.unit != unit:
            yield incomplete(here, "belongs to an earlier form of the study", "`loopscope run --retire` sets it aside")

    def _completeness(self) -> Iterator[Finding]:
        record, lock = self._record, self._study.lock
        task = None if isinstance(record, RecordError) else self._study.tasks.get(record.task)
        if isinstance(record, RecordError) or lock is None or task is None:
            return
        if record.status is RunStatus.ENVIRONMENT_ERROR:
            yield incomplete(
                self._place, "its environment failed", "`loopscope run` tries it again where that can help"
            )
        scores = {path.stem: score for path, score in self._scores.items() if isinstance(score, StateScore)}
        held = {path.stem for path, score in self._scores.items() if isinstance(score, RecordError)}
        lacks = [
            (state, lack)
            for state, lack in wanting(record, scores, lock.scoring, task.info, has_workspace=self._had_workspace())
            if state not in held
        ]
        remedy = "`loopscope score` does it"
        if any(lack == WAS_GIVEN_UP for _, lack in lacks):
            remedy = "`loopscope score --again` does it"
        if kind_of(self._folder / "workspace.tar.zst") is None:
            remedy = "restore its workspace, which was removed on purpose, then `loopscope score`"
        for state, lack in lacks[:MOST]:
            yield incomplete(f"{self._place}/scores/{state}.json", f"the state {lack}", remedy)
        if len(lacks) > MOST:
            yield incomplete(f"{self._place}/scores", f"{len(lacks) - MOST} more states like these", remedy)

    def _had_workspace(self) -> bool:
        try:
            removed = Part.WORKSPACE in removed_parts(self._folder)
        except RecordError:
            removed = False
        return removed or kind_of(self._folder / "workspace.tar.zst") is not None

    def _attempts(self) -> Iterator[Finding]:
        folder = self._folder / "attempts"
        kind = kind_of(folder)
        if kind is Kind.DIRECTORY:
            for path in sorted(folder.iterdir()):
                if path.name.endswith(DAMAGED_TRY) and kind_of(path) is Kind.DIRECTORY:
                    yield from self._set_aside(path)
                else:
                    for found in RunCheck(self._study, path, self._run_id, current=False).findings():
                        yield found.model_copy(update={"remedy": REMOVE_TRY}) if found.remedy == AGAIN else found
        elif kind is not None:
            yield damaged(self._study.place(folder), f"is a {kind}, where a directory should be", "remove it")

    def _set_aside(self, folder: Path) -> Iterator[Finding]:
        """An earlier try that is known to be damaged: nothing reads it, and it is held against nothing."""
        place = self._study.place(folder)
        yield note(place, "was damaged when it was set aside", "nothing needs to be done")
        for entry in walk(folder):
            if entry.kind in (Kind.LINK, Kind.SPECIAL):
                yield damaged(f"{place}/{entry.name}", f"is a {entry.kind}; it was not opened", "remove it")


def is_whole(root: Path, folder: Path) -> bool:
    """Whether a run directory of a study is as it was written: its record, scores and files; not its earlier tries."""
    check = RunCheck(StudyFacts(root, None, {}, hash_file), folder, folder.name, current=False)
    return all(found.severity is not Severity.DAMAGED for found in check.own())


def leftovers(study: StudyFacts, folder: Path) -> Iterator[Finding]:
    """What killed processes left unfinished directly in a directory of the study."""
    if kind_of(folder) is Kind.DIRECTORY:
        for path in sorted(filter(is_scratch, folder.iterdir())):
            if target := returns_to(path):
                what = f"is {study.place(target)}, which stepped aside for a successor that a kill kept away"
                yield note(study.place(path), what, "`loopscope run` gives it its name again")
            else:
                yield note(study.place(path), "unfinished work of a killed process", "`loopscope study gc` removes it")


def _read[Model: BaseModel](path: Path, kind: type[Model]) -> Model | RecordError:
    try:
        return read_model(path, kind)
    except RecordError as error:
        return error
