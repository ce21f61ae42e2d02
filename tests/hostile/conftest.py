"""Hostile agents need a sandbox, and a place that all workers of a test run share."""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopscope.sandbox.probe import Probe, probe


@functools.cache
def _probe() -> Probe:
    return asyncio.run(probe())


@pytest.fixture(autouse=True)
def needs_sandbox(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("sandbox") and not _probe().works:
        pytest.fail(_probe().message, pytrace=False)


@pytest.fixture(scope="session")
def battlefield(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Path]:
    """A directory that all workers of this test run share and that an ordinary user can enter."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    place = Path("/tmp") / f"loopscope-hostile-{run[:12]}"
    place.mkdir(exist_ok=True)
    users = place / f"worker-{worker_id}"
    users.touch()
    yield place
    users.unlink()
    if not list(place.glob("worker-*")):
        shutil.rmtree(place, ignore_errors=True)
