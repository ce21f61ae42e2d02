"""Calls of a thread made by hand, as a reader would give them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from loopscope.transcripts.canonical import MAIN, Call, Result, ToolKind
from loopscope.transcripts.outcomes import background_id, stated_exit_code

KINDS = {
    "Bash": ToolKind.SHELL,
    "Edit": ToolKind.EDIT,
    "Write": ToolKind.WRITE,
    "Read": ToolKind.READ,
    "TaskOutput": ToolKind.SHELL_OUTPUT,
    "apply_patch": ToolKind.PATCH,
}


def bash(command: str, output: str | None = "", **more: Any) -> tuple[str, dict[str, Any], str | None]:
    return "Bash", {"command": command, **more}, output


def edit(path: str, old: str, new: str, output: str = "The file has been updated") -> tuple[str, dict[str, Any], str]:
    return "Edit", {"file_path": path, "old_string": old, "new_string": new}, output


def write(path: str, content: str, output: str = "File created successfully") -> tuple[str, dict[str, Any], str]:
    return "Write", {"file_path": path, "content": content}, output


def read(path: str, content: str) -> tuple[str, dict[str, Any], str]:
    lines = "\n".join(f"{number}\t{line}" for number, line in enumerate(content.split("\n"), 1))
    return "Read", {"file_path": path}, lines


def fetch(task: str, output: str) -> tuple[str, dict[str, Any], str]:
    return "TaskOutput", {"task_id": task}, output


def calls(made: Iterable[tuple[str, dict[str, Any], str | None]]) -> list[Call]:
    """Calls at messages 1, 3, 5 ..., each answered by the next message."""
    found = []
    for number, (tool, arguments, output) in enumerate(made):
        index = 2 * number + 1
        kind = KINDS[tool]
        code = stated_exit_code(output) if output is not None and kind is ToolKind.SHELL else None
        background = (
            background_id(output) if output is not None and kind is ToolKind.SHELL else arguments.get("task_id")
        )
        result = None
        if output is not None:
            result = Result(index + 1, output, is_error=True if code else None, exit_code=code)
        found.append(
            Call(
                index, MAIN, f"c{number}", tool, kind, arguments, result,
                command=arguments.get("command"), path=arguments.get("file_path"), background=background,
            )
        )  # fmt: skip
    return found
