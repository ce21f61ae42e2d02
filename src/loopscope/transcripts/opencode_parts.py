"""What OpenCode's database and its export share: messages with parts, and tokens of each response.

Input excludes what came from the cache, output excludes reasoning. All counts zero means that the provider gave none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from loopscope.transcripts import usage
from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import (
    MAIN,
    MarkKind,
    MessageKind,
    NoteKind,
    Role,
    ToolKind,
    UsageEntry,
    UsageReport,
)
from loopscope.transcripts.shapes import code, count, flag, moment, money, short, table, text, words

_SILENT = words("step-start step-finish snapshot patch file agent retry")
_INVALID = "invalid"
"""The tool that OpenCode puts in the place of one that is not there, or whose arguments do not fit: it "completes"."""


class Session:
    """Takes the messages of a session and its subagents into a builder, and their tokens apart."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self.about: dict[str, str] = {}
        self._entries: list[UsageEntry] = []
        self._costs: list[Any] = []
        self._started: set[str] = set()
        self._uncounted = 0

    def take(self, index: int, info: Mapping[str, Any], parts: Iterable[object], thread: str = MAIN) -> None:
        """Take one message."""
        times = table(info.get("time"))
        time = moment(times.get("created"))
        role = info.get("role")
        if role == "assistant":
            self._response(index, info, thread, time)
        elif role != "user":
            self._builder.note(NoteKind.UNKNOWN, f"messages of role {str(role)[:40]!a}", index)
            return
        spoken = False
        for part in parts:
            if not isinstance(part, dict):
                self._builder.note(NoteKind.BROKEN, "parts that are no object", index)
                continue
            spoken |= self._part(index, info, part, thread, time)
        if role == "user" and spoken:
            if thread == MAIN or thread in self._started:
                self._builder.mark(index, MarkKind.TURN, thread=thread, time=time)
            self._started.add(thread)

    def usage(self) -> UsageReport:
        """What the messages say of tokens."""
        costs = [cost for cost in map(money, self._costs) if cost is not None]
        # A provider without prices costs 0 here.
        claimed = sum(costs) if any(costs) else None
        missing = [f"{self._uncounted} responses whose counts are all zero"] if self._uncounted else []
        counted = [entry for entry in self._entries if entry.output is not None]
        if not counted:
            return usage.nothing("tokens of each message", missing=missing, claimed=claimed or None)
        return usage.report(self._entries, "tokens of each message", missing=missing, claimed=claimed or None)

    def _response(self, index: int, info: Mapping[str, Any], thread: str, time: float | None) -> None:
        model = short(info.get("modelID"))
        if model and thread == MAIN:
            self.about.setdefault("model", model)
        if cwd := short(table(info.get("path")).get("cwd"), 4096):
            self.about.setdefault("cwd", cwd)
        if info.get("summary") is True:
            self._builder.mark(index, MarkKind.COMPACTION, thread=thread, time=time)
        tokens = info.get("tokens")
        if not isinstance(tokens, dict):
            return
        cache = table(tokens.get("cache"))
        uncached, read, write = (count(v) for v in (tokens.get("input"), cache.get("read"), cache.get("write")))
        said, reasoning = count(tokens.get("output")), count(tokens.get("reasoning"))
        self._costs.append(info.get("cost"))
        if not any((uncached, read, write, said, reasoning)):
            self._uncounted += 1
            self._entries.append(UsageEntry(index, thread, model, None, None, None, None, time=time))
            return
        output = None if said is None else said + (reasoning or 0)
        self._entries.append(UsageEntry(index, thread, model, uncached, read, write, output, reasoning, time))

    def _part(
        self, index: int, info: Mapping[str, Any], part: Mapping[str, Any], thread: str, time: float | None
    ) -> bool:
        """Take a part; whether the user speaks in it."""
        kind, user = text(part.get("type")), info.get("role") == "user"
        said = part.get("text") if isinstance(part.get("text"), str) else ""
        if kind == "text":
            injected = user and (flag(part.get("synthetic")) or flag(part.get("ignored")))
            about = MessageKind.INJECTED if injected else MessageKind.PLAIN
            if info.get("summary") is True and not user:
                about = MessageKind.COMPACTION
            role = Role.USER if user else Role.ASSISTANT
            self._builder.say(index, role, said or "", kind=about, thread=thread, time=time)
            return user and not injected and bool(said)
        if kind == "reasoning":
            self._builder.say(index, Role.ASSISTANT, said or "", kind=MessageKind.REASONING, thread=thread, time=time)
        elif kind == "tool":
            self._tool(index, part, thread)
        elif kind in ("compaction", "subtask"):
            pass
        elif kind not in _SILENT:
            self._builder.note(NoteKind.UNKNOWN, f"parts of type {str(kind)[:40]!a}", index)
        return False

    def _tool(self, index: int, part: Mapping[str, Any], thread: str) -> None:
        state, tool = table(part.get("state")), text(part.get("tool"))
        if tool is None:
            self._builder.note(NoteKind.BROKEN, "calls without a name", index)
            return
        meant = short(table(state.get("input")).get("tool"), 100) if tool == _INVALID else None
        times, about = table(state.get("time")), table(state.get("metadata"))
        call_id = text(part.get("callID")) or text(part.get("id")) or ""
        start, status = moment(times.get("start")), state.get("status")
        call = self._builder.call(index, call_id, meant or tool, state.get("input"), thread=thread, time=start)
        if call and call.asked.kind is ToolKind.AGENT and (child := short(about.get("sessionId"), 100)):
            self._builder.spawned(index, child, thread=thread, time=start)
        if status not in ("completed", "error"):
            return
        failed = status == "error"
        output, exit_code = state.get("error") if failed else state.get("output"), code(about.get("exit"))
        self._builder.result(
            index,
            call_id,
            output if isinstance(output, str) else "",
            thread=thread,
            is_error=failed or meant is not None or exit_code not in (None, 0),
            exit_code=exit_code,
            cut=flag(about.get("truncated")) or False,
            time=moment(times.get("end")),
        )
