"""Disks that are too small: a state that fills its sandbox is scored all the same, and a full machine costs no try."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from harbor.models.task.config import TaskConfig
from toy_study import run, write_task
from typer.testing import CliRunner

from loopscope.cli import app
from loopscope.engine import needs
from loopscope.engine.events import Event, silent
from loopscope.engine.kinds import EndingKind, kind_of
from loopscope.engine.needs import Capacity, Need
from loopscope.engine.scheduler import Job, Scheduler
from loopscope.engine.status import UnitState, study_status
from loopscope.engine.study import run_study
from loopscope.models import RunStatus, VerificationStatus
from loopscope.records.studyfile import NoRoomError
from loopscope.sandbox import storage

BOUNDED = ["loop", "tmpfs"] if os.geteuid() == 0 and os.path.exists("/dev/loop-control") else ["tmpfs"]


def small_task(where: Path, storage_mb: int) -> Path:
    task = write_task(where)
    file = task / "task.toml"
    text = file.read_text()
    assert "[environment]" in text
    file.write_text(text.replace("[environment]", f"[environment]\nstorage_mb = {storage_mb}"))
    assert TaskConfig.model_validate_toml(file.read_text()).environment.storage_mb == storage_mb
    return task


@pytest.mark.sandbox
@pytest.mark.parametrize("means", BOUNDED)
def test_a_workspace_of_almost_all_that_it_may_write_has_its_final_score(study, tmp_path, means):
    agents = {f"m{mb}": {"commands": [f"head -c {mb}M /dev/zero > big"]} for mb in (40, 60)}
    environment = {"type": "local", "kwargs": {"storage": means}}
    store = run(study(agents, [small_task(tmp_path / "toy", 64)], environment=environment))
    for label in agents:
        (found,) = store.run(f"toy__{label}__s1").score("final").verifications
        assert (found.status, found.reward) == (VerificationStatus.OK, Decimal("0.1")), found.reason


@pytest.mark.sandbox
@pytest.mark.parametrize("means", BOUNDED)
def test_a_disk_that_was_filled_is_told_everywhere(study, tmp_path, means):
    agents = {
        "full": {"commands": ["head -c 200M /dev/zero > big; rm big; true", "head -c 200M /dev/zero > /tmp/b; true"]}
    }
    environment = {"type": "local", "kwargs": {"storage": means}}
    plan = study(agents, [small_task(tmp_path / "toy", 64)], environment=environment)
    told: list[Event] = []
    asyncio.run(run_study(plan, told.append, score=False))
    disk = plan.store.run("toy__full__s1").record.limits["disk"]
    assert disk.hits == 1 and disk.peak > 60 << 20
    assert any("disk full: all of 64.0 MiB was used" in event.message for event in told)
    (unit,) = study_status(plan.store.path).units
    assert unit.reason == "disk full: all of 64.0 MiB was used"


@pytest.mark.sandbox
def test_links_and_holes_are_no_way_to_more_disk(study, tmp_path):
    tricks = {
        "links": "head -c 20M /dev/urandom > a; for n in $(seq 50); do ln a $n; done",
        "holes": "truncate -s 2G a",
    }
    agents = {label: {"commands": [trick]} for label, trick in tricks.items()}
    store = run(study(agents, [small_task(tmp_path / "toy", 64)]))
    for label in tricks:
        record = store.run(f"toy__{label}__s1").record
        assert (kind_of(record), record.status) == (EndingKind.WORKSPACE_TOO_LARGE, RunStatus.AGENT_ERROR)
    assert sum(path.stat().st_blocks for path in store.path.rglob("*")) * 512 < 16 << 20
    assert [unit.ending for unit in study_status(store.path).units] == ["workspace_too_large"] * 2


@pytest.mark.sandbox
def test_a_unit_that_the_disk_has_no_room_for_waits_and_the_others_are_done(study, tmp_path):
    plan = study({"n": "nop"}, [small_task(tmp_path / "toy", 64), small_task(tmp_path / "vast", 1 << 30)])
    told: list[Event] = []
    with pytest.raises(NoRoomError, match=r"make room: .* a run of vast needs [\d.]+ GB .*run again"):
        asyncio.run(run_study(plan, told.append))
    assert [event.message for event in told if event.problem] == [told[0].message]
    assert "a run of vast needs" in told[0].message
    assert plan.store.run("toy__nop__s1").score("final").value == Decimal("0.1")
    states = {unit.run_id: (unit.state, unit.tries) for unit in study_status(plan.store.path).units}
    assert states["vast__nop__s1"] == (UnitState.WAITING, 0)


@pytest.mark.sandbox
@pytest.mark.parametrize("verb", ["run", "score"])
def test_what_is_done_and_what_waits_is_told_before_the_room_that_lacks(tmp_path, monkeypatch, verb):
    """Of rollouts, and of verifications, which find it out in the middle."""
    tasks = [small_task(tmp_path / "toy", 64), small_task(tmp_path / "vast", 1 << 30)]
    spec = {
        "name": "s",
        "tasks": [str(task) for task in tasks[: 2 if verb == "run" else 1]],
        "agents": ["nop"],
        "seeds": 1,
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(spec))
    monkeypatch.setenv("LOOPSCOPE_LOCK_DIR", str(tmp_path))
    if verb == "score":
        assert CliRunner().invoke(app, ["run", str(tmp_path), "--no-score"]).exit_code == 0
        monkeypatch.setattr(needs.shutil, "disk_usage", lambda _: SimpleNamespace(free=10**7))
    done = CliRunner().invoke(app, [verb, str(tmp_path)])
    assert done.exit_code == 1, done.stderr
    said, reason = " ".join(done.stderr.split()).split(" error: ")  # long lines are folded
    told = {"run": "1 done, 1 waiting (vast__nop__s1); 1 of 1 states scored", "score": "1 done; 0 of 1 states scored"}
    assert said.endswith(f"so far: rollouts: {told[verb]}; `loopscope status {tmp_path}` lists them")
    assert "make room" in reason


@pytest.mark.parametrize(("free_gb", "mb"), [(100, 10240), (20, 4096), (10, 1024), (1, 1024)])
def test_a_task_that_says_nothing_is_given_what_is_counted_for_it(study, monkeypatch, free_gb, mb):
    plan = study({"n": "nop"})
    monkeypatch.setattr(needs.shutil, "disk_usage", lambda _: SimpleNamespace(free=free_gb * 10**9))
    found = needs.Needs(plan.store.path, plan.spec)
    assert found.storage_mb("toy") == mb
    run_plan = plan.runs[0]
    out = min(8 << 30, 2 * mb << 20)
    assert found.rollout("toy", run_plan.agent, run_plan.kind).disk_bytes == max((mb << 20) + out, 2 * out)
    assert found.verification("toy", 5 << 20).disk_bytes == (mb + 10) << 20
    assert found.verification("toy", None).disk_bytes == (mb << 20) + 2 * out
    assert found.most_committed_bytes("toy") == 8 << 30, "what is free decides no verdict"


@pytest.mark.sandbox
def test_a_full_machine_stops_the_study_before_anything_and_the_unit_waits(study, monkeypatch):
    plan = study({"n": "nop"})
    monkeypatch.setattr(needs.shutil, "disk_usage", lambda _: SimpleNamespace(free=10**9))
    with pytest.raises(NoRoomError, match=r"make room: 1\.0 GB are free"):
        asyncio.run(run_study(plan, silent))
    assert_waiting(plan)


@pytest.mark.sandbox
def test_a_sandbox_that_finds_no_room_costs_no_try(study, monkeypatch):
    """The disk may fill after the study looked, or be another one than the study's."""
    plan = study({"n": "nop"}, environment={"type": "local", "kwargs": {"storage": "directory"}})
    with monkeypatch.context() as full:
        full.setattr(storage, "free_bytes", lambda _: 1 << 30)
        with pytest.raises(NoRoomError, match=r"make room: a sandbox needs 2048 MiB .*kwargs.storage: tmpfs"):
            asyncio.run(run_study(plan, silent))
    assert_waiting(plan)
    asyncio.run(run_study(plan, silent, score=False))
    with monkeypatch.context() as full:  # the rollout stands; its verification finds no room
        full.setattr(storage, "free_bytes", lambda _: 1 << 30)
        with pytest.raises(ExceptionGroup) as caught:
            asyncio.run(run_study(plan, silent))
        assert caught.group_contains(NoRoomError)
    assert plan.store.run("toy__nop__s1").record.tries == 1
    asyncio.run(run_study(plan, silent))
    assert plan.store.run("toy__nop__s1").score("final").value == Decimal("0.1")


def assert_waiting(plan) -> None:
    (unit,) = study_status(plan.store.path).units
    assert (unit.state, unit.tries) == (UnitState.WAITING, 0)


def test_no_room_for_one_more_does_not_end_what_runs():
    """It waits until something has ended; alone and still without room, it stops the study."""
    room, begun = asyncio.Event(), []

    async def go(work: Callable[[str], object]) -> list[str]:
        done: list[str] = []
        scheduler = Scheduler[str, str](Capacity(places=2), finished=lambda unit, _: done.append(unit))
        await scheduler.run([Job(name, 0, Need()) for name in "ab"], work)
        return done

    async def work(unit: str) -> str:
        begun.append(unit)
        if unit == "b" and not room.is_set():
            raise NoRoomError("full")
        for _ in range(20):
            await asyncio.sleep(0)
        room.set()
        return unit

    assert asyncio.run(go(work)) == ["a", "b"] and begun == ["a", "b", "b"]

    async def never(unit: str) -> str:
        raise NoRoomError("full")

    with pytest.raises(ExceptionGroup):
        asyncio.run(go(never))
