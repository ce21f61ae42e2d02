"""Read the event stream of `claude -p --output-format stream-json`, of one invocation or several in a row.

The counts in a streamed message are the early ones; only the final `result` event is right: its `modelUsage` holds
subagents and compaction, its `usage` neither. Both are per process: a later turn of the same process gives the sum so
far.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
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
    UsageEntry,
    UsageReport,
)
from loopscope.transcripts.claude_blocks import (
    INTERRUPTED,
    Responses,
    kind_of_user_text,
    take_assistant,
    take_results,
    user_text,
)
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.glimpse import Glimpse
from loopscope.transcripts.parsing import lines
from loopscope.transcripts.reader import SURE
from loopscope.transcripts.shapes import count, flag, moment, money, short, table, words

NAME = "claude-stream"

_SILENT = frozenset(
    {"stream_event", "rate_limit_event", "control_request", "control_response", "keep_alive", "tool_progress"}
)
_STATES = words(
    "status hook_started hook_response task_progress task_updated thinking api_retry informational post_turn_summary "
    "session_state_changed files_persisted local_command_output hook_progress"
)


def sniff(glimpse: Glimpse) -> float | None:
    """A file among whose first lines one starts an invocation."""
    for event in glimpse.lines:
        if event.get("type") == "system" and event.get("subtype") == "init" and "session_id" in event:
            return SURE
    return None


def read(path: Path) -> Iterator[Transcript]:
    """The one transcript of a file.

    Raises:
        TranscriptError: it cannot be read, or holds no event.
    """
    stream = _Stream()
    for index, event in lines(path, stream.builder, "lines that are no event"):
        stream.take(index, event)
    if not stream.events:
        raise TranscriptError(path, "holds no event of Claude Code", "give the output of --output-format stream-json")
    yield stream.finish()


class _Stream:
    def __init__(self) -> None:
        self.builder = Builder()
        self.events = 0
        self._about: dict[str, str] = {}
        self._sessions: dict[str, None] = {}
        self._responses = Responses()
        self._agents: dict[str, str] = {}
        self._results: list[_Invocation] = []
        self._compactions = 0
        self._answered = (0, 0)
        """Responses before the last result: those with counts, those without."""

    def take(self, index: int, event: Mapping[str, Any]) -> None:
        kind, time = event.get("type"), moment(event.get("timestamp"))
        thread = self._thread(event)
        self.events += isinstance(kind, str)
        if session := short(event.get("session_id")):
            self._sessions.setdefault(session)
        match kind:
            case "assistant":
                message = table(event.get("message"))
                self._responses.take(event, message, index, thread, time)
                take_assistant(self.builder, message, index, thread, time)
            case "user":
                self._user(index, event, thread, time)
            case "system":
                self._system(index, event)
            case "result":
                self._result(index, event)
            case str() if kind in _SILENT:
                pass
            case other:
                self.builder.note(NoteKind.UNKNOWN, f"events of type {str(other)[:40]!a}", index)

    def finish(self) -> Transcript:
        source = Source(
            format=NAME,
            format_version=self._about.get("version"),
            agent="claude-code",
            agent_version=self._about.get("version"),
            model=self._about.get("model"),
            session_ids=tuple(self._sessions),
            cwd=self._about.get("cwd"),
        )
        return self.builder.finish(source, self._usage())

    def _thread(self, event: Mapping[str, Any]) -> str:
        parent = short(event.get("parent_tool_use_id"))
        return self._agents.get(parent, parent) if parent else MAIN

    def _user(self, index: int, event: Mapping[str, Any], thread: str, time: float | None) -> None:
        content, more = table(event.get("message")).get("content"), event.get("tool_use_result")
        take_results(self.builder, content, more, index, thread, time)
        said = user_text(content)
        kind = kind_of_user_text(said)
        if kind is MessageKind.PLAIN and flag(event.get("isSynthetic")):
            kind = MessageKind.INJECTED
        self.builder.say(index, Role.USER, said, kind=kind, thread=thread, time=time)
        if said.startswith(INTERRUPTED):
            self.builder.mark(index, MarkKind.INTERRUPTION, thread=thread, time=time)

    def _system(self, index: int, event: Mapping[str, Any]) -> None:
        match event.get("subtype"):
            case "init":
                for key, name in (("model", "model"), ("cwd", "cwd"), ("claude_code_version", "version")):
                    if value := short(event.get(key), 4096):
                        self._about.setdefault(name, value)
                self.builder.mark(index, MarkKind.RESUME if self._results else MarkKind.TURN)
            case "compact_boundary":
                self._compactions += 1
                trigger = short(table(event.get("compact_metadata")).get("trigger")) or ""
                self.builder.mark(index, MarkKind.COMPACTION, trigger)
            case "task_started":
                call, agent = short(event.get("tool_use_id")), short(event.get("task_id"), 100)
                if call and agent and event.get("task_type") == "local_agent":
                    self._agents[call] = agent
                    self.builder.spawned(index, agent)
            case "task_notification":
                summary = short(event.get("summary"), 2000)
                if summary:
                    self.builder.say(index, Role.SYSTEM, summary, kind=MessageKind.INJECTED)
            case str(known) if known in _STATES:
                pass
            case other:
                self.builder.note(NoteKind.UNKNOWN, f"system events of type {str(other)[:40]!a}", index)

    def _result(self, index: int, event: Mapping[str, Any]) -> None:
        """Take an invocation's sum. One that covers all responses so far replaces the sums before it."""
        invocation = _Invocation.of(index, event)
        responses = [entry for entry in self._responses.entries if entry.thread == MAIN]
        before = self._results[-1] if self._results else None
        if before and invocation.read >= _read(responses) and before.within(invocation):
            self._results.pop()
        self._results.append(invocation)
        self._answered = (len(self._responses.entries), self._responses.uncounted)

    def _usage(self) -> UsageReport:
        costs = [result.cost for result in self._results if result.cost is not None]
        claimed = sum(costs, Decimal(0)) if costs else None
        responses = self._responses.entries
        if not self._results:
            missing = ["no result event: output counts are those of the streams' starts"]
            if self._compactions:
                missing.append(f"{self._compactions} compaction calls")
            if not responses:
                return usage.nothing(missing=missing)
            return usage.report(responses, "early usage of streamed messages", missing=missing)
        entries = [entry for result in self._results for entry in result.entries]
        missing = []
        if any(not result.by_model for result in self._results):
            missing.append("subagents and compaction of invocations without modelUsage")
        counted, uncounted = self._answered
        tail = responses[counted:]
        if tail or self._responses.uncounted > uncounted:
            missing.append("after the last result event only early counts of output")
        return usage.report([*entries, *tail], "result event", missing=missing, claimed=claimed)


class _Invocation:
    """What a result event says of its process."""

    def __init__(self, entries: list[UsageEntry], by_model: bool, cost: Decimal | None) -> None:
        self.entries = entries
        self.by_model = by_model
        self.cost = cost

    @classmethod
    def of(cls, index: int, event: Mapping[str, Any]) -> _Invocation:
        models = table(event.get("modelUsage"))
        entries = [
            _entry(
                index,
                str(model)[:200],
                counts,
                "inputTokens",
                "cacheReadInputTokens",
                "cacheCreationInputTokens",
                "outputTokens",
            )
            for model, counts in models.items()
            if isinstance(counts, dict)
        ]
        by_model = bool(entries)
        counts = event.get("usage")
        if not by_model and isinstance(counts, dict):
            names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
            entries = [_entry(index, None, counts, *names)]
        return cls(entries, by_model, money(event.get("total_cost_usd")))

    @property
    def read(self) -> int:
        return _read(self.entries)

    def within(self, other: _Invocation) -> bool:
        """Whether each of its models' counts is in the other's."""
        counts = {entry.model: entry for entry in other.entries}
        return all(
            (later := counts.get(entry.model)) is not None
            and (entry.output or 0) <= (later.output or 0)
            and _read([entry]) <= _read([later])
            for entry in self.entries
        )


def _read(entries: list[UsageEntry]) -> int:
    return sum((e.input_uncached or 0) + (e.cache_read or 0) + (e.cache_write or 0) for e in entries)


def _entry(index: int, model: str | None, counts: Mapping[str, Any], *names: str) -> UsageEntry:
    uncached, read, write, output = (count(counts.get(name)) for name in names)
    return UsageEntry(index, MAIN, model, uncached, read, write, output)
