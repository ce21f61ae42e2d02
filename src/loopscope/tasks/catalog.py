"""From what a study file calls a task to its directory: a built-in name, or a path."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from loopscope.tasks.errors import TaskError

SUITE = Path(__file__).parent / "suite"
"""The built-in tasks, one directory each."""


@dataclass(frozen=True)
class TaskSource:
    """Where a task is taken from."""

    directory: Path
    origin: str
    """`builtin:<name>`, or the path as it was written."""
    builtin: bool


def builtin_names() -> tuple[str, ...]:
    """Names of the built-in tasks, sorted."""
    return tuple(sorted(p.name for p in SUITE.iterdir() if (p / "task.toml").is_file()))


def resolve(name_or_path: str, base_dir: Path) -> TaskSource:
    """Find a task by built-in name, or by path relative to `base_dir` (the study file's directory).

    A name without a slash is a built-in first, so that a directory that happens to lie beside the study file never
    silently takes its place; `./name` means the directory. Raises `TaskError` when neither exists.
    """
    names = builtin_names()
    if name_or_path in names:
        return TaskSource(SUITE / name_or_path, f"builtin:{name_or_path}", builtin=True)
    path = Path(base_dir, Path(name_or_path).expanduser())
    if path.is_dir():
        return TaskSource(path, name_or_path, builtin=False)
    close = difflib.get_close_matches(name_or_path, names, n=3, cutoff=0.5)
    remedy = f"did you mean {' or '.join(close)}?" if close else f"built-in tasks are {', '.join(names)}"
    problem = f"no built-in task and no directory {path}"
    raise TaskError(name_or_path, problem, remedy=f"{remedy} (or give the path of a task directory)")
