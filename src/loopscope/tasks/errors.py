"""What goes wrong with a task directory, in one line: what, where, and what to do."""

from __future__ import annotations

from pathlib import Path


class TaskError(Exception):
    """A task that cannot be used. `str()` is the whole message: place, problem, remedy."""

    def __init__(self, path: Path | str, problem: str, *, field: str = "", remedy: str = "") -> None:
        self.path = str(path)
        self.field = field
        self.problem = problem
        self.remedy = remedy
        place = f"{self.path}: {field}" if field else self.path
        super().__init__(f"{place}: {problem}" + (f"; {remedy}" if remedy else ""))
