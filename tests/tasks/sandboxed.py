"""Score solutions of a task in the real local sandbox, as a verification does: starter, changes, tests, test.sh, reward."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harbor.models.task.task import Task
from harbor.models.trial.paths import TrialPaths

from loopscope.sandbox.environment import LocalEnvironment

VERIFY = "bash /tests/test.sh"


@dataclass(frozen=True)
class Solution:
    """What is done to the starter before it is verified."""

    files: Mapping[str, str] = field(default_factory=dict)
    """{name in /app: text}"""
    before: str = ""
    """A shell command in /app, when the files are there."""
    reference: bool = False
    """Run the task's solve.sh."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The verifier's environment."""
    evaluate: bool = False
    """Run the task's own `python3 evaluate.py` first, as an agent would."""


@dataclass(frozen=True)
class Scored:
    """What a verification left behind."""

    reward: dict[str, Any] | None
    details: dict[str, Any]
    output: str
    processes: str
    """What runs in the sandbox afterwards."""
    local: str = ""
    """What the local evaluation printed, where it was asked for."""


async def _one(sandbox: LocalEnvironment, task: Task, solution: Solution, scratch: Path) -> Scored:
    await sandbox.exec("rm -rf /app/* /logs/verifier/* /tests/* /solution/*", cwd="/")
    await sandbox.upload_dir(task.paths.environment_dir / "starter", "/app")
    for name, text in solution.files.items():
        (scratch / "file").write_text(text)
        await sandbox.upload_file(scratch / "file", f"/app/{name}")
    if solution.reference:
        await sandbox.upload_dir(task.paths.solution_dir, "/solution")
        await sandbox.exec("sh /solution/solve.sh")
    if solution.before:
        await sandbox.exec(solution.before)
    local = await sandbox.exec("python3 evaluate.py") if solution.evaluate else None
    await sandbox.upload_dir(task.paths.tests_dir, "/tests")
    done = await sandbox.exec(VERIFY, env=dict(solution.env), timeout_sec=60)
    running = await sandbox.exec("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
    written = [await sandbox.exec(f"cat /logs/verifier/{name}.json") for name in ("reward", "details")]
    reward, details = (json.loads(w.stdout or "") if w.return_code == 0 else None for w in written)
    return Scored(
        reward,
        details or {},
        f"{done.stdout}{done.stderr}",
        running.stdout or "",
        f"{local.stdout}{local.stderr}" if local else "",
    )


async def _score(task_dir: Path, solutions: Sequence[Solution]) -> list[Scored]:
    task = Task(task_dir)
    with tempfile.TemporaryDirectory() as scratch:
        paths = TrialPaths(Path(scratch, "trial"))
        paths.mkdir()  # type: ignore[no-untyped-call]
        sandbox = LocalEnvironment(
            environment_dir=task.paths.environment_dir,
            environment_name=task_dir.name,
            session_id=Path(scratch).name,
            trial_paths=paths,
            task_env_config=task.config.environment,
        )
        await sandbox.start(force_build=False)
        try:
            return [await _one(sandbox, task, solution, Path(scratch)) for solution in solutions]
        finally:
            await sandbox.stop(delete=True)


def score(task_dir: Path, *solutions: Solution) -> list[Scored]:
    """Verify these solutions one after the other in one sandbox."""
    return asyncio.run(_score(task_dir, solutions))


if __name__ == "__main__":  # python sandboxed.py TASK_DIR JSON [JSON ...]: for a run as another user
    results = score(Path(sys.argv[1]), *(Solution(**json.loads(text)) for text in sys.argv[2:]))
    print(json.dumps([asdict(result) for result in results]))
