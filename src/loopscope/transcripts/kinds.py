"""The words by which a canonical transcript tells its parts apart."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


class MessageKind(StrEnum):
    """What a message is besides its role."""

    PLAIN = "plain"
    REASONING = "reasoning"
    COMPACTION = "compaction"
    """The summary that stands for what was cut off."""
    INJECTED = "injected"
    """Put in by the harness: reminders, resume sentences, hook output. No turn of anybody's."""


class ToolKind(StrEnum):
    """What a tool is for, the same word in every harness."""

    SHELL = "shell"
    SHELL_OUTPUT = "shell_output"
    """Fetches later output of a background command."""
    SHELL_STOP = "shell_stop"
    READ = "read"
    EDIT = "edit"
    WRITE = "write"
    PATCH = "patch"
    """A patch over several files (Codex's apply_patch)."""
    SEARCH = "search"
    PLAN = "plan"
    """Task and to-do lists, plan mode."""
    AGENT = "agent"
    """Starts a subagent, talks to one, or waits for one."""
    WEB = "web"
    OTHER = "other"


class MarkKind(StrEnum):
    """What structures a transcript besides its messages."""

    TURN = "turn"
    """The user speaks; the second and later ones in a thread come from a resume or a conversation."""
    COMPACTION = "compaction"
    RESUME = "resume"
    SUBAGENT_START = "subagent_start"
    SUBAGENT_END = "subagent_end"
    BRANCH = "branch"
    """From about here on, the messages belong to a branch that ran beside the ones before."""
    INTERRUPTION = "interruption"


class NoteKind(StrEnum):
    """What a reader could not take, or took with a reservation."""

    TRUNCATED = "truncated"
    """The log ends in the middle of something."""
    BROKEN = "broken"
    """A line, row or entry that is no JSON, or has not the shape that it should."""
    REPAIRED = "repaired"
    """NULs or bad UTF-8 were replaced, and the rest was read."""
    DUPLICATE = "duplicate"
    DANGLING = "dangling"
    """A result without its call, or a reference to something that is not there."""
    CLOCK = "clock"
    """Times that go back."""
    UNKNOWN = "unknown"
    """Entries of a type that the reader does not know."""
    VERSION = "version"
    """A version of the format newer than the reader."""
    SHORTENED = "shortened"
    """Too large; only a part was kept."""
    SKIPPED = "skipped"
    """A file that was not read: a link, a pipe, or one that another source overrules."""
    BRANCHES = "branches"
    """Concurrent branches were written one after the other: order in the log is not order in time."""
    USAGE = "usage"
    """Counts that do not fit each other, or are missing."""


class Completeness(StrEnum):
    """How much of the true usage a report holds."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    UNKNOWN = "unknown"
