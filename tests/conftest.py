"""What takes longest begins first, so that no worker is left alone with it at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

LONGEST = (
    "durability/test_kills.py",
    "hostile/test_hostile_agents.py",
    "durability/test_verbs.py",
    "sandbox/test_ordinary_user.py",
    "durability/test_long.py",
    "unseen/test_unseen.py",
    "engine/test_leftovers.py",
)
"""Modules by how long they take, as `--durations` tells at the end of `scripts/check`."""
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rank = {HERE / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(LONGEST)))
