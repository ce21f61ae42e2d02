"""The canonical transcript: what every reader makes of its format, and all that evidence is taken from.

Plain and flat: messages, calls with their results, marks, usage and notes, each with the index of the source's
message or line, so that a finding can be checked against the log that it came from. Readers never guess: what a
format does not say is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from decimal import Decimal
from typing import Any

from loopscope.models.run import RunStatus
from loopscope.models.usage import Usage
from loopscope.models.value_types import value_type
from loopscope.transcripts.kinds import Completeness, MarkKind, MessageKind, NoteKind, Role, ToolKind

__all__ = [
    "MAIN",
    "Call",
    "Completeness",
    "Ended",
    "Mark",
    "MarkKind",
    "Message",
    "MessageKind",
    "Note",
    "NoteKind",
    "Reported",
    "Result",
    "Role",
    "Source",
    "ToolKind",
    "Transcript",
    "UsageEntry",
    "UsageReport",
]

MAIN = "main"
"""Name of the thread that the user talks to; subagents have names of their own."""


@value_type
class Message:
    """A text that somebody said."""

    index: int
    """Of the message, line or step in the thread's own log, from 0."""
    thread: str
    role: Role
    kind: MessageKind
    text: str
    time: float | None = None
    """Seconds since 1970, as the log claims."""


@value_type
class Result:
    """What came back from a tool."""

    index: int
    """Of the message or line that brought it."""
    text: str
    is_error: bool | None = None
    """As the log states it."""
    exit_code: int | None = None
    """As the harness states it; None where it is not stated, which is no success."""
    cut: bool = False
    """The harness, the log or the reader shortened it."""
    time: float | None = None


@value_type
class Call:
    """A tool call with its first answer."""

    index: int
    thread: str
    id: str
    tool: str
    """The harness's own name."""
    kind: ToolKind
    arguments: Mapping[str, Any]
    """As the model gave them; empty when they are no object."""
    result: Result | None = None
    """The first answer; None when none came."""
    command: str | None = None
    """Shell text, for SHELL; None when the model gave none."""
    path: str | None = None
    """File, for READ, EDIT, WRITE."""
    background: str | None = None
    """For a SHELL call that went on in the background: the id by which its output is fetched. For SHELL_OUTPUT and
    SHELL_STOP: the id that they name. Ids can be used again: the most recent command before counts."""
    time: float | None = None


@value_type
class Mark:
    """A place that structures the transcript."""

    index: int
    thread: str
    kind: MarkKind
    text: str = ""
    """For subagents the name of their thread."""
    time: float | None = None


@value_type
class Note:
    """Something broken, skipped or guessed."""

    kind: NoteKind
    text: str
    index: int | None = None
    count: int = 1


@value_type
class UsageEntry:
    """Tokens of one response, or of several that the log gives together. Counts are disjoint; None is unknown."""

    index: int | None
    thread: str
    model: str | None
    input_uncached: int | None
    cache_read: int | None
    cache_write: int | None
    output: int | None
    """Reasoning included."""
    reasoning: int | None = None
    """Part of the output."""
    time: float | None = None


@value_type
class UsageReport:
    """What a log says of tokens and money, and how far it can be believed."""

    entries: tuple[UsageEntry, ...] = ()
    total: Usage = field(default_factory=Usage)
    source: str = "none"
    """Which field of the log was taken."""
    completeness: Completeness = Completeness.UNKNOWN
    missing: tuple[str, ...] = ()
    """What is known to be left out, in words."""
    claimed_cost_usd: Decimal | None = None
    """Money as the log claims it; prices are not applied here."""


@value_type
class Reported:
    """A reward that the log itself states: the task's verifier gave it, but in the sandbox that the agent worked in."""

    reward: Decimal
    where: str
    """File and field that it was read from."""


@value_type
class Ended:
    """How the log itself says that the run ended."""

    status: RunStatus
    problem: str | None = None
    """Name of the error, if there was one to tell of."""
    stage: str = "agent"
    """What failed: agent, scoring."""
    message: str = ""
    """Of the error, on one line."""


@value_type
class Source:
    """Where a transcript comes from, as far as its log says so."""

    format: str
    format_version: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None
    session_ids: tuple[str, ...] = ()
    cwd: str | None = None
    task: str | None = None
    trial: str | None = None
    """Name of the one try among several at the task."""
    category: str | None = None
    seed: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """Thread to the file, relative to what was read, that its indices count in."""


@value_type
class Transcript:
    """One session, with its subagents."""

    source: Source
    messages: tuple[Message, ...]
    calls: tuple[Call, ...]
    """In the order of the log within each thread; the main thread first, then the subagents as they appear."""
    marks: tuple[Mark, ...]
    usage: UsageReport
    notes: tuple[Note, ...]
    reported: Reported | None = None
    """None where the log states no reward: it is missing, and not 0."""
    ended: Ended | None = None
    """None where the log does not say how the run ended."""

    @property
    def threads(self) -> tuple[str, ...]:
        """Names of the threads, the main one first."""
        names = dict.fromkeys((MAIN,))
        names.update(dict.fromkeys(call.thread for call in self.calls))
        names.update(dict.fromkeys(message.thread for message in self.messages))
        return tuple(names)

    def calls_of(self, thread: str = MAIN) -> tuple[Call, ...]:
        """Calls of one thread, in order."""
        return tuple(call for call in self.calls if call.thread == thread)

    def messages_of(self, thread: str = MAIN) -> tuple[Message, ...]:
        """Messages of one thread, in order."""
        return tuple(message for message in self.messages if message.thread == thread)

    def marks_of(self, kind: MarkKind) -> tuple[Mark, ...]:
        """Marks of one kind, of all threads."""
        return tuple(mark for mark in self.marks if mark.kind is kind)

    def notes_of(self, kind: NoteKind) -> tuple[Note, ...]:
        """Notes of one kind."""
        return tuple(note for note in self.notes if note.kind is kind)

    @property
    def branched(self) -> bool:
        """Whether concurrent branches were flattened into this log; evidence from its order is then weak."""
        return any(note.kind is NoteKind.BRANCHES for note in self.notes)
