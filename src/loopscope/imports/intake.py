"""`import_logs`: read logs one by one, and make each a run of the study; what cannot be taken in is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from loopscope.imports.evaluators import Evaluators
from loopscope.imports.naming import NAME, harness_of, label_of, seed_of, task_of
from loopscope.imports.record import Identity
from loopscope.imports.shelf import Shelf, check_target, open_shelf
from loopscope.imports.sources import Log, Unread, find_logs
from loopscope.models.study_rows import OVERALL
from loopscope.records import RecordError, StudyError, StudyStore
from loopscope.records.faults import told_fault
from loopscope.records.store import run_id_of
from loopscope.records.tree import spell
from loopscope.transcripts import formats
from loopscope.transcripts.canonical import MAIN, Source, Transcript
from loopscope.transcripts.errors import EmptyLogError, TranscriptError
from loopscope.transcripts.serial import pack

MOST_LOG = 300
"""Characters of a log's name that are kept."""
Notify = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Options:
    """What a person says of the logs that are imported at once."""

    format: str | None = None
    task: str | None = None
    """Of the logs that name none; what a log says of its task stands."""
    category: str | None = None
    agent: str | None = None
    evaluators: tuple[Path, ...] = ()
    """Evaluator files that the study is to keep."""


@dataclass(frozen=True)
class Taken:
    """A log that is a run of the study now."""

    run_id: str
    log: str
    format: str
    messages: int
    calls: int
    notes: int
    """How many things its reader could not take, or took with a reservation."""
    harness: str
    new: bool
    """False: it had been imported before, and nothing was changed."""


@dataclass
class Report:
    """What was imported, and what was not."""

    study: Path
    taken: list[Taken] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    evaluators: tuple[str, ...] = ()
    """Tasks whose evaluator files were taken in."""
    warnings: list[str] = field(default_factory=list)

    @property
    def new(self) -> int:
        """How many runs were added."""
        return sum(found.new for found in self.taken)


def import_logs(
    paths: Sequence[Path], into: Path, options: Options = Options(), notify: Notify = lambda done, total, name: None
) -> Report:
    """Import logs into a study, which is made where there is none.

    Args:
        paths: logs, or directories of logs.
        into: the study's directory.
        options: what is said of all of them.
        notify: called with (done, total, log) as logs are read.

    Raises:
        StudyError: `into` is no place for a study, or another process holds it.
        RecordError: an evaluator file or the study itself cannot be read.
        TranscriptError: a path holds nothing that can be read, or an option does not fit; nothing was written.
    """
    _check(options)
    logs = [log for path in paths for log in find_logs(path, options.format)]
    check_target(into)
    evaluators = Evaluators.load(options.evaluators)
    fresh = not into.exists()
    store = StudyStore(into)
    try:
        with store.hold():
            store.sweep()
            intake = _Intake(open_shelf(store), evaluators, options, Report(into))
            evaluators.check(store)
            for done, log in enumerate(logs):
                notify(done, len(logs), log.name)
                intake.read(log)
            notify(len(logs), len(logs), "")
            if intake.report.taken:
                intake.report.evaluators = evaluators.keep(store)
            intake.finish()
    finally:
        if fresh:
            _leave_nothing(store.path)
    return intake.report


def _check(options: Options) -> None:
    for name, given in (("--task", options.task), ("--agent", options.agent)):
        if given is not None and not NAME.fullmatch(given):
            raise StudyError(f"{name} {given!a}: use letters, digits and . _ @ + - only (at most 80)")
    if options.category is not None and _family(options.category) is None:
        raise StudyError(f"--category {options.category!a}: is no name of a family; name another, or leave it out")


def _leave_nothing(directory: Path) -> None:
    """Take back a directory that was made for a study that then got no run."""
    if not directory.is_dir() or not {path.name for path in directory.iterdir()} <= {".lock", "runs"}:
        return
    runs = directory / "runs"
    if runs.is_dir():
        if any(runs.iterdir()):
            return
        runs.rmdir()
    (directory / ".lock").unlink(missing_ok=True)
    directory.rmdir()


class _Refused(Exception):
    """A log that is read, and cannot be filed."""


@dataclass
class _Intake:
    shelf: Shelf
    evaluators: Evaluators
    options: Options
    report: Report
    _harnesses: dict[str, set[str]] = field(default_factory=dict)
    """By label, of the runs that are new."""
    _own_task: list[str] = field(default_factory=list)
    """New logs that name another task than the options."""

    def read(self, log: Log | Unread) -> None:
        """Take in everything that a log holds; of what fails, the reason is kept."""
        if isinstance(log, Unread):
            self.report.unread.append(log)
            return
        before = len(self.report.unread)
        try:
            for transcript in formats.read(log.path, log.format):
                name = _name(log, transcript.source)
                try:
                    self.report.taken.append(self._take(transcript, name))
                except _Refused as refusal:
                    self.report.unread.append(Unread(name, str(refusal)))
        except EmptyLogError as error:
            # Its transcripts were refused one by one for the same reason: it is one log, told once.
            self.report.unread[before:] = [Unread(log.name, str(error))]
        except TranscriptError as error:
            self.report.unread.append(Unread(log.name, str(error)))
        except (OSError, MemoryError, RecordError, StudyError):
            raise
        except Exception as error:  # whatever a log brings a reader to, it costs that log alone
            self.report.unread.append(Unread(log.name, f"could not be read: {told_fault(error)}"))

    def finish(self) -> None:
        """Say what is odd about the runs together."""
        if self._own_task:
            more = f" and {len(self._own_task) - 1} more" if len(self._own_task) > 1 else ""
            self.report.warnings.append(
                f"{self._own_task[0]}{more}: filed under the task that the log itself names; "
                f"--task {self.options.task} is for logs that name none"
            )
        self.report.warnings += [
            f"{label}: runs of several harnesses ({', '.join(sorted(names))}) under one label; --agent keeps them apart"
            for label, names in sorted(self._harnesses.items())
            if len(names) > 1
        ]

    def _take(self, transcript: Transcript, name: str) -> Taken:
        if not (transcript.messages or transcript.calls or transcript.usage.entries):
            raise _Refused("holds no message, call or count; check that the run began")
        packed = pack(transcript)
        holder, same = self.shelf.holder(transcript, packed.digest)
        if holder is not None and not same:
            self.report.warnings.append(
                f"{name}: its session is in the study already, as {holder}, from another log or another state of it; "
                "nothing was changed (to take this one instead, move that run's directory away, and import again)"
            )
        if holder is None:
            identity = self._identity(transcript.source)
            if self.options.task not in (None, identity.task):
                self._own_task.append(name)
            self.shelf.put(transcript, packed, name, identity)
            self._harnesses.setdefault(identity.agent, set()).add(transcript.source.agent or "unknown")
        return Taken(
            run_id=holder or identity.run_id,
            log=name,
            format=transcript.source.format,
            messages=len(transcript.messages),
            calls=len(transcript.calls),
            notes=sum(note.count for note in transcript.notes),
            harness=harness_of(transcript.source),
            new=holder is None,
        )

    def _identity(self, source: Source) -> Identity:
        task = task_of(source) or self.options.task
        if task is None:
            raise _Refused("its log names no task; import it again with --task NAME")
        agent = self.options.agent or label_of(source)
        if agent is None:
            raise _Refused("its log names neither a model nor an agent; import it again with --agent LABEL")
        seed = seed_of(source)
        if seed is None:
            seed = self.shelf.free_seed(task, agent)
        elif self.shelf.is_taken(run_id_of(task, agent, seed)):
            raise _Refused(
                f"the study has another run {run_id_of(task, agent, seed)}, and nothing is overwritten; "
                "import this one with --agent LABEL, or into another study"
            )
        return Identity(self.shelf.name, task, self._category(task, source), agent, seed)

    def _category(self, task: str, source: Source) -> str:
        """The family: of the prepared task, as a person says, by the evaluator file, by the log."""
        try:
            return self.shelf.store.task(task).info.category
        except RecordError:
            known = self.evaluators.category(self.shelf.store, task)
        return self.options.category or known or _family(source.category or "") or "uncategorized"


def _family(text: str) -> str | None:
    """A category's name; None for one that is empty, or would stand for all of them."""
    name = " ".join(text.split())
    return None if not name or name == OVERALL else name


def _name(log: Log, source: Source) -> str:
    """What was read, of a directory with the file or the trial that the transcript is."""
    inner = spell((source.files.get(MAIN) if log.path.is_dir() else source.trial) or "")
    return (f"{log.name}: {inner}" if inner and inner != log.name else log.name)[:MOST_LOG]
