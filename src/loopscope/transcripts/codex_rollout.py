"""One rollout of Codex, line by line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from loopscope.transcripts import outcomes
from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import MAIN, MarkKind, MessageKind, NoteKind, Role, ToolKind, UsageEntry
from loopscope.transcripts.parsing import parse
from loopscope.transcripts.shapes import EMPTY, code, count, flag, joined, moment, rows, short, table, text, words

_UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_SILENT_ITEMS = frozenset({"ghost_snapshot", "other"})
_SILENT_EVENTS = words(
    "agent_message agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break user_message task_started "
    "task_complete patch_apply_end patch_apply_begin exec_command_begin exec_command_end context_compacted turn_diff "
    "web_search_begin web_search_end mcp_tool_call_begin mcp_tool_call_end plan_update thread_name_updated warning "
    "thread_goal_updated item_completed entered_review_mode exited_review_mode turn_started turn_complete "
    "thread_rolled_back collab_agent_spawn_end collab_agent_spawn_begin collab_waiting_begin collab_waiting_end "
    "view_image_tool_call background_event stream_error"
)
"""They repeat what response items say, or say nothing of the work."""
_COPYING = 1.0
"""Seconds in which a copy is written."""
_INJECTED = ("<", "# AGENTS.md", "Warning: ")
_NO_CALL = ("failed to parse function arguments", "unsupported call: ", "unsupported custom tool call: ")
"""How an answer begins to a call that Codex could not make; rollouts do not state its success."""
_COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")


class Rollout:
    """Takes the lines of one rollout into a builder, and its running total apart."""

    def __init__(self, builder: Builder, thread: str, session: str) -> None:
        self._builder = builder
        self._thread = thread
        self._session = session
        self.about: dict[str, str] = {}
        self.entries: list[UsageEntry] = []
        self._model: str | None = None
        self._total: dict[str, int] = {}
        self._copied = False
        """Within the parent's events, which a forked subagent begins with."""
        self._copied_at: float | None = None
        self._started = False
        self._last_said: int | None = None

    def take(self, index: int, line: Mapping[str, Any]) -> None:
        """Take one line."""
        kind, payload, time = text(line.get("type")), table(line.get("payload")), moment(line.get("timestamp"))
        if kind == "session_meta":
            self._meta(payload, time)
        elif kind == "event_msg":
            self._event(index, payload, time)
        elif kind == "turn_context":
            self._own_turn(payload, time)
            model = short(payload.get("model"))
            if not self._copied and model:
                self._model = model
                self.about.setdefault("model", model)
        elif self._copied:
            return
        elif kind == "response_item":
            self._item(index, payload, time)
        elif kind == "compacted":
            self._compacted(index, payload, time)
        else:
            self._builder.note(NoteKind.UNKNOWN, f"lines of type {str(kind)[:40]!a}", index)

    def _meta(self, payload: Mapping[str, Any], time: float | None) -> None:
        name = short(payload.get("id"))
        if name and name != self._session and self._session:
            self._copied, self._copied_at = True, time
            text = f"begins with a copy of session {name[:60]}, which is not counted again"
            self._builder.note(NoteKind.SKIPPED, text)
            return
        for key, known in (("cwd", "cwd"), ("cli_version", "version")):
            if value := short(payload.get(key), 4096):
                self.about.setdefault(known, value)

    def _own_turn(self, payload: Mapping[str, Any], time: float | None) -> None:
        """A copy of the parent's events ends with the first turn that is younger than this session.

        Ids of sessions and turns are UUIDs of version 7, which sort by time. Where they are others, the lines' times
        tell: a copy is written in one go.
        """
        if not self._copied:
            return
        turn = payload.get("turn_id")
        if isinstance(turn, str) and _UUID7.fullmatch(turn) and _UUID7.fullmatch(self._session):
            self._copied = turn < self._session
        elif time is not None and self._copied_at is not None:
            self._copied = time < self._copied_at + _COPYING

    def _event(self, index: int, payload: Mapping[str, Any], time: float | None) -> None:
        kind = text(payload.get("type"))
        if kind in ("task_started", "turn_started"):
            self._own_turn(payload, time)
        elif kind == "token_count":
            self._count(index, table(payload.get("info")), time)
        elif self._copied:
            pass
        elif kind == "user_message":
            if self._thread == MAIN or self._started:
                self._builder.mark(index, MarkKind.TURN, thread=self._thread, time=time)
            self._started = True
        elif kind == "turn_aborted":
            self._builder.mark(index, MarkKind.INTERRUPTION, thread=self._thread, time=time)
        elif kind not in _SILENT_EVENTS:
            self._builder.note(NoteKind.UNKNOWN, f"events of type {str(kind)[:40]!a}", index)

    def _count(self, index: int, info: Mapping[str, Any], time: float | None) -> None:
        """Take what the running total grew by. Compaction repeats a line without growth; that is nothing."""
        total = table(info.get("total_token_usage"))
        now = {key: value for key in _COUNTS if (value := count(total.get(key))) is not None}
        if "input_tokens" not in now or "output_tokens" not in now:
            return
        before, self._total = self._total, now
        if self._copied:
            return
        if any(now.get(key, 0) < before.get(key, 0) for key in _COUNTS):
            self._builder.note(NoteKind.USAGE, "the running total of tokens fell; counted on from there", index)
            before = {}
        grown = {key: now[key] - before.get(key, 0) for key in now}
        if not any(grown.values()):
            return
        cached = min(grown.get("cached_input_tokens", 0), grown["input_tokens"])
        self.entries.append(
            UsageEntry(
                index=index,
                thread=self._thread,
                model=self._model,
                input_uncached=grown["input_tokens"] - cached,
                cache_read=cached if "cached_input_tokens" in grown else None,
                cache_write=None,
                output=grown["output_tokens"],
                reasoning=grown.get("reasoning_output_tokens"),
                time=time,
            )
        )

    def _item(self, index: int, item: Mapping[str, Any], time: float | None) -> None:
        kind = text(item.get("type"))
        if kind == "message":
            self._message(index, item, time)
        elif kind == "reasoning":
            thought = joined(item.get("summary")) or joined(item.get("content"))
            self._say(index, Role.ASSISTANT, thought, MessageKind.REASONING, time)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call"):
            self._call(index, str(kind), item, time)
        elif kind in ("function_call_output", "custom_tool_call_output", "tool_search_output"):
            self._output(index, item, time)
        elif kind not in _SILENT_ITEMS:
            self._builder.note(NoteKind.UNKNOWN, f"items of type {str(kind)[:40]!a}", index)

    def _message(self, index: int, item: Mapping[str, Any], time: float | None) -> None:
        said, role = joined(item.get("content")), item.get("role")
        if role == "assistant":
            self._last_said = len(self._builder.messages) if said else None
            self._say(index, Role.ASSISTANT, said, MessageKind.PLAIN, time)
        elif role == "user":
            kind = MessageKind.INJECTED if said.startswith(_INJECTED) else MessageKind.PLAIN
            self._say(index, Role.USER, said, kind, time)
        else:
            self._say(index, Role.SYSTEM, said, MessageKind.INJECTED, time)

    def _call(self, index: int, kind: str, item: Mapping[str, Any], time: float | None) -> None:
        name, arguments = text(item.get("name")) or kind.removesuffix("_call"), item.get("arguments")
        if kind == "custom_tool_call":
            arguments = {"input": item.get("input")}
        elif kind in ("local_shell_call", "web_search_call"):
            arguments = item.get("action")
        elif isinstance(arguments, str):
            parsed = parse(arguments.encode("utf-8", "replace"))
            arguments = parsed.value if parsed else {}
        call_id = text(item.get("call_id")) or text(item.get("id")) or ""
        self._builder.call(index, call_id, name, arguments, thread=self._thread, time=time)

    def _output(self, index: int, item: Mapping[str, Any], time: float | None) -> None:
        output = item.get("output")
        more: Mapping[str, Any] = EMPTY
        if isinstance(output, dict):
            more, output = output, output.get("content")
        said = joined(output)
        if said.startswith('{"output":'):
            said, more = _older(said)
        header, said = _parted(said)
        exit_code = code(table(more.get("metadata")).get("exit_code"))
        if exit_code is None:
            exit_code = outcomes.header_exit_code(header)
        success = flag(more.get("success"))
        if success is None and exit_code is None and not header and said.startswith(_NO_CALL):
            success = False
        call_id = text(item.get("call_id")) or ""
        call = self._builder.result(
            index,
            call_id,
            said or _tools(item),
            thread=self._thread,
            is_error=None if success is None else not success,
            exit_code=exit_code,
            cut="tokens truncated" in header or "Total output lines" in header,
            background=outcomes.session_id(header),
            time=time,
        )
        if call and call.kind is ToolKind.AGENT:
            self._spawned(call.index, said, call.time)

    def _spawned(self, index: int, said: str, time: float | None) -> None:
        try:
            agent = short(table(orjson.loads(said)).get("agent_id"), 100)
        except orjson.JSONDecodeError:
            return
        if agent:
            self._builder.spawned(index, agent, thread=self._thread, time=time)

    def _compacted(self, index: int, payload: Mapping[str, Any], time: float | None) -> None:
        """The summary, which the model may just have said as a message; the history it replaces is not read again."""
        summary = payload.get("message") if isinstance(payload.get("message"), str) else ""
        messages, place = self._builder.messages, self._last_said
        if place is not None and place < len(messages) and (summary or "").endswith(messages[place].text):
            del messages[place]
        self._last_said = None
        self._say(index, Role.USER, summary or "", MessageKind.COMPACTION, time)
        self._builder.mark(index, MarkKind.COMPACTION, thread=self._thread, time=time)

    def _say(self, index: int, role: Role, said: str, kind: MessageKind, time: float | None) -> None:
        self._builder.say(index, role, said, kind=kind, thread=self._thread, time=time)


def _older(said: str) -> tuple[str, Mapping[str, Any]]:
    """Output of older versions: an object in a string."""
    try:
        document = table(orjson.loads(said))
    except orjson.JSONDecodeError:
        return said, EMPTY
    return joined(document.get("output")), document


def _parted(said: str) -> tuple[str, str]:
    """The lines that Codex puts above an output, and the output."""
    if not said.startswith(("Chunk ID:", "Exit code:", "Wall time:", "Process ")):
        return "", said
    header, mark, rest = said.partition("Output:\n")
    return (header, rest) if mark and len(header) < 1000 else ("", said)


def _tools(item: Mapping[str, Any]) -> str:
    names = [short(table(tool).get("name")) for tool in rows(item.get("tools"))]
    return ", ".join(name for name in names[:100] if name)
