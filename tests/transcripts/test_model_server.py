"""The scripted model that logs are recorded with answers in all three protocols, from what a conversation holds."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

import pytest
from model_dialects import Anthropic, Chat, Responses
from model_script import EditFile, Script, Shell, Step, WriteFile, answer
from model_server import ModelServer, serving

Json = Any
SCRIPT = Script(
    [
        Step("First.", Shell("ls")),
        Step("Second.", EditFile("/a", "x", "y")),
        Step("Told."),
        Step("Third.", WriteFile("/b", "z\n")),
    ],
    {"ASIDE": [Step("Elsewhere.", Shell("pwd"))]},
)
BASH = {"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}}}}
EDIT = {"name": "Edit", "input_schema": {"properties": {"file_path": {}, "old_string": {}, "new_string": {}}}}


def posted(server: ModelServer, path: str, body: Json) -> str:
    request = urllib.request.Request(
        f"{server.base}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        text: str = reply.read().decode()
        return text


def test_a_client_is_answered_in_each_protocol() -> None:
    shell = {"name": "exec_command", "parameters": {"properties": {"cmd": {"type": "string"}}}}
    asked = {"role": "user", "content": "Do it."}
    with serving(SCRIPT) as server:
        anthropic = posted(server, "/v1/messages", {"messages": [asked], "tools": [BASH], "stream": True})
        responses = posted(server, "/v1/responses", {"input": [asked], "tools": [{"type": "function", **shell}]})
        chat = posted(
            server, "/v1/chat/completions", {"messages": [asked], "tools": [{"function": shell}], "stream": True}
        )
        assert len(server.requests) == 3
    assert "event: message_stop" in anthropic and '\\"command\\": \\"ls\\"' in anthropic
    assert "event: response.completed" in responses and '{\\"cmd\\": \\"ls\\"}' in responses
    assert chat.rstrip().endswith("data: [DONE]") and "First." in chat


def conversation(calls: int, *texts: str, tools: Json = (BASH, EDIT), user: str = "Do it.") -> Json:
    made = [{"type": "tool_use", "name": "Bash", "input": {}}] * calls + [
        {"type": "text", "text": text} for text in texts
    ]
    return {
        "messages": [{"role": "user", "content": user}, {"role": "assistant", "content": made}],
        "tools": list(tools),
    }


@pytest.mark.parametrize(
    ("body", "said", "tool"),
    [
        (conversation(0), "First.", "Bash"),
        (conversation(1, "First."), "Second.", "Edit"),
        (conversation(2), "Told.", None),
        (conversation(2, "Told."), "Third.", "apply_patch"),
        (conversation(3), "Nothing is left to do.", None),
        (conversation(0, user="ASIDE"), "Elsewhere.", "Bash"),
        (conversation(1, user="So far: [[DONE 1]]"), "Told.", None),
        (conversation(0, tools=()), "A scripted title", None),
        (
            conversation(2, user="Please create a detailed summary of the conversation"),
            "<summary>Work so far. [[DONE 2]]</summary>",
            None,
        ),
    ],
)
def test_the_step_is_chosen_by_what_the_conversation_holds(body: Json, said: str, tool: str | None) -> None:
    reply = answer(SCRIPT, Anthropic.read(body))
    assert (reply.text, reply.call and reply.call[0]) == (said, tool)


def test_the_same_conversation_reads_the_same_in_each_protocol() -> None:
    call = {"type": "function_call", "name": "x", "arguments": "{}"}
    responses = Responses.read(
        {"input": [{"role": "user", "content": "Do it."}, call, {"role": "assistant", "content": "Hm."}]}
    )
    theirs = {"role": "assistant", "content": "Hm.", "tool_calls": [{}]}
    chat = Chat.read({"messages": [{"role": "user", "content": "Do it."}, theirs]})
    anthropic = Anthropic.read(conversation(1, "Hm.", tools=()))
    assert responses == chat == anthropic
