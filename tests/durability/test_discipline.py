"""What survives a power cut: everything that gets its name was synced before, and the name after.

A start's own calls are the evidence. Whatever is renamed into place out of a scratch name must have been synced since it
was last opened for writing, with all below it, and the directory it went to must be synced afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

_FOR_THE_LIVING = ("/.lock", "/.in-flight.json")
"""What means something only while its engine runs."""


def undisciplined(trace: list[list[str]], study: str) -> list[str]:
    """Breaches in a trace of (operation, path, other path)."""
    wrong: list[str] = []
    dirty: dict[str, str] = {}  # written files and changed directories that were not synced since; why
    for operation, path, other in trace:
        if operation == "fsync":
            dirty.pop(path, None)
        elif operation in ("open", "mkdir", "link"):
            if operation == "open":
                dirty[path] = "written"
            if not unfinished(path):
                dirty[str(Path(path).parent)] = f"holds {path}"
        elif operation == "unlink":
            dirty.pop(path, None)
        elif operation == "rename":
            if not hidden(path, study):
                below = [name for name in dirty if name == other or name.startswith(f"{other}/")]
                wrong += [f"{name} ({dirty[name]}) was not synced before it became {path}" for name in below]
            for name in [name for name in dirty if name == other or name.startswith(f"{other}/")]:
                dirty[path + name.removeprefix(other)] = dirty.pop(name)
            if not unfinished(path):
                dirty[str(Path(path).parent)] = f"holds {path}"
    visible = [name for name in dirty if not hidden(name, study) and Path(name).exists()]
    return wrong + [f"{name} ({dirty[name]}) was never synced" for name in visible]


def unfinished(path: str) -> bool:
    """Whether a name itself is one that the next start sweeps away."""
    return Path(path).name.startswith(".tmp-") or path.endswith(_FOR_THE_LIVING)


def hidden(path: str, study: str) -> bool:
    """Whether a path is or lies in something unfinished."""
    return "/.tmp-" in path.removeprefix(study) or path.endswith(_FOR_THE_LIVING)


@pytest.fixture
def breaches(make_arena, tmp_path):
    """Of each command, on one study, one after the other."""
    arena = make_arena(agents=1, seeds=2, environment={"type": "local", "kwargs": {"storage": "tmpfs"}})

    def of(*argv: str) -> list[str]:
        trace = tmp_path / "trace.json"
        done = arena.start(*argv, trace=trace)
        assert done.code == 0, done.text()
        found = json.loads(trace.read_text())
        assert any(operation == "rename" for operation, _, _ in found)
        return undisciplined(found, str(arena.study))

    of.arena = arena
    return of


def test_whatever_is_published_was_synced_first(breaches):
    arena = breaches.arena
    study, file = str(arena.study), str(arena.file)
    assert breaches("run", file, "--out", study) == []
    assert breaches("analyze", study) == []
    assert breaches("report", study) == []
    arena.edit(seeds=1)
    assert breaches("run", file, "--out", study, "--retire") == []
    arena.edit(seeds=2)
    assert breaches("run", file, "--out", study) == []


GOOD = [
    ["mkdir", "/s/runs", ""],
    ["fsync", "/s", ""],
    ["open", "/s/runs/.tmp-1-a", ""],
    ["fsync", "/s/runs/.tmp-1-a", ""],
    ["rename", "/s/runs/a", "/s/runs/.tmp-1-a"],
    ["fsync", "/s/runs", ""],
]


@pytest.mark.parametrize("left_out", [1, 3, 5])
def test_the_check_itself_sees_what_was_not_synced(left_out, monkeypatch):
    monkeypatch.setattr(Path, "exists", lambda path: True)
    assert undisciplined(GOOD, "/s") == []
    assert undisciplined([call for index, call in enumerate(GOOD) if index != left_out], "/s") != []
