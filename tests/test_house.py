"""The one-way house: which room may import which, read from the sources."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "loopscope"

MAY_IMPORT: dict[str, set[str]] = {
    "models": set(),
    "measures": set(),
    "records": {"models"},
    "tasks": {"models"},
    "sandbox": {"models"},
    "agents": {"models", "records"},
    "engine": {"models", "records", "tasks", "sandbox", "agents"},
    "audit": {"models", "records", "tasks", "sandbox", "agents", "engine"},
    "transcripts": {"models"},
    "evidence": {"models", "records", "transcripts"},
    "imports": {"models", "records", "transcripts", "evidence"},
    "analysis": {"models", "records", "evidence", "measures"},
    "report": {"models", "records"},
    "cli": {
        "models",
        "records",
        "tasks",
        "sandbox",
        "agents",
        "engine",
        "audit",
        "analysis",
        "report",
        "measures",
        "imports",
    },
}
USES_HARBOR = {"sandbox", "agents", "engine", "audit"}
"""Rooms of the `run` extra; everything else works without Harbor."""


SANDBOXED = (SOURCE / "tasks" / "suite", SOURCE / "tasks" / "guard")
"""What runs inside a verifier's sandbox and is no part of the package that is imported."""


def modules(room: str) -> list[Path]:
    return [p for p in (SOURCE / room).rglob("*.py") if not any(p.is_relative_to(s) for s in SANDBOXED)]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
    return found


def test_every_room_is_in_the_table():
    rooms = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert rooms == set(MAY_IMPORT)


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_a_room_imports_only_what_it_may(room):
    allowed = MAY_IMPORT[room] | {room}
    for path in modules(room):
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "loopscope" and len(parts) > 1:
                assert parts[1] in allowed, f"{path.relative_to(SOURCE)} imports {name}"


@pytest.mark.parametrize("room", sorted(set(MAY_IMPORT) - USES_HARBOR))
def test_analysis_half_works_without_harbor(room):
    for path in modules(room):
        top_level = ast.parse(path.read_text()).body
        names = {
            name
            for node in top_level
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""])
        }
        assert not {n for n in names if n.split(".")[0] == "harbor"}, path.relative_to(SOURCE)


STARTERS = {"run", "Popen", "call", "check_call", "check_output", "create_subprocess_exec", "execvp", "execv", "spawn"}


def test_host_git_is_never_called():
    for path in SOURCE.rglob("*.py"):
        if path.is_relative_to(SOURCE / "tasks" / "suite"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            heads = [a.elts[0] if isinstance(a, ast.List | ast.Tuple) and a.elts else a for a in node.args[:1]]
            starts_git = any(isinstance(h, ast.Constant) and str(h.value).split("/")[-1] == "git" for h in heads)
            assert not (name in STARTERS and starts_git), f"{path}:{node.lineno}: calls git"


def test_no_two_test_modules_share_a_name():
    """pytest imports them by their bare names: two of one name, and nothing at all is collected."""
    names = [path.name for path in (SOURCE.parents[1] / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
