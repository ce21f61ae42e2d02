"""What a worker of a test run takes as a whole, and in which order: what takes longest begins first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("loopscope", deadline=None)  # how long an example takes is the machine's business
settings.load_profile("loopscope")

PARTED = (
    "durability/test_kills.py",
    "hostile/test_hostile_agents.py",
    "tasks/test_verifiers.py",
    "tasks/test_attacks.py",
)
"""Modules in parts that need nothing of each other: tests whose brackets begin with the same word, up to a hyphen."""
LONGEST = (
    "hostile/test_hostile_agents.py",
    "sandbox/test_ordinary_user.py",
    "durability/test_verbs.py",
    "durability/test_kills.py",
    "tasks/test_verifiers.py",
    "tasks/test_attacks.py",
    "durability/test_long.py",
    "unseen/test_unseen.py",
    "engine/test_leftovers.py",
)
"""Modules by how long their longest part takes, as `--durations` tells at the end of `scripts/check`."""
HERE = Path(__file__).parent


def part_of(nodeid: str) -> str:
    """What goes to one worker as a whole: a test's module, or its part of one in `PARTED`."""
    module, _, test = nodeid.partition("::")
    if not module.endswith(PARTED):
        return module
    return f"{module}::{test.partition('[')[2].rstrip(']').partition('-')[0]}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`: whole files, some of them in parts."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # where it is not installed, nobody asks

    class Parts(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return part_of(nodeid)

    return Parts(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {HERE / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(LONGEST)))
