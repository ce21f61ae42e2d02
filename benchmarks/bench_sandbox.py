"""What the local sandbox costs, in milliseconds and as ratios to a bare subprocess: `bench_sandbox.py [REPEATS]`."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

from loopscope.sandbox.environment import LocalEnvironment

DOCKERFILE = "FROM python:3.12\nRUN pip install numpy\nWORKDIR /app\nCOPY main.c Makefile ./\nCOPY data/ /app/data/\n"
FILES = {"main.c": "int main(void) { return 0; }\n", "Makefile": "all: main\n", "data/x.txt": "1\n"}

Timed = Callable[[], Awaitable[object]]


def median(times: list[float]) -> float:
    """Milliseconds."""
    return statistics.median(times) * 1e3


async def clock(what: Timed) -> float:
    """Seconds that one await takes."""
    begin = time.perf_counter()
    await what()
    return time.perf_counter() - begin


def bare(argv: list[str], n: int) -> float:
    """Milliseconds of a subprocess without a sandbox."""
    times = []
    for _ in range(n):
        begin = time.perf_counter()
        subprocess.run(argv, check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return median(times)


def environment(where: Path) -> LocalEnvironment:
    """An environment that has not started."""
    context = where / "environment"
    for name, text in FILES.items():
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        (context / name).write_text(text)
    (context / "Dockerfile").write_text(DOCKERFILE)
    (where / "trial").mkdir(exist_ok=True)
    return LocalEnvironment(
        environment_dir=context,
        environment_name="bench",
        session_id="bench",
        trial_paths=TrialPaths(where / "trial"),
        task_env_config=EnvironmentConfig(),
    )


async def measure(n: int) -> dict[str, float]:
    """Median milliseconds by operation."""
    found: dict[str, list[float]] = {}

    async def note(name: str, what: Timed) -> None:
        found.setdefault(name, []).append(await clock(what))

    with tempfile.TemporaryDirectory() as folder:
        warm = environment(Path(folder))
        await warm.start(False)  # builds the python and starts the hub, once per machine and per process
        await warm.stop(True)
        for _ in range(n):
            env = environment(Path(folder))
            await note("whole start(), 3 files", lambda env=env: env.start(False))  # type: ignore[misc]
            await note("exec true", lambda env=env: env.exec("true"))  # type: ignore[misc]
            await note("exec python3", lambda env=env: env.exec("python3 -c pass"))  # type: ignore[misc]
            await note("freeze (new sandbox, ready)", env.freeze)
            await note("upload_dir, 3 files", lambda env=env: env.upload_dir(env.environment_dir, "/app"))  # type: ignore[misc]
            out = Path(folder) / "out.tar"
            await note("stream_tar", lambda env=env, out=out: env.stream_tar("/app", out, 1 << 20))  # type: ignore[misc]
            await note("stop and delete", lambda env=env: env.stop(True))  # type: ignore[misc]
    return {name: median(times) for name, times in found.items()}


def main() -> None:
    """Print the table."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    shell = bare(["/bin/bash", "-c", "true"], n)
    found = asyncio.run(measure(n))
    print(f"{'bare bash -c true':30s} {shell:8.1f} ms")
    for name, value in found.items():
        print(f"{name:30s} {value:8.1f} ms {value / shell:8.1f} x bare")


if __name__ == "__main__":
    main()
