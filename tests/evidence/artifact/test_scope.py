"""Which files are the artifact, by the instruction."""

from __future__ import annotations

import pytest

from loopscope.evidence.artifact.scope import ArtifactScope, scope_from_instruction


def test_files_that_may_be_edited() -> None:
    table = "| `/w/app/p.py` | **Edit** |\n| `/w/app/main.py` | Read-only |\nEdit `/w/app/p.py` only. Do not edit `/w/app/x.py`."
    assert scope_from_instruction(table) == ArtifactScope(
        frozenset(["/w/app/p.py"]), "/w/app", frozenset(["/w/app/x.py"])
    )
    listed = "You may edit any of these files:\n\n- `a.go`\n- `b.go`\n\nDo not modify: `main.go`\n- `c.go`"
    assert scope_from_instruction(listed) == ArtifactScope(frozenset(["a.go", "b.go"]), None, frozenset(["main.go"]))
    assert scope_from_instruction(
        "Optimize `run()` in `/w/app/src/solve.rs`. Edit `src/solve.rs`, not `src/main.rs`."
    ).files == {"/w/app/src/solve.rs"}
    assert not scope_from_instruction("Do what you want.").known


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/w/app/a.go", "a.go"), ("a.go", "a.go"), ("./a.go", "a.go"), ("/w/app/new.go", "/w/app/new.go"),
        ("/w/app/a_test.go", None), ("/tmp/a.go", None), ("/w/orig/a.go", None), ("/w/app/sub/new.go", None),
        ("/w/app/notes.md", None), (None, None),
    ],
)  # fmt: skip
def test_names(path: str | None, name: str | None) -> None:
    assert ArtifactScope(frozenset(["a.go", "b.go"]), "/w/app").name(path) == name


def test_a_file_that_must_not_be_changed_is_no_part_of_the_artifact() -> None:
    scope = ArtifactScope(frozenset(["a.go", "b.go"]), "/w/app", frozenset(["main.go"]))
    assert [scope.name(path) for path in ("/w/app/main.go", "./main.go", "/w/app/new.go")] == [
        None,
        None,
        "/w/app/new.go",
    ]


def test_one_file_alone_has_no_siblings() -> None:
    assert ArtifactScope(frozenset(["/w/app/solve.cu"]), "/w/app").name("/w/app/test.cu") is None


def test_inside() -> None:
    scope = ArtifactScope(frozenset(["/w/app/a.go"]), "/w/app")
    assert [scope.inside(path) for path in ("/w/app/x", "x", "/tmp/y", "/w/other", "/w", None)] == [
        True, True, False, False, None, None,
    ]  # fmt: skip
