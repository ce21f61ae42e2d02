from __future__ import annotations

from pathlib import Path

import pytest
from lab import annotations, in_loop, logs_dir, run_agent, sandbox, sh, transcript

from loopscope.agents.oracle import OracleAgent
from loopscope.models.annotation import StepKind, StepStatus

# Everything solve.sh and Harbor's oracle need, and no git.
NO_GIT = "RUN mkdir .bin && for t in bash sh chmod mkdir cat cp tee; do ln -s $(command -v $t) .bin/$t; done\nENV PATH=/app/.bin\n"


def task(tmp_path: Path, solve: str) -> Path:
    root = tmp_path / "task"
    for name in ("environment", "solution", "tests"):
        (root / name).mkdir(parents=True)
    (root / "task.toml").write_text('version = "1.0"\n[environment]\ncpus = 1\n')
    (root / "instruction.md").write_text("Improve it.")
    (root / "environment" / "Dockerfile").write_text("FROM debian:12\nWORKDIR /app\n")
    (root / "solution" / "solve.sh").write_text(f"#!/bin/bash\n{solve}\n")
    (root / "tests" / "test.sh").write_text("exit 0\n")
    return root


def run(tmp_path: Path, solve: str, look: str, more: str = "") -> str:
    source = tmp_path / "source"
    source.mkdir()
    (source / "answer.txt").write_text("starter\n")
    oracle = OracleAgent(logs_dir=logs_dir(tmp_path), task_dir=str(task(tmp_path, solve)))

    async def body() -> str:
        async with sandbox(tmp_path, source, more) as env:
            await run_agent(oracle, env, "Improve it.")
            return await sh(env, look)

    return in_loop(body)


@pytest.mark.sandbox
def test_one_commit_before_and_one_after(tmp_path: Path) -> None:
    look = "git log --reverse --format=%s; git show HEAD~1:answer.txt; git show HEAD:answer.txt; git status --porcelain"
    lines = run(tmp_path, "echo reference > answer.txt", look).splitlines()
    assert lines[0].startswith("initial")
    assert lines[1].startswith("round 1: change=reference solution hypothesis=")
    assert lines[2:] == ["starter", "reference"]
    commits = annotations(transcript(tmp_path), StepKind.COMMIT)
    assert [c.round for c in commits] == [0, 1]
    assert all(c.commit for c in commits)


@pytest.mark.sandbox
def test_without_git_just_the_solution(tmp_path: Path) -> None:
    assert run(tmp_path, "echo reference > answer.txt", "cat answer.txt", NO_GIT) == "reference\n"
    steps = annotations(transcript(tmp_path))
    assert [s.kind for s in steps] == [StepKind.EDIT]


@pytest.mark.sandbox
def test_a_solution_that_fails_or_breaks_the_repository_loses_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, "rm -rf .git; echo x > .git; echo half > answer.txt; exit 3", "cat answer.txt") == "half\n"
    steps = annotations(transcript(tmp_path))
    assert [s.kind for s in steps] == [StepKind.COMMIT, StepKind.EDIT, StepKind.COMMIT]
    assert [s.status for s in steps] == [StepStatus.OK, StepStatus.RUNTIME_FAILURE, StepStatus.ENV_FAILURE]
