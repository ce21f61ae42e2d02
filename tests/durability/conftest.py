"""One fork server for each test process, and studies in its hands."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("killing", "killing_course")

from killing import Arena, ForkServer  # noqa: E402  # after their asserts are made to speak
from killing_course import Twin  # noqa: E402

MakeArena = Callable[..., Arena]


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    found = ForkServer()
    yield found
    found.close()


@pytest.fixture(scope="session")
def twins(server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Twin]:
    """What a study comes to that nobody disturbs; made once for each kind of study, by the first worker that asks."""
    ours = tmp_path_factory.getbasetemp()
    shared = (ours.parent if "PYTEST_XDIST_WORKER" in os.environ else ours) / "twins"
    shared.mkdir(exist_ok=True)

    def twin(**kind: Any) -> Twin:
        kept = shared / hashlib.sha256(repr(sorted(kind.items())).encode()).hexdigest()[:16]
        with kept.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                arena = Arena(server, tmp_path_factory.mktemp("twin") / "a")
                arena.write(**kind)
                kept.write_bytes(pickle.dumps(Twin.of(arena)))
        found: Twin = pickle.loads(kept.read_bytes())
        return found

    return twin


@pytest.fixture
def make_arena(server: ForkServer, tmp_path: Path) -> MakeArena:
    """A study of its own: `make_arena("name", timed=True)`."""

    def make(name: str = "a", *, frozen: bool = True, **kind: Any) -> Arena:
        arena = Arena(server, tmp_path / name, frozen=frozen)
        arena.write(**kind)
        return arena

    return make
