"""The three protocols that the agent CLIs speak: Anthropic messages, OpenAI responses, OpenAI chat completions.

Each is a pair: what a request says of the conversation, and the events that carry a reply.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

from model_script import Conversation, Json, Reply

Event = tuple[str | None, Json | str]
"""Name of a server-sent event, and its data."""


def flat(content: Any) -> str:
    """The text of a message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text") or "" for block in content or [] if isinstance(block, dict))


def _conversation(calls: int, said: list[str], users: list[str], tools: dict[str, Json]) -> Conversation:
    return Conversation(
        calls=calls,
        said=frozenset(said),
        first="\n".join(users[:2]),
        last=users[-1][-8000:] if users else "",
        everything="\n".join(users + said),
        tools=tools,
    )


def _id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:12]}"


class Anthropic:
    path = "/messages"

    @staticmethod
    def read(body: Json) -> Conversation:
        messages = body.get("messages", [])
        blocks = [
            block
            for message in messages
            if message["role"] == "assistant" and isinstance(message["content"], list)
            for block in message["content"]
        ]
        return _conversation(
            sum(block["type"] == "tool_use" for block in blocks),
            [block["text"] for block in blocks if block["type"] == "text"],
            [flat(message["content"]) for message in messages if message["role"] == "user"],
            {tool["name"]: tool for tool in body.get("tools") or [] if "name" in tool},
        )

    @staticmethod
    def events(body: Json, reply: Reply) -> Iterator[Event]:
        usage = {
            "input_tokens": 100 + reply.turn + reply.reported_input,
            "cache_creation_input_tokens": 10,
            "cache_read_input_tokens": 1000 * reply.turn,
            "output_tokens": 1,
        }
        head: Json = {
            "id": _id("msg"),
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [],
        }
        message = head | {"stop_reason": None, "stop_sequence": None, "usage": usage}
        yield "message_start", {"type": "message_start", "message": message}
        blocks: list[tuple[Json, Json]] = [
            ({"type": "text", "text": ""}, {"type": "text_delta", "text": reply.text}),
        ]
        if reply.call:
            name, arguments = reply.call
            start = {"type": "tool_use", "id": _id("toolu"), "name": name, "input": {}}
            blocks.append((start, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}))
        for index, (start, delta) in enumerate(blocks):
            yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": start}
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
            yield "content_block_stop", {"type": "content_block_stop", "index": index}
        end = {"stop_reason": "tool_use" if reply.call else "end_turn", "stop_sequence": None}
        yield "message_delta", {"type": "message_delta", "delta": end, "usage": {"output_tokens": 20 + reply.turn}}
        yield "message_stop", {"type": "message_stop"}


def _openai_usage(reply: Reply) -> tuple[int, int, int]:
    """Input with its cached part, the cached part, output."""
    return 1100 + 1000 * reply.turn + reply.reported_input, 1000 * reply.turn, 20 + reply.turn


class Responses:
    path = "/responses"

    @staticmethod
    def read(body: Json) -> Conversation:
        items = [item for item in body.get("input") or [] if isinstance(item, dict)]
        calls = ("function_call", "custom_tool_call", "tool_search_call")
        said = [flat(item.get("content")) for item in items if item.get("role") == "assistant"]
        users = [flat(item.get("content")) for item in items if item.get("role") == "user"]
        tools = {tool.get("name") or tool["type"]: tool for tool in body.get("tools") or []}
        return _conversation(sum(item.get("type") in calls for item in items), said, users, tools)

    @staticmethod
    def events(body: Json, reply: Reply) -> Iterator[Event]:
        for number, event in enumerate(Responses._events(body, reply)):
            yield event["type"], event | {"sequence_number": number}

    @staticmethod
    def _events(body: Json, reply: Reply) -> Iterator[Json]:
        size, cached, written = _openai_usage(reply)
        usage = {
            "input_tokens": size,
            "input_tokens_details": {"cached_tokens": cached},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 5},
            "total_tokens": size + written,
        }
        head = {"id": _id("resp"), "object": "response", "created_at": 0, "model": body.get("model")}
        items = Responses._items(reply)
        yield {"type": "response.created", "response": head | {"status": "in_progress", "output": []}}
        for index, item in enumerate(items):
            yield {"type": "response.output_item.added", "output_index": index, "item": item}
            if item["type"] == "message":
                delta = {"item_id": item["id"], "output_index": index, "content_index": 0, "delta": reply.text}
                yield {"type": "response.output_text.delta"} | delta
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        done = head | {"status": "completed", "output": items, "usage": usage}
        yield {"type": "response.completed", "response": done}

    @staticmethod
    def _items(reply: Reply) -> list[Json]:
        text = [{"type": "output_text", "text": reply.text, "annotations": []}]
        said = {"type": "message", "id": _id("msg"), "role": "assistant", "status": "completed", "content": text}
        if reply.call is None:
            return [said]
        name, arguments = reply.call
        call: Json = {"call_id": _id("call"), "status": "completed"}
        if name == "tool_search":
            call |= {"type": "tool_search_call", "id": _id("ts"), "execution": "client", "arguments": arguments}
        elif isinstance(arguments, str):
            call |= {"type": "custom_tool_call", "id": _id("ctc"), "name": name, "input": arguments}
        else:
            call |= {"type": "function_call", "id": _id("fc"), "name": name, "arguments": json.dumps(arguments)}
            if reply.namespace:
                call["namespace"] = reply.namespace
        return [said, call]


class Chat:
    path = "/chat/completions"

    @staticmethod
    def read(body: Json) -> Conversation:
        messages = body.get("messages", [])
        theirs = [message for message in messages if message.get("role") == "assistant"]
        tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or [] if "function" in tool}
        return _conversation(
            sum(len(message.get("tool_calls") or []) for message in theirs),
            [flat(message.get("content")) for message in theirs],
            [flat(message.get("content")) for message in messages if message.get("role") == "user"],
            tools,
        )

    @staticmethod
    def events(body: Json, reply: Reply) -> Iterator[Event]:
        size, cached, written = _openai_usage(reply)
        usage = {
            "prompt_tokens": size,
            "completion_tokens": written,
            "total_tokens": size + written,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": 5},
        }
        head = {"id": _id("chatcmpl"), "created": 0, "model": body.get("model"), "object": "chat.completion.chunk"}

        def chunk(delta: Json, finish: str | None = None) -> Event:
            return None, head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

        yield chunk({"role": "assistant", "content": reply.text})
        if reply.call:
            name, arguments = reply.call
            function = {"name": name, "arguments": json.dumps(arguments)}
            yield chunk({"tool_calls": [{"index": 0, "id": _id("call"), "type": "function", "function": function}]})
        yield chunk({}, "tool_calls" if reply.call else "stop")
        yield None, head | {"choices": [], "usage": usage}
        yield None, "[DONE]"

    @staticmethod
    def whole(body: Json, reply: Reply) -> Json:
        """The reply to a request that asks for no stream."""
        size, _, written = _openai_usage(reply)
        message = {"role": "assistant", "content": reply.text}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        usage = {"prompt_tokens": size, "completion_tokens": written, "total_tokens": size + written}
        return {"id": _id("chatcmpl"), "object": "chat.completion", "choices": choices, "usage": usage}
