"""Read Inspect's `.eval` logs: an archive with `header.json` (or `_journal/start.json`) and one entry per sample.

A sample's `messages` are the conversation; its `events` have times, tokens of each response, exit codes of the
sandbox, and the calls of agents within agents. Large texts stand once among the attachments, and are referred to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from loopscope.transcripts import usage
from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import (
    MAIN,
    MarkKind,
    MessageKind,
    NoteKind,
    Role,
    Source,
    Transcript,
    UsageReport,
)
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import opened
from loopscope.transcripts.glimpse import Glimpse
from loopscope.transcripts.inspect_archive import Archive, EntryError
from loopscope.transcripts.inspect_events import Events, counted
from loopscope.transcripts.parsing import object_of, parse
from loopscope.transcripts.reader import PERHAPS, SURE
from loopscope.transcripts.rewards import reward_of_scores
from loopscope.transcripts.shapes import count, joined, rows, short, table, text

NAME = "inspect"


def sniff(glimpse: Glimpse) -> float | None:
    """A zip archive, named as Inspect does."""
    start = glimpse.start
    if not start.startswith(b"PK\x03\x04"):
        return None
    if glimpse.path.suffix == ".eval" or b"_journal/start.json" in start:
        return SURE
    return PERHAPS if b"header.json" in start else None


def read(path: Path) -> Iterator[Transcript]:
    """One transcript for each sample.

    Raises:
        TranscriptError: it is no archive, or holds no sample; or, after the others, some could not be read.
    """
    with opened(path) as stream:
        archive = Archive(stream, path)
        header = _header(archive)
        found, lost = False, list[str]()
        for name in archive.names():
            if not (name.startswith("samples/") and name.endswith(".json")):
                continue
            builder = Builder()
            try:
                sample = object_of(archive.read(name), f"{path} ({name[:100]})", "messages", builder)
            except EntryError as error:
                lost.append(f"{name[:100]!a} {error}")
                continue
            except TranscriptError:
                lost.append(f"{name[:100]!a} holds no JSON object")
                continue
            found = True
            if header.get("status") is None:
                builder.note(NoteKind.TRUNCATED, "the evaluation did not end: the log has no final header")
            yield _sample(builder, header, sample)
    if not found:
        raise TranscriptError(
            path,
            f"holds no readable sample{f' ({lost[0]})' if lost else ''}",
            "check that it is a log of Inspect and has ended samples",
        )
    if lost:
        raise TranscriptError(
            path, f"samples that cannot be read: {len(lost)} (first {lost[0]})", "the others were taken in"
        )


def _header(archive: Archive) -> Mapping[str, Any]:
    for name in ("header.json", "_journal/start.json"):
        try:
            parsed = parse(archive.read(name)) if name in archive else None
        except EntryError:
            continue
        if parsed and isinstance(parsed.value, dict):
            return table(parsed.value)
    return {}


def _sample(builder: Builder, header: Mapping[str, Any], sample: Mapping[str, Any]) -> Transcript:
    about = table(header.get("eval"))
    attachments = table(sample.get("attachments"))
    events = Events(sample.get("events"), attachments)
    messages = _Messages(builder, attachments, events)
    for index, message in enumerate(rows(sample.get("messages"))):
        messages.take(index, message)
    events.rest(builder, messages.calls)
    name = sample.get("id")
    epoch = count(sample.get("epoch"))
    version = header.get("version")
    source = Source(
        format=NAME,
        format_version=str(version)[:20] if isinstance(version, int) else None,
        agent=short(about.get("solver")),
        agent_version=short(table(about.get("packages")).get("inspect_ai")),
        model=short(about.get("model")),
        session_ids=tuple(filter(None, [short(sample.get("uuid"))])),
        task=short(about.get("task")),
        trial=f"{str(name)[:150]} epoch {epoch}" if isinstance(name, (str, int)) else None,
        seed=str(epoch) if epoch is not None else None,
    )
    reported, doubt = reward_of_scores(sample.get("scores"))
    if doubt:
        builder.note(NoteKind.SKIPPED, f"the sample's score: {doubt}")
    return replace(builder.finish(source, _usage(sample, events)), reported=reported)


def _usage(sample: Mapping[str, Any], events: Events) -> UsageReport:
    """Tokens by model over the whole sample, scorers included; times come with the events where these add up."""
    whole = [counted(None, MAIN, str(model)[:200], c, None) for model, c in table(sample.get("model_usage")).items()]
    single = events.entries
    if not whole:
        return usage.report(single, "model events") if single else usage.nothing()
    agree = sum(e.output or 0 for e in single) == sum(e.output or 0 for e in whole)
    return usage.report(single if agree and single else whole, "model events" if agree and single else "model_usage")


class _Messages:
    """Takes a sample's conversation into a builder."""

    def __init__(self, builder: Builder, attachments: Mapping[str, Any], events: Events) -> None:
        self._builder = builder
        self._attachments = attachments
        self._events = events
        self.calls: set[str] = set()

    def take(self, index: int, message: object) -> None:
        if not isinstance(message, dict):
            self._builder.note(NoteKind.BROKEN, "messages that are no object", index)
            return
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            self._assistant(index, message)
        elif role == "tool":
            self._result(index, message)
        elif role == "user":
            said = self._events.resolved(joined(content))
            self._builder.say(index, Role.USER, said)
            if said:
                self._builder.mark(index, MarkKind.TURN)
        elif role == "system":
            self._builder.say(index, Role.SYSTEM, self._events.resolved(joined(content)))
        else:
            self._builder.note(NoteKind.UNKNOWN, f"messages of role {str(role)[:40]!a}", index)

    def _assistant(self, index: int, message: Mapping[str, Any]) -> None:
        content = message.get("content")
        for block in rows(content):
            if table(block).get("type") == "reasoning":
                thought = self._events.resolved(joined(table(block).get("reasoning")))
                self._builder.say(index, Role.ASSISTANT, thought, kind=MessageKind.REASONING)
        self._builder.say(index, Role.ASSISTANT, self._events.resolved(joined(content)))
        for call in rows(message.get("tool_calls")):
            member = table(call)
            name, call_id = text(member.get("function")), text(member.get("id")) or ""
            if name is None:
                self._builder.note(NoteKind.BROKEN, "calls without a name", index)
                continue
            self.calls.add(call_id)
            arguments = self._events.arguments(member.get("arguments"))
            self._builder.call(index, call_id, name, arguments, time=self._events.started(call_id))

    def _result(self, index: int, message: Mapping[str, Any]) -> None:
        call_id = text(message.get("tool_call_id")) or ""
        error = table(message.get("error"))
        said = self._events.resolved(joined(message.get("content"))) or self._events.resolved(
            joined(error.get("message"))
        )
        self._builder.result(
            index,
            call_id,
            said,
            is_error=True if error else None,
            exit_code=self._events.exit_code(call_id),
            time=self._events.ended(call_id),
        )
