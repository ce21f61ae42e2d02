"""One fork server for each test process, and studies in its hands."""

from __future__ import annotations

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
    """What a study comes to that nobody disturbs; made once for each kind of study."""
    made: dict[str, Twin] = {}

    def twin(**kind: Any) -> Twin:
        key = repr(sorted(kind.items()))
        if key not in made:
            arena = Arena(server, tmp_path_factory.mktemp("twin") / "a")
            arena.write(**kind)
            made[key] = Twin.of(arena)
        return made[key]

    return twin


@pytest.fixture
def make_arena(server: ForkServer, tmp_path: Path) -> MakeArena:
    """A study of its own: `make_arena("name", timed=True)`."""

    def make(name: str = "a", *, frozen: bool = True, **kind: Any) -> Arena:
        arena = Arena(server, tmp_path / name, frozen=frozen)
        arena.write(**kind)
        return arena

    return make
