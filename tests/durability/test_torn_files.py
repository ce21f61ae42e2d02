"""Files as a power cut can leave them: cut short, empty, full of zeros. A clear answer, a way back, nothing else lost."""

from __future__ import annotations

import random

import pytest

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

KIND = {"agents": 1, "seeds": 2, "environment": {"type": "local", "kwargs": {"storage": "tmpfs"}}}
TORN = "runs/toy__steady1__s1"
KINDS = [
    "study.yaml",
    "study.lock.json",
    "tasks/toy.json",
    "tasks/toy/task.toml",
    f"{TORN}/record.json",
    f"{TORN}/manifest.json",
    f"{TORN}/unit.json",
    f"{TORN}/workspace.tar.zst",
    f"{TORN}/scores/final.json",
    f"{TORN}/evidence.json",
    "tables/study.json",
    "tables/runs.parquet",
]


@pytest.fixture(scope="module")
def arena(server, tmp_path_factory):
    from killing import Arena

    made = Arena(server, tmp_path_factory.mktemp("torn") / "a")
    made.write(**KIND)
    assert made.run().code == 0
    made.tables()
    return made


def damage(data: bytes, how: str, rng: random.Random) -> bytes:
    """What is left of a file."""
    if how == "empty":
        return b""
    cut = rng.randrange(1, len(data))
    return data[:cut] if how == "cut" else data[:cut] + bytes(len(data) - cut)


@pytest.mark.parametrize("name", KINDS)
def test_a_torn_file_is_told_of_and_costs_nothing_else(arena, name):
    rng = random.Random(name)
    file = arena.study / name
    whole = file.read_bytes()
    others = {path: path.read_bytes() for path in arena.study.glob("runs/toy__steady1__s2/**/*") if path.is_file()}
    before = arena.finished
    arena.finished = type(before)()
    try:
        for how in ("cut", "empty", "zeros"):
            file.write_bytes(damage(whole, how, rng))
            for argv in (["run", str(arena.file), "--out", str(arena.study)], ["analyze", str(arena.study)]):
                start = arena.start(*argv)
                assert start.code in (0, 1, 2), f"{name} {how}: {start.text()}"
                if start.code == 2:
                    (line,) = [line for line in start.err.splitlines() if line.startswith("error: ")]
                    assert file.name in line or str(file.parent) in line, f"{name} {how}: {start.text()}"
            now = {path: path.read_bytes() for path in others}
            assert now == others, f"{name} {how}"
            file.write_bytes(whole)
    finally:
        file.write_bytes(whole)
        arena.finished = before
    start = arena.run()
    assert start.code == 0, start.text()
    assert arena.finished == before
