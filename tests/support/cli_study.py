"""Studies for tests of the command, and how its refusals are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from click.testing import Result
from toy_study import write_task


def error_line(done: Result) -> str:
    """The message of a verb that refused; it is one line, whatever was noted of the tasks before."""
    (line,) = [line for line in done.stderr.splitlines() if line and not line.startswith("note: ")]
    assert line.startswith("error: ")
    return line


def write_study(folder: Path, agents: list[Any], **more: Any) -> Path:
    """A study of one tiny task, as `s.yaml`."""
    write_task(folder / "toy")
    spec = {"name": "s", "tasks": ["./toy"], "agents": agents, "seeds": 1, **more}
    file = folder / "s.yaml"
    file.write_text(yaml.safe_dump(spec))
    return file


def scripted(label: str, *commands: str, **kwargs: Any) -> dict[str, Any]:
    """An agent that runs shell commands."""
    return {
        "name": "scripted_agent:ScriptedAgent",
        "label": label,
        "kwargs": {"commands": list(commands), **kwargs},
    }
