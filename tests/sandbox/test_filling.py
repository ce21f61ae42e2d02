"""A sandbox filled by its task's Dockerfile, and what is said where that cannot be followed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from harbor.models.task.config import EnvironmentConfig
from sandboxes import PLAIN, environment, inside, running, says

from loopscope.sandbox.environment import LocalEnvironment
from loopscope.sandbox.errors import DockerfileError, MissingTools, SandboxError

pytestmark = pytest.mark.sandbox


FULL = """
# syntax=docker/dockerfile:1
ARG BASE=12
FROM debian:${BASE} AS base
ARG NAME=world
ENV GREETING="hello $NAME" LIST=a,b
RUN apt-get update && apt-get install -y --no-install-recommends coreutils tar \\
    # a comment
    && rm -rf /var/lib/apt/lists/* && mkdir -p /srv/data && echo "$GREETING" > /srv/data/greeting
WORKDIR /area
COPY --chmod=750 tools/run.sh one.txt ./
COPY tree inner
COPY ["one.txt", "/other/renamed.txt"]
WORKDIR sub
RUN pwd > where; ls .. | sort > seen
ADD *.md docs/
"""


@inside(
    FULL,
    {
        "tools/run.sh": "x",
        "one.txt": "1",
        "tree/a/b": "2",
        "tree/skip.log": "",
        "r.md": "3",
        ".dockerignore": "**/*.log",
    },
)
async def test_dockerfile_is_followed(env: LocalEnvironment, tmp_path: Path) -> None:
    assert await says(env, "pwd; cat where seen") == "/area/sub\n/area/sub\ninner\none.txt\nrun.sh\nsub"
    assert await says(env, "cat /srv/data/greeting /other/renamed.txt; echo; echo $LIST") == "hello world\n1\na,b"
    assert (
        await says(env, "stat -c %a ../run.sh; cd ../inner; find . -type f; cat /area/sub/docs/r.md") == "750\n./a/b\n3"
    )


def failing(where: Path, dockerfile: str, kind: type[SandboxError], says: str, **files: str) -> None:
    async def go() -> None:
        async with running(where, dockerfile, files):
            raise AssertionError("it started")

    with pytest.raises(kind, match=says):
        asyncio.run(go())
    assert list((where / "trial").iterdir()) == []


def test_missing_tools_are_named_with_their_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopscope.sandbox.mounted.SYSTEM_PATH", str(tmp_path))
    dockerfile = "FROM gcc:14\nRUN apt-get update && apt-get install -y golang-go\nWORKDIR /app\n"
    failing(
        tmp_path,
        dockerfile,
        MissingTools,
        r"lacks g\+\+ \(.*, gcc \(Debian: apt-get install gcc libc6-dev\), go \(.*golang-go",
    )


def test_missing_python_module_is_named(tmp_path: Path) -> None:
    dockerfile = "FROM debian\nRUN pip install no-such-module-xyz==1\n"
    has_python = Path("/usr/bin/python3").exists()  # without one, python itself is what is missing
    wanted = r"python module no_such_module_xyz \(.*python_packages" if has_python else r"python3? \("
    failing(tmp_path, dockerfile, MissingTools, wanted)


def test_failing_run_is_named_with_its_words(tmp_path: Path) -> None:
    dockerfile = PLAIN + "RUN echo broken >&2; exit 7\n"
    failing(tmp_path, dockerfile, DockerfileError, r"Dockerfile:3: RUN echo broken.*exit code 7.*: broken")


def test_absent_sources_are_named(tmp_path: Path) -> None:
    failing(tmp_path, PLAIN + "COPY nothing.txt .\n", DockerfileError, r"Dockerfile:3: COPY nothing.txt: no such file")
    failing(tmp_path, PLAIN + "COPY a /usr/bin/a\n", DockerfileError, "read-only", a="x")


def test_no_dockerfile(tmp_path: Path) -> None:
    env = environment(tmp_path)
    (tmp_path / "environment" / "Dockerfile").unlink()
    with pytest.raises(DockerfileError, match="not found"):
        LocalEnvironment(
            environment_dir=tmp_path / "environment",
            environment_name="x",
            session_id="x",
            trial_paths=env.trial_paths,
            task_env_config=EnvironmentConfig(),
        )
