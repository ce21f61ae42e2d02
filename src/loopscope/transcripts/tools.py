"""The tools of all harnesses in one table: what each is for, and which argument says what.

Names are compared without case, `_` and `-`, since the same tool is `StrReplaceFile` here and `str_replace_file` there.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from loopscope.transcripts.canonical import ToolKind

_NAMES: Mapping[ToolKind, str] = {
    ToolKind.SHELL: (
        "bash shell local_shell shell_command exec_command container.exec run_shell_command execute_bash run_command "
        "terminal execute_command run_in_terminal bash_command python_repl"
    ),
    ToolKind.SHELL_OUTPUT: "BashOutput TaskOutput AgentOutputTool write_stdin bash_output read_output",
    ToolKind.SHELL_STOP: "KillShell KillBash TaskStop kill_bash stop_task",
    ToolKind.READ: "Read ReadFile view_image read_file view NotebookRead ReadMediaFile read_many_files",
    ToolKind.EDIT: "Edit MultiEdit StrReplaceFile NotebookEdit str_replace replace str_replace_editor edit_file",
    ToolKind.WRITE: "Write WriteFile write_file create_file",
    ToolKind.PATCH: "apply_patch patch",
    ToolKind.SEARCH: "Grep Glob LS list codesearch list_dir search_file_content find_files ToolSearch tool_search lsp",
    ToolKind.PLAN: (
        "TodoWrite TodoRead TodoList SetTodoList TaskCreate TaskUpdate TaskList TaskGet ExitPlanMode EnterPlanMode "
        "update_plan write_todos plan_exit plan_enter CreateGoal UpdateGoal GetGoal"
    ),
    ToolKind.AGENT: (
        "Task Agent spawn_agent wait_agent close_agent send_input resume_agent SendMessage AgentSwarm "
        "CreateSubagent wait"
    ),
    ToolKind.WEB: "WebFetch WebSearch web_search FetchURL SearchWeb google_web_search web_fetch",
}


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


_TABLE: Mapping[str, ToolKind] = {_plain(name): kind for kind, names in _NAMES.items() for name in names.split()}
_KNOWN: dict[str, ToolKind] = {}
_MAX_KNOWN = 1000

_PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "filename", "file")
_COMMANDS = ("command", "cmd", "script", "keystrokes")
_BACKGROUND = ("task_id", "bash_id", "shell_id", "session_id")
_LOGIN_SHELLS = frozenset({"-c", "-lc", "-ic", "-ilc"})


def kind_of(tool: str) -> ToolKind:
    """What a tool is for; OTHER for one that no harness of ours has."""
    known = _KNOWN.get(tool)
    if known is None:
        known = _TABLE.get(_plain(tool[:100]), ToolKind.OTHER)
        if len(_KNOWN) < _MAX_KNOWN:
            _KNOWN[tool] = known
    return known


def command_of(arguments: Mapping[str, Any]) -> str | None:
    """The shell text among a call's arguments. A list is an argument vector: `bash -lc TEXT` is TEXT."""
    for key in _COMMANDS:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            if len(value) == 3 and value[1] in _LOGIN_SHELLS:
                return str(value[2])
            return shlex.join(value)
    return None


def path_of(arguments: Mapping[str, Any]) -> str | None:
    """The file that a call names."""
    for key in _PATHS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return value
    return None


def background_of(arguments: Mapping[str, Any]) -> str | None:
    """The background command that a call names."""
    for key in _BACKGROUND:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return value[:200]
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62:
            return str(value)
    return None
