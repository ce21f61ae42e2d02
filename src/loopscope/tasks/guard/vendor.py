"""Copy the guard into the built-in tasks and write each one's `anchors.json`: `python -m loopscope.tasks.guard.vendor`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from loopscope.tasks.catalog import SUITE, builtin_names
from loopscope.tasks.guard import SOURCES


def vendored_files(task_dir: Path) -> dict[str, bytes]:
    """What belongs into `tests/` of this built-in task besides its own verifier: {file name: bytes}."""
    optimization = tomllib.loads((task_dir / "task.toml").read_text(encoding="utf-8"))["optimization"]
    anchors = {
        "baseline": optimization["baseline"]["score"],
        "reference": optimization["reference"]["score"],
        "reward": optimization["reference"]["reward"],
    }
    return {**{s.name: s.read_bytes() for s in SOURCES}, "anchors.json": (json.dumps(anchors) + "\n").encode()}


def main() -> None:
    """Bring every built-in task up to date."""
    for name in builtin_names():
        for file, content in vendored_files(SUITE / name).items():
            (SUITE / name / "tests" / file).write_bytes(content)


if __name__ == "__main__":
    main()
