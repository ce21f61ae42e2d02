from __future__ import annotations

import asyncio
import functools

import pytest

from loopscope.sandbox.probe import Probe, probe


@functools.cache
def _probe() -> Probe:
    return asyncio.run(probe())


@pytest.fixture(autouse=True)
def needs_sandbox(request: pytest.FixtureRequest) -> None:
    """Where sandboxes do not work, that is a failure: nothing of loopscope's runs then. `-m "not sandbox"` leaves them out."""
    if request.node.get_closest_marker("sandbox") and not _probe().works:
        pytest.fail(_probe().message, pytrace=False)
