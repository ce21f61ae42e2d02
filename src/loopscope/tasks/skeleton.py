"""A new task to begin from: small, whole, and judged behind the same fence as the built-in ones."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from loopscope.tasks.errors import TaskError
from loopscope.tasks.load import load_task
from loopscope.tasks.vendor import vendored_files

Language = Literal["python", "c"]
Publish = Callable[[Path, Path], object]
"""Gives a finished directory its name where nothing is yet: `records.durable.publish_new`."""

_SKELETONS = Path(__file__).parent / "skeletons"
_SUFFIX = ".in"
"""Behind the name of every file of a skeleton: it is no code of this package."""
_COPIES: dict[Language, dict[str, str]] = {
    "python": {"tests/problem.py": "environment/starter/problem.py"},
    "c": {
        "environment/starter/baseline.c": "environment/starter/solve.c",
        "tests/baseline.c": "environment/starter/solve.c",
        "tests/solve.h": "environment/starter/solve.h",
    },
}
"""What lies in two places, as only `tests/` reaches the verifier: {copy: of what}."""


def skeleton(language: Language, title: str) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) of every file of a new task but those that `vendor` makes."""
    root = _SKELETONS / language
    found = {}
    for path in sorted(root.rglob(f"*{_SUFFIX}")):
        name = path.relative_to(root).as_posix().removesuffix(_SUFFIX)
        found[name] = path.read_text(encoding="utf-8").replace("{{title}}", title).encode()
    yield from found.items()
    for copy, original in _COPIES[language].items():
        yield copy, found[original]


def new_task(target: Path, language: Language, *, publish: Publish) -> Path:
    """Make a task at `target`, whose name is the task's; nothing may lie there.

    Raises:
        TaskError: something lies there, or the name cannot name a task.
    """
    if target.exists() or target.is_symlink():
        raise TaskError(target, "is there already", remedy="choose another name, or another directory with --into")
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".tmp-", dir=target.parent))
    try:
        made = scratch / target.name
        for name, data in skeleton(language, target.name.replace("_", " ").replace("-", " ").capitalize()):
            _write(made / name, data)
        for name, data in vendored_files(made).items():
            _write(made / "tests" / name, data)
        try:
            load_task(made)
        except TaskError as error:  # a name that cannot name a task
            raise TaskError(target, error.problem, remedy=error.remedy) from None
        publish(made, target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o755 if data.startswith(b"#!") else 0o644)
