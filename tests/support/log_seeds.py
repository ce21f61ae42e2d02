"""Tiny logs of each format that the fuzzer starts from: as small as has everything in it that a reader looks at."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

type Json = Any


@dataclass(frozen=True)
class Seed:
    """A log in one file of a folder, and what of the folder is read."""

    format: str
    file: str
    data: bytes
    read: str = ""
    others: tuple[tuple[str, bytes], ...] = ()
    inner: bytes = b""
    """For a container: the JSON within, and what packs it."""
    pack: Callable[[bytes], bytes] | None = None

    def put(self, folder: Path, data: bytes) -> Path:
        for name, content in (*self.others, (self.file, data)):
            path = folder / name
            if not path.parent.is_dir():
                path.parent.mkdir(parents=True)
            path.write_bytes(content)
        return folder / self.read if self.read else folder / self.file


def lines(*objects: Json) -> bytes:
    return b"".join(json.dumps(item).encode() + b"\n" for item in objects)


def _claude_line(kind: str, message: Json, **more: Json) -> Json:
    return {
        "type": kind,
        "message": message,
        "sessionId": "s",
        "parentUuid": None,
        "timestamp": "2026-01-01T00:00:01Z",
    } | more


def _claude(sidechain: bool = False) -> bytes:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1, "output_tokens": 4}
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "exit 3"}}
    said = {"id": "m1", "model": "m", "usage": usage, "content": [{"type": "text", "text": "So."}, call]}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "Exit code 3\nno"}]}
    return lines(
        _claude_line("user", {"content": "Do it."}, uuid="a", isSidechain=sidechain, version="2", cwd="/app"),
        _claude_line("assistant", said, uuid="b", isSidechain=sidechain),
        _claude_line("user", {"content": [result]}, uuid="c", toolUseResult={"agentId": "g", "backgroundTaskId": "b"}),
        {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": "d",
            "compactMetadata": {"trigger": "auto"},
            "sessionId": "s",
        },
        {"type": "queue-operation", "operation": "enqueue", "content": "<task-notification>x", "sessionId": "s"},
    )


def _stream() -> bytes:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 1}
    call = {"type": "tool_use", "id": "t1", "name": "Agent", "input": {}}
    models = {"m": {"inputTokens": 3, "outputTokens": 9, "cacheReadInputTokens": 2, "cacheCreationInputTokens": 0}}
    said = {"id": "m1", "model": "m", "usage": usage, "content": [call]}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
    return lines(
        {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "cwd": "/app"},
        {"type": "assistant", "message": said, "parent_tool_use_id": None},
        {"type": "system", "subtype": "task_started", "task_id": "g", "tool_use_id": "t1", "task_type": "local_agent"},
        {"type": "user", "message": {"content": "Sub."}, "parent_tool_use_id": "t1"},
        {"type": "user", "message": {"content": [result]}, "tool_use_result": {"agentId": "g"}},
        {"type": "result", "usage": usage, "modelUsage": models, "total_cost_usd": 0.5},
    )


def _codex(name: str = "a", parent: str | None = None) -> bytes:
    total = {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 3, "reasoning_output_tokens": 1}
    call = {"type": "function_call", "name": "exec_command", "call_id": "c1", "arguments": '{"cmd": "ls"}'}
    spawn = {"type": "function_call", "name": "spawn_agent", "call_id": "c2", "arguments": "{}"}
    patch = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c3", "input": "*** Begin Patch"}
    output = "Chunk ID: 1\nProcess exited with code 3\nOutput:\nno"
    items: list[tuple[str, Json]] = [
        ("session_meta", {"id": name, "parent_thread_id": parent, "cwd": "/app", "cli_version": "0.1"}),
        ("turn_context", {"turn_id": "t", "model": "m"}),
        ("event_msg", {"type": "user_message"}),
        ("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Do it."}]}),
        ("response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}),
        ("response_item", call),
        ("response_item", {"type": "function_call_output", "call_id": "c1", "output": output}),
        ("response_item", spawn),
        ("response_item", {"type": "function_call_output", "call_id": "c2", "output": '{"agent_id":"b"}'}),
        ("response_item", patch),
        (
            "response_item",
            {"type": "custom_tool_call_output", "call_id": "c3", "output": {"content": "x", "success": True}},
        ),
        ("event_msg", {"type": "token_count", "info": {"total_token_usage": total}}),
        ("compacted", {"message": "Summary", "replacement_history": []}),
    ]
    return lines(*({"timestamp": "2026-01-01T00:00:01Z", "type": kind, "payload": payload} for kind, payload in items))


OPENCODE_RESPONSE = {
    "role": "assistant",
    "modelID": "m",
    "path": {"cwd": "/app"},
    "tokens": {"input": 5, "output": 3, "reasoning": 1, "cache": {"read": 2, "write": 0}},
    "cost": 0.1,
    "time": {"created": 1700000000000},
}
OPENCODE_TOOL = {
    "type": "tool",
    "tool": "bash",
    "callID": "c1",
    "state": {
        "status": "completed",
        "input": {"command": "ls"},
        "output": "x",
        "metadata": {"exit": 3, "truncated": False},
        "time": {"start": 1700000000001, "end": 1700000000002},
    },
}


def _opencode_export() -> bytes:
    task = {
        "type": "tool",
        "tool": "task",
        "callID": "c2",
        "state": {"status": "error", "metadata": {"sessionId": "x"}},
    }
    user = {"info": {"role": "user"}, "parts": [{"type": "text", "text": "Do it."}, {"type": "compaction"}]}
    parts = [{"type": "reasoning", "text": "Hm."}, OPENCODE_TOOL, task]
    said = {"info": OPENCODE_RESPONSE, "parts": parts}
    info = {"id": "ses", "projectID": "p", "directory": "/app", "version": "1"}
    return json.dumps({"info": info, "messages": [user, said]}).encode()


def opencode_database(path: Path, rows: Callable[[sqlite3.Connection], None] | None = None) -> None:
    """A database with OpenCode's three tables and, unless told otherwise, two messages and a subagent."""
    path.write_bytes(opencode_bytes(rows or _opencode_rows))


def opencode_bytes(rows: Callable[[sqlite3.Connection], None]) -> bytes:
    """The same, as the bytes of its file."""
    connection = sqlite3.connect(":memory:")
    connection.execute("pragma page_size = 512")
    connection.executescript(
        "create table session (id text primary key, parent_id text, directory text, version text, time_created integer);"
        "create table message (id text primary key, session_id text, time_created integer, data text);"
        "create table part (id text primary key, message_id text, session_id text, data text);"
    )
    rows(connection)
    connection.commit()
    data = connection.serialize()
    connection.close()
    return data


def _opencode_rows(connection: sqlite3.Connection, message: bytes = b"", part: bytes = b"") -> None:
    connection.execute("insert into session values ('s', null, '/app', '1', 1), ('t', 's', '/app', '1', 2)")
    said = message.decode("utf-8", "replace") or json.dumps(OPENCODE_RESPONSE)
    tool = part.decode("utf-8", "replace") or json.dumps(OPENCODE_TOOL)
    for number, session in enumerate(("s", "t")):
        connection.execute("insert into message values (?, ?, 1, ?)", (f"m{number}", session, said))
        connection.execute("insert into part values (?, ?, ?, ?)", (f"p{number}", f"m{number}", session, tool))


def _packed_rows(inner: bytes) -> bytes:
    message, _, part = inner.partition(b"\n")
    return opencode_bytes(lambda connection: _opencode_rows(connection, message, part))


def _kimi() -> bytes:
    def event(kind: str, **more: Json) -> Json:
        return {"type": "context.append_loop_event", "event": {"type": kind, **more}, "time": 1700000000000}

    counts = {"inputOther": 5, "output": 3, "inputCacheRead": 2, "inputCacheCreation": 0}
    message = {"role": "user", "content": [{"type": "text", "text": "Do it."}], "origin": {"kind": "user"}}
    return lines(
        {"type": "metadata", "protocol_version": "1.4"},
        {"type": "turn.prompt", "input": []},
        {"type": "context.append_message", "message": message},
        {"type": "llm.request", "model": "m", "modelAlias": "alias"},
        event("content.part", part={"type": "think", "think": "Hm."}),
        event("tool.call", toolCallId="c1", name="Bash", args={"command": "exit 3"}),
        event("tool.result", toolCallId="c1", result={"output": "Command failed with exit code: 3.", "isError": True}),
        event("tool.call", toolCallId="c2", name="Agent", args={}),
        event("tool.result", toolCallId="c2", result={"output": "agent_id: agent-0\nx"}),
        {"type": "usage.record", "model": "alias", "usage": counts},
        {"type": "context.apply_compaction", "summary": "Summary"},
    )


def _atif() -> bytes:
    metrics = {
        "prompt_tokens": 9,
        "completion_tokens": 3,
        "cached_tokens": 4,
        "extra": {"cache_creation_input_tokens": 1},
    }
    result = {"source_call_id": "c1", "content": "Exit code 3\nno", "extra": {"exit_code": 3}}
    call = {"tool_call_id": "c1", "function_name": "Bash", "arguments": {"command": "ls"}}
    reference = {
        "content": "sub",
        "subagent_trajectory_ref": [{"trajectory_id": "sub"}, {"trajectory_path": "more.json"}],
    }
    step = {
        "step_id": 2,
        "source": "agent",
        "timestamp": "2026-01-01T00:00:01Z",
        "message": [{"type": "text", "text": "So."}],
        "reasoning_content": "Hm.",
        "tool_calls": [call],
        "observation": {"results": [result, reference]},
        "metrics": metrics,
    }
    child = {
        "trajectory_id": "sub",
        "agent": {"name": "x"},
        "steps": [{"step_id": 1, "source": "user", "message": "Sub."}],
    }
    document = {
        "schema_version": "ATIF-v1.8",
        "session_id": "s",
        "agent": {"name": "a", "version": "1", "model_name": "m"},
        "steps": [{"step_id": 1, "source": "user", "message": "Do it."}, step, step | {"is_copied_context": True}],
        "final_metrics": {"total_prompt_tokens": 9, "total_completion_tokens": 3, "total_cost_usd": 0.5},
        "subagent_trajectories": [child],
        "continued_trajectory_ref": "next.json",
    }
    return json.dumps(document).encode()


def page(*messages: Json, **about: Json) -> bytes:
    head = {"id": "r", "task": "t", "category": "c", "synthetic": "model", "owner": "o", "seed": "seed-1"}
    return json.dumps(head | about | {"messages": list(messages)}).encode()


def said(*calls: tuple[str, str, Json], text: str | None = None) -> Json:
    made = [{"id": call_id, "name": name, "arguments": arguments} for call_id, name, arguments in calls]
    return {"role": "assistant"} | ({"content": text} if text else {}) | ({"tool_calls": made} if made else {})


def answer(call_id: str, content: Json) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _page() -> bytes:
    return page(
        {"role": "user", "content": "Do it."},
        said(("c1", "Bash", {"command": "git commit -m x"}), ("c2", "Edit", {"file_path": "/a"}), text="So."),
        answer("c2", "ok"),
        answer("c1", "[main 1234567] x\n"),
        said(("c1", "Bash", {"command": "git log --oneline"})),
        answer("c1", "89abcd0 y\n1234567 x\n"),
        said(("c3", "Bash", {"command": "git commit -m y"})),
        answer("c3", "[main 89abcd0] y\n"),
    )


def sample(**more: Json) -> Json:
    call = {"id": "c1", "function": "bash", "arguments": {"command": "attachment://a"}}
    events = [
        {"event": "span_begin", "id": "g", "type": "agent", "name": "sub", "span_id": "g", "parent_id": "t"},
        {"event": "span_begin", "id": "t", "type": "tool", "span_id": "t"},
        {"event": "span_begin", "id": "u", "type": "tool", "span_id": "u", "parent_id": "x"},
        {"event": "tool", "id": "c1", "function": "bash", "span_id": "x", "timestamp": "2026-01-01T00:00:01+00:00"},
        {"event": "sandbox", "action": "exec", "result": 3, "span_id": "u"},
        {"event": "tool", "id": "c9", "function": "bash", "span_id": "g", "arguments": {}, "result": "x"},
        {"event": "model", "span_id": "x", "output": {"model": "m", "usage": {"input_tokens": 5, "output_tokens": 3}}},
    ]
    return {
        "id": "one",
        "epoch": 1,
        "messages": [
            {"role": "system", "content": "Be good."},
            {"role": "user", "content": "Do it."},
            {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "Hm."}], "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "no", "error": {"message": "bad"}},
        ],
        "events": events,
        "attachments": {"a": "exit 3"},
        "model_usage": {"m": {"input_tokens": 5, "output_tokens": 3}},
    } | more


def archive(samples: dict[str, bytes], header: Json = None, method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as packed:
        about = {"eval": {"task": "t", "model": "m", "packages": {"inspect_ai": "0.3"}}}
        packed.writestr("_journal/start.json", json.dumps({"version": 2} | about))
        if header is not None:
            packed.writestr("header.json", json.dumps({"version": 2} | about | header))
        for name, data in samples.items():
            packed.writestr(f"samples/{name}.json", data)
    return out.getvalue()


def _packed_sample(inner: bytes) -> bytes:
    return archive({"one": inner}, {"status": "success"})


def seeds() -> list[Seed]:
    """A seed for each reader, and some for those that read several files."""
    rows = lines(OPENCODE_RESPONSE, OPENCODE_TOOL)
    result = json.dumps({"task_name": "t", "trial_name": "t__1", "agent_info": {"name": "a"}}).encode()
    one = json.dumps(sample()).encode()
    trial = (("job/t__1/result.json", result),)
    return [
        Seed("page", "run.json", _page()),
        Seed("claude-code", "s.jsonl", _claude(), others=(("s/subagents/agent-g.jsonl", _claude(sidechain=True)),)),
        Seed("claude-stream", "stream.txt", _stream()),
        Seed("codex", "all/rollout-a.jsonl", _codex(), "all", (("all/rollout-b.jsonl", _codex("b", "a")),)),
        Seed("opencode-db", "opencode.db", opencode_bytes(_opencode_rows), inner=rows, pack=_packed_rows),
        Seed("opencode-export", "export.json", _opencode_export()),
        Seed("kimi-code", "w/s/agents/main/wire.jsonl", _kimi(), "w", (("w/s/agents/agent-0/wire.jsonl", _kimi()),)),
        Seed("atif", "trajectory.json", _atif(), others=(("more.json", _atif()), ("next.json", _atif()))),
        Seed("harbor", "job/t__1/agent/trajectory.json", _atif(), "job", trial),
        Seed("inspect", "log.eval", _packed_sample(one), inner=one, pack=_packed_sample),
    ]
