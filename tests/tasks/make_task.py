"""A small valid task on disk, for tests that bend one thing."""

from __future__ import annotations

from pathlib import Path

TOML = """
version = "1.0"
[metadata]
domain = "puzzle"
[agent]
timeout_sec = 7200
[verifier]
timeout_sec = 300
[optimization]
metric = "steps"
direction = "lower"
[optimization.baseline]
score = 20.0
[optimization.reference]
score = 0.04
"""


def make_task(directory: Path, toml: str = TOML, dockerfile: str = "FROM debian\nWORKDIR /srv/work\n") -> Path:
    for name in ("environment", "tests", "solution"):
        (directory / name).mkdir(parents=True)
    (directory / "task.toml").write_text(toml)
    (directory / "instruction.md").write_text("# Do it\n")
    (directory / "environment" / "Dockerfile").write_text(dockerfile)
    (directory / "environment" / "start.py").write_text("print('start')\n")
    (directory / "tests" / "test.sh").write_text("echo 1 > /logs/verifier/reward.txt\n")
    (directory / "tests" / "test.sh").chmod(0o755)
    (directory / "solution" / "solve.sh").write_text("true\n")
    return directory
