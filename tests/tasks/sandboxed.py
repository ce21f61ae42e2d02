"""Score a solution of a task in the real local sandbox, as a verification does: starter, changes, tests, test.sh, reward."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harbor.models.task.task import Task
from harbor.models.trial.paths import TrialPaths

from loopscope.sandbox.environment import LocalEnvironment

VERIFY = "bash /tests/test.sh"


@dataclass(frozen=True)
class Scored:
    """What a verification left behind."""

    reward: dict[str, Any] | None
    details: dict[str, Any] = field(default_factory=dict)
    output: str = ""
    after: str = ""
    """What the `after` command printed, run in the same sandbox when the verifier was done."""


async def _score(
    task_dir: Path, files: Mapping[str, str], env: Mapping[str, str], before: str, after: str, oracle: bool
) -> Scored:
    task = Task(task_dir)
    with tempfile.TemporaryDirectory() as scratch:
        paths = TrialPaths(Path(scratch, "trial"))
        paths.mkdir()
        sandbox = LocalEnvironment(
            environment_dir=task.paths.environment_dir,
            environment_name=task_dir.name,
            session_id=Path(scratch).name,
            trial_paths=paths,
            task_env_config=task.config.environment,
        )
        await sandbox.start(force_build=False)
        try:
            for name, text in files.items():
                Path(scratch, "file").write_text(text)
                await sandbox.upload_file(Path(scratch, "file"), f"/app/{name}")
            if oracle:
                await sandbox.upload_dir(task.paths.solution_dir, "/solution")
                await sandbox.exec("sh /solution/solve.sh")
            if before:
                await sandbox.exec(before)
            await sandbox.upload_dir(task.paths.tests_dir, "/tests")
            done = await sandbox.exec(VERIFY, env=dict(env), timeout_sec=60)
            said = (await sandbox.exec(after)).stdout if after else ""
            found = await sandbox.exec("cat /logs/verifier/reward.json")
            reward = json.loads(found.stdout or "") if found.return_code == 0 else None
            details = await sandbox.exec("cat /logs/verifier/details.json")
            return Scored(
                reward=reward,
                details=json.loads(details.stdout or "{}") if details.return_code == 0 else {},
                output=f"{done.stdout}{done.stderr}",
                after=said or "",
            )
        finally:
            await sandbox.stop(delete=True)


def score(
    task_dir: Path,
    files: Mapping[str, str] | None = None,
    *,
    env: Mapping[str, str] | None = None,
    before: str = "",
    after: str = "",
    oracle: bool = False,
) -> Scored:
    """Fill a fresh sandbox, put `files` {name in /app: text} in (or the reference), run `before`, verify, run `after`."""
    return asyncio.run(_score(task_dir, files or {}, env or {}, before, after, oracle))


if __name__ == "__main__":  # python sandboxed.py TASK_DIR JSON: keyword arguments of score(), for a run as another user
    print(json.dumps(asdict(score(Path(sys.argv[1]), **json.loads(sys.argv[2])))))
