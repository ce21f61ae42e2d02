"""What was seen in a run's transcript, whichever kind it is: one list of commits, builds and evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from loopscope.models import BuildSeen, EvaluationSeen, HarnessSupport, Moment
from loopscope.transcripts.canonical import MAIN

Place = tuple[int, int]
"""Position of a call in the main thread, and order within it: what is before what."""
_LAST = 1 << 40
"""Order of what a subagent did: behind the command that started it."""


@dataclass(frozen=True, slots=True)
class Segment:
    """What happened to files between two commits, as far as the transcript shows it."""

    changes: int = 0
    """How often the artifact was changed."""
    files: tuple[str, ...] = ()
    """Artifact files that were."""
    records: tuple[str, ...] = ()
    """Other files of the work directory that were written, all of which keep records."""
    others: tuple[str, ...] = ()
    """Other files of the work directory that were written."""
    uncertain: str = ""
    """A change of which it is not known what it did, in words; empty without one."""
    records_staged: bool = False
    """What was put into the index was named file by file, and all of it keeps records."""
    seeds_only: bool = False
    """The artifact was changed, and each change only gave a seed another number."""

    def followed_by(self, later: Segment) -> Segment:
        """What happened in this and the next, for a commit that holds both."""
        return Segment(
            changes=self.changes + later.changes,
            files=_each(self.files, later.files),
            records=_each(self.records, later.records),
            others=_each(self.others, later.others),
            uncertain=self.uncertain or later.uncertain,
            records_staged=self.records_staged and later.records_staged,
            seeds_only=all(part.seeds_only for part in (self, later) if part.changes)
            and bool(self.changes or later.changes),
        )


def _each(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


@dataclass(frozen=True, slots=True)
class UnfittedRun:
    """A run that looks like an evaluation and fits no rule of the task's evaluator."""

    at: Moment
    command: str
    state: str | None = None
    """Of the artifact that it ran on."""


@dataclass(frozen=True, slots=True)
class CommitSeen:
    """A commit that the transcript shows, and that happened or may have."""

    at: Moment
    sha: str
    """As far as it is shown; else `m<message>.<order>`, which is no hash."""
    hash_shown: bool
    subject: str
    message: str
    state: str | None = None
    """Of the artifact that it holds."""
    kind: str | None = None
    confirmed_by: str | None = None
    """output, history, exit, none; None where the step itself says that it committed."""
    reason: str = ""
    """By what it is known."""
    amend: bool = False
    repeated_initial: bool = False
    """An initial commit that was made again, after the repository was made anew."""
    segment: Segment = Segment()
    """Since the commit before."""

    @property
    def confirmed(self) -> bool:
        """It surely happened."""
        return self.confirmed_by != "none"


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that a transcript shows."""

    commits: tuple[CommitSeen, ...] = ()
    builds: tuple[BuildSeen, ...] = ()
    evaluations: tuple[EvaluationSeen, ...] = ()
    unfitted: tuple[UnfittedRun, ...] = ()
    tool_calls: int = 0
    support: HarnessSupport = field(default_factory=HarnessSupport)
    states: int | None = None
    """How many different states there were."""
    variants: Mapping[str, str] = field(default_factory=dict)
    """States that are files built with other flags than they say: each with the state of the files alone."""
    start: str | None = None
    """The state that the run began with; None when the artifact is not followed."""
    last: str | None = None
    """The state that it ended with."""
    last_change: Moment | None = None
    """Where it came to be; None when nothing was changed, or the artifact is not followed."""
    last_certain: bool = False
    order_checked: bool = True
    warnings: tuple[str, ...] = ()
    subagents: Mapping[str, int | None] = field(default_factory=dict)
    """Thread to the position of the call in the main thread during which it ran; None when that is not known."""

    def next_commit(self, position: int) -> Place | None:
        """The place of the commit behind one of the list; None behind the last, or where its place is not known."""
        following = self.commits[position + 1 : position + 2]
        return self.place(following[0].at) if following else None

    def place(self, moment: Moment) -> Place | None:
        """Where in the order of the main thread something happened; None when that is not known."""
        if moment.thread == MAIN:
            return moment.call, moment.order
        call = self.subagents.get(moment.thread)
        return None if call is None else (call, _LAST)
