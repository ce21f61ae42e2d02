"""Read Kimi Code's wire logs: `<session>/agents/<main|agent-N>/wire.jsonl`.

Tokens are taken from `usage.record` alone: ends of steps repeat them, and compaction is only there. The model that it
names is an alias; the request before it names the real one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
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
    ToolKind,
    Transcript,
    UsageEntry,
)
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import is_file, listed, walked, whole
from loopscope.transcripts.glimpse import Glimpse
from loopscope.transcripts.parsing import lines, parse
from loopscope.transcripts.reader import SURE, read_each
from loopscope.transcripts.shapes import count, flag, joined, moment, short, table, text, words

NAME = "kimi-code"
LOG = "wire.jsonl"

_SILENT = words(
    "config.update tools.set_active_tools permission.set_mode llm.tools_snapshot full_compaction.begin "
    "full_compaction.complete turn.end turn.begin"
)
_SILENT_EVENTS = frozenset({"step.begin", "step.end"})
_AGENT = re.compile(r"agent_id: ([\w-]{1,100})$", re.MULTILINE)
_MAX_STATE = 1 << 20


def sniff(glimpse: Glimpse) -> float | None:
    """A wire log, a session's directory, or a directory of sessions."""
    if glimpse.is_file:
        return SURE if _is_wire(glimpse) else None
    return SURE if glimpse.is_folder and next(_sessions(glimpse.path), None) else None


def read(path: Path) -> Iterator[Transcript]:
    """One transcript for each session. A wire log that lies in a session stands for the whole of it.

    Raises:
        TranscriptError: there is none; or, after the others, one could not be read.
    """
    if is_file(path):
        agents = path.parent.parent
        in_session = path.name == LOG and agents.name == "agents"
        yield _session(agents) if in_session else _transcript({MAIN: path}, path.parent)
        return
    sessions = _sessions(path)
    first = next(sessions, None)
    if first is None:
        raise TranscriptError(path, "holds no session of Kimi Code", f"give a session's folder, with agents/main/{LOG}")
    yield from read_each(chain((first,), sessions), _session)


def _session(agents: Path) -> Transcript:
    logs = {folder.name: folder / LOG for folder in listed(agents) if is_file(folder / LOG)}
    return _transcript(dict(sorted(logs.items(), key=lambda item: (item[0] != MAIN, item[0]))), agents.parent)


def _is_wire(glimpse: Glimpse) -> bool:
    return any(
        (line.get("type") == "metadata" and "protocol_version" in line)
        or line.get("type") in ("context.append_loop_event", "usage.record")
        for line in glimpse.lines
    )


def _sessions(folder: Path) -> Iterator[Path]:
    """The `agents` directories of sessions."""
    seen: set[Path] = set()
    for path in walked(folder, depth=6):
        agents = path.parent.parent
        if path.name == LOG and agents.name == "agents" and agents not in seen and _is_wire(Glimpse(path)):
            seen.add(agents)
            yield agents


def _transcript(logs: Mapping[str, Path], folder: Path) -> Transcript:
    builder = Builder()
    wires = {}
    for thread, path in logs.items():
        wires[thread] = wire = _Wire(builder, thread)
        try:
            for index, line in lines(path, builder):
                wire.take(index, line)
        except TranscriptError:
            if thread == MAIN or len(logs) == 1:
                raise
            builder.note(NoteKind.SKIPPED, "agents' logs that cannot be read", loses="subagents")
    state = _state(folder / "state.json")
    main = wires.get(MAIN) or next(iter(wires.values()))
    if MAIN not in wires:
        builder.note(NoteKind.DANGLING, "the main agent's log is not here", loses="main agent")
    builder.absent(wires, "subagents whose logs are not here")
    entries = [entry for wire in wires.values() for entry in wire.entries]
    aliased = sum(wire.aliased for wire in wires.values())
    if aliased:
        builder.note(NoteKind.USAGE, "counts whose model is known by an alias only", count=aliased)
    source = Source(
        format=NAME,
        format_version=main.about.get("protocol"),
        agent="kimi-code",
        agent_version=main.about.get("version"),
        model=main.about.get("model"),
        session_ids=(folder.name[:200],),
        cwd=short(state.get("workDir"), 4096),
        files={thread: str(path.relative_to(folder)) for thread, path in logs.items()},
    )
    return builder.finish(source, usage.report(entries, "usage.record") if entries else usage.nothing())


def _state(path: Path) -> Mapping[str, Any]:
    if not is_file(path):
        return {}
    try:
        parsed = parse(whole(path, _MAX_STATE))
    except TranscriptError:
        return {}
    return table(parsed.value) if parsed else {}


class _Wire:
    """Takes the lines of one agent's log into a builder, and its tokens apart."""

    def __init__(self, builder: Builder, thread: str) -> None:
        self._builder = builder
        self._thread = thread
        self.about: dict[str, str] = {}
        self.entries: list[UsageEntry] = []
        self.aliased = 0
        self._models: dict[str, str] = {}
        self._started = False

    def take(self, index: int, line: Mapping[str, Any]) -> None:
        kind, time = line.get("type"), moment(line.get("time"))
        match kind:
            case "context.append_loop_event":
                self._event(index, table(line.get("event")), time)
            case "context.append_message":
                self._message(index, table(line.get("message")), time)
            case "usage.record":
                self._usage(index, line, time)
            case "llm.request":
                self._request(line)
            case "turn.prompt":
                if self._thread == MAIN or self._started:
                    self._builder.mark(index, MarkKind.TURN, thread=self._thread, time=time)
                self._started = True
            case "turn.cancel" | "turn.interrupt":
                self._builder.mark(index, MarkKind.INTERRUPTION, thread=self._thread, time=time)
            case "context.apply_compaction":
                summary = line.get("summary")
                said = summary if isinstance(summary, str) else ""
                self._say(index, Role.USER, said, MessageKind.COMPACTION, time)
                self._builder.mark(index, MarkKind.COMPACTION, thread=self._thread, time=time)
            case "metadata":
                for key, name in (
                    ("protocol_version", "protocol"),
                    ("cli_version", "version"),
                    ("app_version", "version"),
                ):
                    if value := short(line.get(key)):
                        self.about.setdefault(name, value)
            case str() if kind in _SILENT:
                pass
            case other:
                self._builder.note(NoteKind.UNKNOWN, f"lines of type {str(other)[:40]!a}", index)

    def _event(self, index: int, event: Mapping[str, Any], time: float | None) -> None:
        match event.get("type"):
            case "content.part":
                part = table(event.get("part"))
                thought = part.get("type") in ("think", "thinking")
                said = part.get("think") if thought else joined([part])
                kind = MessageKind.REASONING if thought else MessageKind.PLAIN
                self._say(index, Role.ASSISTANT, said if isinstance(said, str) else "", kind, time)
            case "tool.call":
                self._call(index, event, time)
            case "tool.result":
                self._result(index, event, time)
            case str(known) if known in _SILENT_EVENTS:
                pass
            case other:
                self._builder.note(NoteKind.UNKNOWN, f"events of type {str(other)[:40]!a}", index)

    def _call(self, index: int, event: Mapping[str, Any], time: float | None) -> None:
        name = text(event.get("name"))
        if name is None:
            self._builder.note(NoteKind.BROKEN, "calls without a name", index)
            return
        call_id = text(event.get("toolCallId")) or text(event.get("uuid")) or ""
        self._builder.call(index, call_id, name, event.get("args"), thread=self._thread, time=time)

    def _result(self, index: int, event: Mapping[str, Any], time: float | None) -> None:
        result = table(event.get("result"))
        call_id = text(event.get("toolCallId")) or text(event.get("parentUuid")) or ""
        said, failed = joined(result.get("output")), flag(result.get("isError"))
        call = self._builder.result(index, call_id, said, thread=self._thread, is_error=failed, time=time)
        agent = _AGENT.match(said)
        if agent and call and call.kind is ToolKind.AGENT:
            self._builder.spawned(call.index, agent[1], thread=self._thread, time=call.time)

    def _message(self, index: int, message: Mapping[str, Any], time: float | None) -> None:
        said, role = joined(message.get("content")), message.get("role")
        # What starts a subagent is its prompt; the harness's own words are injections.
        own = table(message.get("origin")).get("kind") in ("user", "system_trigger", None)
        if role == "user":
            self._say(index, Role.USER, said, MessageKind.PLAIN if own else MessageKind.INJECTED, time)
        elif role == "assistant":
            self._say(index, Role.ASSISTANT, said, MessageKind.PLAIN if own else MessageKind.INJECTED, time)
        else:
            self._say(index, Role.SYSTEM, said, MessageKind.INJECTED, time)

    def _request(self, line: Mapping[str, Any]) -> None:
        model, alias = short(line.get("model")), short(line.get("modelAlias"))
        if model:
            self._models[alias or model] = model
            self.about.setdefault("model", model)

    def _usage(self, index: int, line: Mapping[str, Any], time: float | None) -> None:
        counts, alias = table(line.get("usage")), short(line.get("model"))
        model = self._models.get(alias) if alias else None
        self.aliased += alias is not None and model is None
        self.entries.append(
            UsageEntry(
                index=index,
                thread=self._thread,
                model=model or alias,
                input_uncached=count(counts.get("inputOther")),
                cache_read=count(counts.get("inputCacheRead")),
                cache_write=count(counts.get("inputCacheCreation")),
                output=count(counts.get("output")),
                time=time,
            )
        )

    def _say(self, index: int, role: Role, said: str, kind: MessageKind, time: float | None) -> None:
        self._builder.say(index, role, said, kind=kind, thread=self._thread, time=time)
