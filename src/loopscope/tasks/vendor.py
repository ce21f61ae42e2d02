"""Give every built-in task its copy of the guard and its `anchors.json`: `python -m loopscope.tasks.vendor`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from loopscope.tasks.catalog import SUITE, builtin_names

GUARD = Path(__file__).parent / "guard"


def vendored_files(task_dir: Path) -> dict[str, bytes]:
    """What belongs into `tests/` of this built-in task besides its own verifier: {relative path: bytes}."""
    optimization = tomllib.loads((task_dir / "task.toml").read_text(encoding="utf-8"))["optimization"]
    anchors = _anchors(optimization)
    for name, table in optimization.items():  # another backend's, `[optimization.gpu.baseline]` and so on
        if isinstance(table, dict) and "baseline" in table:
            anchors[name] = _anchors(table)
    guard = {f"guard/{source.name}": source.read_bytes() for source in sorted(GUARD.glob("*.py"))}
    return {**guard, "anchors.json": (json.dumps(anchors) + "\n").encode()}


def _anchors(table: dict[str, Any]) -> dict[str, Any]:
    return {
        "baseline": table["baseline"]["score"],
        "reference": table["reference"]["score"],
        "reward": table["reference"]["reward"],
    }


def main() -> None:
    """Bring every built-in task up to date."""
    for name in builtin_names():
        for path, content in vendored_files(SUITE / name).items():
            target = SUITE / name / "tests" / path
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(content)


if __name__ == "__main__":
    main()
