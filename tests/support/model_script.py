"""What a scripted model does: steps, and how the next one is found in a conversation.

Standard library only: it runs inside a bare sandbox, beside the agent CLI that talks to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

SHELL_TOOLS = ("Bash", "bash", "exec_command", "shell_command", "shell", "Shell")
WRITE_TOOLS = ("Write", "write", "WriteFile")
EDIT_TOOLS = ("Edit", "edit", "StrReplaceFile")
PATCH_TOOL = "apply_patch"

SUMMARY_REQUESTS = (
    "Write a first-person handoff note",
    "create a detailed summary of the conversation",
    "CONTEXT CHECKPOINT COMPACTION",
    "Provide a detailed prompt for continuing",
    "anchored summary",
    "summary of the conversation",
    "handoff summary",
)
"""Phrases by which the CLIs ask a model to sum up a conversation that grew too long."""


@dataclass(frozen=True, slots=True)
class Shell:
    command: str
    background: bool = False


@dataclass(frozen=True, slots=True)
class WriteFile:
    path: str
    content: str


@dataclass(frozen=True, slots=True)
class EditFile:
    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool by its own name, for what the four CLIs do not share."""

    name: str
    arguments: Json
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    say: str
    action: Shell | WriteFile | EditFile | Tool | None = None
    reported_input: int = 0
    """Input tokens claimed on top of the usual ones; a large claim makes a CLI compact."""


@dataclass(frozen=True, slots=True)
class Script:
    """Steps of the main agent, and of subagents, which are told by a marker in their first or last message."""

    steps: Sequence[Step]
    subagents: Mapping[str, Sequence[Step]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a request holds of what was said before, whatever dialect it came in."""

    calls: int
    said: frozenset[str]
    first: str
    last: str
    everything: str
    tools: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answers: a text, perhaps one call, and the size of what it claims to have read."""

    turn: int
    text: str
    call: tuple[str, Json | str] | None = None
    namespace: str | None = None
    reported_input: int = 0


def answer(script: Script, talk: Conversation) -> Reply:
    """The next step, chosen by what the conversation already holds: retries, side requests and resumes just work."""
    done = talk.calls + max((int(number) for number in re.findall(r"\[\[DONE (\d+)\]\]", talk.everything)), default=0)
    if any(phrase in talk.last for phrase in SUMMARY_REQUESTS):
        return Reply(done, f"<summary>Work so far. [[DONE {done}]]</summary>")
    if not any(name in talk.tools for name in SHELL_TOOLS):
        return Reply(done, "A scripted title")
    asked = talk.first + talk.last
    marked = (steps for marker, steps in script.subagents.items() if marker in asked)
    step = _next(next(marked, script.steps), done, talk.said)
    call = _call(step.action, talk.tools) if step.action else None
    namespace = step.action.namespace if isinstance(step.action, Tool) else None
    return Reply(done, step.say, call, namespace, step.reported_input)


def _next(steps: Sequence[Step], done: int, said: frozenset[str]) -> Step:
    used = 0
    for step in steps:
        if step.action is None:
            if used == done and step.say not in said:
                return step
        elif used == done:
            return step
        else:
            used += 1
    return Step("Nothing is left to do.")


def _call(action: Shell | WriteFile | EditFile | Tool, tools: Mapping[str, Json]) -> tuple[str, Json | str]:
    match action:
        case Tool(name, arguments):
            return name, arguments
        case Shell(command):
            return _shell(command, action.background, tools)
        case WriteFile(path, content):
            if writer := _first(WRITE_TOOLS, tools):
                return writer, {_path_key(tools[writer]): path, "content": content}
            lines = "".join(f"+{line}\n" for line in content.splitlines())
            return PATCH_TOOL, f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch"
        case EditFile(path, old, new):
            if editor := _first(EDIT_TOOLS, tools):
                known = _parameters(tools[editor])
                keys = [
                    _one_of(known, "old_string", "oldString", "old"),
                    _one_of(known, "new_string", "newString", "new"),
                ]
                return editor, {_path_key(tools[editor]): path, keys[0]: old, keys[1]: new}
            return PATCH_TOOL, f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch"


def _shell(command: str, background: bool, tools: Mapping[str, Json]) -> tuple[str, Json]:
    name = _first(SHELL_TOOLS, tools) or SHELL_TOOLS[0]
    known = _parameters(tools[name])
    key = _one_of(known, "command", "cmd")
    listed = known.get(key, {}).get("type") == "array"
    arguments: Json = {key: ["bash", "-lc", command] if listed else command}
    if "description" in known:
        arguments["description"] = "a scripted step"
    if background and "run_in_background" in known:
        arguments["run_in_background"] = True
    return name, arguments


def _parameters(tool: Json) -> Mapping[str, Json]:
    schema = tool.get("input_schema") or tool.get("parameters") or {}
    properties: Mapping[str, Json] = schema.get("properties") or {}
    return properties


def _path_key(tool: Json) -> str:
    return _one_of(_parameters(tool), "file_path", "filePath", "path")


def _one_of(known: Mapping[str, Json], *names: str) -> str:
    return next((name for name in names if name in known), names[0])


def _first(names: Sequence[str], tools: Mapping[str, Json]) -> str | None:
    return next((name for name in names if name in tools), None)
