"""Doctor says of a study what its start would: what `run` refuses is no task that can run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from toy_study import write_task

from loopscope.engine import fitness
from loopscope.engine.fitness import look_tasks
from loopscope.records import load_study
from loopscope.sandbox.doctor import State

GB = 10**9


def rows(folder: Path, line: str = "") -> dict[str, tuple[State, str]]:
    """Findings on a study of one task whose environment has one line more, by name."""
    toml = write_task(folder / "toy") / "task.toml"
    toml.write_text(f"{toml.read_text()}{line}\n")
    file = folder / "s.yaml"
    file.write_text("name: s\ntasks: [./toy]\nagents: [nop]\nseeds: 1\n")
    return {row.name: (row.state, row.fact) for row in look_tasks(file, load_study(file))}


def test_a_task_that_a_start_would_refuse_is_named(tmp_path: Path) -> None:
    found = rows(tmp_path, "memory_mb = 1")
    assert "tasks" not in found
    state, fact = found["task ./toy"]
    assert state is State.MISSING and "environment.memory_mb: 1 MiB are too little" in fact


@pytest.mark.parametrize(("free_gb", "enough"), [(6, False), (7, True)])
def test_the_disk_is_counted_as_a_start_counts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_gb: int, enough: bool
) -> None:
    """One GiB to write, twice as much to come out and be packed, and two GB that stay free."""
    monkeypatch.setattr(fitness.shutil, "disk_usage", lambda _: SimpleNamespace(free=free_gb * GB))
    found = rows(tmp_path, "storage_mb = 1024")
    assert ("disk" not in found) is enough
    assert enough or "a rollout of toy needs 6003 MiB (1024 that it may write" in found["disk"][1]
