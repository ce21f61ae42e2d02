"""A study knows the file that it was run from, and loses no edit of its copy."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from toy_study import write_task

from loopscope.engine.plan import Plan, plan_study
from loopscope.records.origin import ORIGIN, origin_file
from loopscope.records.settled import settled_study

STUDY = "name: s\ntasks: [./toy]\nagents: [nop]\nseeds: %d\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_task(tmp_path / "toy")
    return tmp_path


def plan(root: Path, seeds: int = 1) -> Plan:
    (root / "chains.yaml").write_text(STUDY % seeds)
    return plan_study(root / "chains.yaml", root / "chains")


def warnings(root: Path) -> tuple[str, ...]:
    return settled_study(root / "chains")[1]


def test_an_edit_of_the_file_beside_the_directory_is_noticed(root):
    plan(root)
    assert warnings(root) == ()
    assert (root / "chains" / ORIGIN).read_text().endswith("  ../chains.yaml\n")
    (root / "chains.yaml").write_text(STUDY % 2 + "concurrency: 7\n")
    spec, said = settled_study(root / "chains")
    assert [line.split(" (")[0] for line in said] == ["../chains.yaml: changed since the last `loopscope run`"]
    assert (list(spec.seeds), spec.concurrency) == ([1], 7)
    (root / "chains.yaml").write_text("name: [")
    assert "chains.yaml" in warnings(root)[0]
    (root / "chains.yaml").unlink()
    assert warnings(root) == ()


def test_an_edited_copy_is_kept_and_told(root):
    plan(root)
    copy = root / "chains/study.yaml"
    assert not plan(root, seeds=2).changes[0].startswith("study.yaml"), "the file was edited, the copy was not"
    for number in (1, 2):
        copy.write_text(f"{STUDY % 2}# mine {number}\n")
        told = plan(root, seeds=2).changes
        assert any(f"kept as study.yaml.edited-{number}" in line for line in told), told
        assert copy.read_text() == STUDY % 2
        assert (root / f"chains/study.yaml.edited-{number}").read_text().endswith(f"# mine {number}\n")
    assert plan(root, seeds=2).changes == ()


def test_the_directory_moves_with_its_file_or_without_it(root):
    plan(root)
    (root / "elsewhere").mkdir()
    shutil.move(root / "chains", root / "elsewhere/chains")
    assert origin_file(root / "elsewhere/chains") is None
    shutil.move(root / "chains.yaml", root / "elsewhere/chains.yaml")
    assert origin_file(root / "elsewhere/chains") is not None


@pytest.mark.parametrize("data", [b"", b"x", b"x  a\0b", b"\xff  ", bytes(100_000)])
def test_a_broken_note_is_none(root, data):
    plan(root)
    (root / "chains" / ORIGIN).write_bytes(data)
    assert warnings(root) == ()
    (root / "chains" / ORIGIN).unlink()
    os.mkfifo(root / "chains" / ORIGIN)
    assert warnings(root) == ()
