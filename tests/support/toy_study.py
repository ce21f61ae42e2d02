"""A tiny task with a verifier in shell, for studies of scripted agents."""

from __future__ import annotations

import asyncio
from pathlib import Path

from loopscope.engine.events import silent
from loopscope.engine.plan import Plan
from loopscope.engine.study import run_study
from loopscope.records import StudyStore

START = "git init -q && git add -A && git commit -qm 'initial commit'"
VERIFIER = 'value=$(cat /app/value.txt 2>/dev/null)\necho "checked $value"\necho "{\\"reward\\": $value, \\"correctness\\": 1}" > /logs/verifier/reward.json\n'


def write_task(folder: Path, test_sh: str = VERIFIER, verifier_timeout: float = 20.0, timed: bool = False) -> Path:
    """A task whose solution is the number in value.txt."""
    (folder / "environment").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "solution").mkdir()
    (folder / "task.toml").write_text(
        f"""version = "1.0"
[metadata]
domain = "toy"
[metadata.loopscope]
timed = {str(timed).lower()}
editable = ["value.txt"]
[agent]
timeout_sec = 20.0
[verifier]
timeout_sec = {verifier_timeout}
[environment]
allow_internet = false
"""
    )
    (folder / "instruction.md").write_text("Raise the number in `value.txt`.\n")
    (folder / "environment/Dockerfile").write_text("FROM debian:12\nWORKDIR /app\nCOPY value.txt data.bin ./\n")
    (folder / "environment/value.txt").write_text("0.1\n")
    (folder / "environment/data.bin").write_text("large and ignored\n")
    (folder / "tests/test.sh").write_text(test_sh)
    (folder / "solution/solve.sh").write_text("echo 1.0 > /app/value.txt\n")
    return folder


def run(plan: Plan) -> StudyStore:
    """Run a study to its end."""
    asyncio.run(run_study(plan, silent))
    return plan.store
