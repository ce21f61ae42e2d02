"""The events of an Inspect sample: what they add to its messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import MAIN, UsageEntry
from loopscope.transcripts.shapes import EMPTY, code, count, joined, moment, rows, short, table, text

_ATTACHMENT = "attachment://"
_MAX_LEVELS = 100


@dataclass(slots=True)
class _ToolEvent:
    index: int
    event: Mapping[str, Any]
    span: str | None
    exits: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Span:
    parent: str | None
    kind: str | None
    name: str
    tool: _ToolEvent | None = None


class Events:
    """Looks through a sample's events once, and answers by the id of a call."""

    def __init__(self, events: object, attachments: Mapping[str, Any]) -> None:
        self._attachments = attachments
        self._tools: dict[str, _ToolEvent] = {}
        self._spans: dict[str, _Span] = {}
        self.entries: list[UsageEntry] = []
        waiting: _Span | None = None
        for index, event in enumerate(rows(events)):
            event = table(event)
            span = text(event.get("span_id"))
            match event.get("event"):
                case "span_begin":
                    own = text(event.get("id"))
                    if own:
                        parent, name = text(event.get("parent_id")), short(event.get("name"), 100) or own[:20]
                        self._spans[own] = opened = _Span(parent, text(event.get("type")), name)
                        waiting = opened if opened.kind == "tool" else waiting
                case "tool":
                    call = text(event.get("id"))
                    if call:
                        self._tools[call] = tool = _ToolEvent(index, event, span)
                        # A tool's span begins just before its event.
                        if waiting is not None and waiting.parent == span:
                            waiting.tool = tool
                        waiting = None
                case "sandbox":
                    self._sandbox(event, span)
                case "model":
                    self._model(index, event, span)

    def started(self, call_id: str) -> float | None:
        """When a call began."""
        tool = self._tools.get(call_id)
        return moment(tool.event.get("timestamp")) if tool else None

    def ended(self, call_id: str) -> float | None:
        """When a call was answered."""
        tool = self._tools.get(call_id)
        return moment(tool.event.get("completed")) if tool else None

    def exit_code(self, call_id: str) -> int | None:
        """Exit code of the command that a call ran in the sandbox; None when it ran none or several."""
        tool = self._tools.get(call_id)
        return tool.exits[0] if tool and len(tool.exits) == 1 else None

    def resolved(self, said: str) -> str:
        """A text, or the attachment that it refers to."""
        if said.startswith(_ATTACHMENT):
            found = self._attachments.get(said.removeprefix(_ATTACHMENT))
            return found if isinstance(found, str) else said
        return said

    def arguments(self, value: object) -> Mapping[str, Any]:
        """A call's arguments with their attachments."""
        return {key: self.resolved(item) if isinstance(item, str) else item for key, item in table(value).items()}

    def rest(self, builder: Builder, known: set[str]) -> None:
        """Calls that no message of the conversation has: those of agents within, each in its agent's thread."""
        for call_id, tool in self._tools.items():
            name = text(tool.event.get("function"))
            thread = self._agent(tool.span)
            if call_id in known or name is None or thread == MAIN:
                continue
            time = moment(tool.event.get("timestamp"))
            arguments = self.arguments(tool.event.get("arguments"))
            builder.call(tool.index, call_id, name, arguments, thread=thread, time=time)
            error = table(tool.event.get("error"))
            said = self.resolved(joined(tool.event.get("result"))) or self.resolved(joined(error.get("message")))
            builder.result(
                tool.index,
                call_id,
                said,
                thread=thread,
                is_error=True if error else None,
                exit_code=self.exit_code(call_id),
                time=self.ended(call_id),
            )

    def _sandbox(self, event: Mapping[str, Any], span: str | None) -> None:
        owner = self._spans.get(span or "")
        exit_code = code(event.get("result"))
        if owner and owner.tool and exit_code is not None and event.get("action") == "exec":
            owner.tool.exits.append(exit_code)

    def _model(self, index: int, event: Mapping[str, Any], span: str | None) -> None:
        output = table(event.get("output"))
        counts = output.get("usage")
        if isinstance(counts, dict):
            model = short(output.get("model")) or short(event.get("model"))
            time = moment(event.get("timestamp"))
            self.entries.append(counted(index, self._agent(span), model, counts, time))

    def _agent(self, span: str | None) -> str:
        """The innermost agent around a span that was started as a tool; the main thread outside of all."""
        for _ in range(_MAX_LEVELS):
            here = self._spans.get(span or "")
            if here is None:
                return MAIN
            if here.kind in ("agent", "subagent"):
                outer = self._spans.get(here.parent or "")
                return f"{here.name}-{(span or '')[:8]}" if outer is not None and outer.kind == "tool" else MAIN
            span = here.parent
        return MAIN


def counted(index: int | None, thread: str, model: str | None, counts: object, time: float | None) -> UsageEntry:
    """Tokens as Inspect gives them: input without what was cached, output with reasoning."""
    given: Mapping[str, Any] = table(counts) or EMPTY
    return UsageEntry(
        index=index,
        thread=thread,
        model=model,
        input_uncached=count(given.get("input_tokens")),
        cache_read=count(given.get("input_tokens_cache_read")),
        cache_write=count(given.get("input_tokens_cache_write")),
        output=count(given.get("output_tokens")),
        reasoning=count(given.get("reasoning_tokens")),
        time=time,
    )
