"""Many trials through the engine and Harbor leave nothing behind but their records."""

from __future__ import annotations

import asyncio
import gc
import logging
import tempfile
import time
from collections.abc import Iterator

import pytest
from harbor.utils.logger import logger as harbor_logger
from leftovers import Leftovers, adopt_orphans, reap, resident_mb
from toy_study import START

from loopscope.engine.events import Event, Phase, silent
from loopscope.engine.rollout import make_baseline
from loopscope.engine.scoring import Scorer
from loopscope.engine.study import run_study

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

TRIALS = 60
WARM = 20
"""Trials after which what is kept for good (caches, code) is there."""
MOST_KB = 250.0
"""Growth of resident memory per trial, early as it is; the benchmark shows that it ends."""
MOST_OBJECTS = 5.0
"""Growth of the number of Python's containers per trial: a kept result or task would be more."""


def loggers() -> int:
    return sum(1 for name in logging.Logger.manager.loggerDict if "toy__" in name)


@pytest.fixture(autouse=True)
def orphans_are_ours() -> Iterator[None]:
    adopt_orphans()
    yield
    adopt_orphans(False)


def test_trials_leave_no_process_mount_descriptor_file_or_logger_and_memory_stays(study, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(harbor_logger, "propagate", False)  # else pytest keeps every line
    plan = study(
        {"nop": "nop", "a": {"commands": [START, "sleep 1000 & echo 0.5 > value.txt"]}},
        seeds=TRIALS // 2,
        concurrency=2,
    )
    warm: list[Leftovers] = []
    memory: list[float] = []
    objects: list[int] = []

    def notify(event: Event) -> None:
        if event.phase is Phase.ROLLOUT and event.done == WARM and not memory:
            gc.collect()
            memory.append(resident_mb())
            objects.append(len(gc.get_objects()))

    async def all_of_it() -> None:
        assert await make_baseline(plan, plan.runs[0].task) is None  # starts what all sandboxes share
        warm.append(Leftovers.now(tmp_path))
        await run_study(plan, notify, score=False)
        gc.collect()
        memory.append(resident_mb())
        objects.append(len(gc.get_objects()))
        assert len(asyncio.all_tasks()) == 1
        await Scorer(plan.store, plan.spec, silent).score_all()

    asyncio.run(all_of_it())
    runs, baseline = plan.store.path / "runs", plan.store.baseline("toy")
    locks = [tmp_path / f"loopscope-{name}.lock" for name in ("turn", "run")]
    until = time.monotonic() + 10  # what was killed a moment ago is still on its way out
    while left := warm[0].left(Leftovers.now(tmp_path), expected=(runs, baseline, *locks)):
        assert time.monotonic() < until, left
        reap()
    assert not [path for path in runs.rglob(".*") if path.name not in (".gitignore",)]
    assert loggers() == 0
    assert (objects[1] - objects[0]) / (TRIALS - WARM) < MOST_OBJECTS
    assert (memory[1] - memory[0]) * 1000 / (TRIALS - WARM) < MOST_KB
