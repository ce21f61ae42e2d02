"""Durable writing and readable errors."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from loopscope.models import Budget, StateScore
from loopscope.records import durable
from loopscope.records.durable import (
    RecordError,
    publish,
    read_model,
    remove_tree,
    scratch_name,
    sweep,
    write_bytes,
    write_model,
)


def test_a_write_that_fails_leaves_the_old_content(tmp_path, monkeypatch):
    target = tmp_path / "a"
    write_bytes(target, b"old")

    def fail(_fd):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_bytes(target, b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_directory_is_published_whole_and_replaces_the_old(tmp_path):
    target = tmp_path / "report"
    for text in ("one", "two"):
        scratch = scratch_name(target)
        scratch.mkdir()
        (scratch / "f").write_text(text)
        publish(scratch, target)
    assert (target / "f").read_text() == "two"
    assert [p.name for p in tmp_path.iterdir()] == ["report"]


def killed_at(step: int, scratch: Path, target: Path) -> bool:
    """Publish in a child that is killed before its `step`-th change of a name; False when it came to its end."""
    child = os.fork()
    if child == 0:
        left = step

        def watch(event: str, _: object) -> None:
            nonlocal left
            if event in ("os.rename", "os.remove", "os.rmdir"):
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1

        sys.addaudithook(watch)
        publish(scratch, target)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork")
@pytest.mark.parametrize("exchanges", [True, False])
def test_a_kill_at_any_step_of_a_replacement_leaves_the_old_directory_or_the_new(tmp_path, monkeypatch, exchanges):
    if not exchanges:
        monkeypatch.setattr(durable, "_exchange", lambda one, other: False)
    target, seen, step = tmp_path / "a-run", [], 0
    while True:
        for text, place in (("old", target), ("new", scratch_name(target))):
            if place.is_dir():
                remove_tree(place)
            (place / "attempts").mkdir(parents=True)
            (place / "attempts/f").write_text(text)
        killed = killed_at(step, place, target)
        assert sweep(tmp_path) == []
        assert [p.name for p in tmp_path.iterdir()] == ["a-run"]
        seen.append((target / "attempts/f").read_text())
        if not killed:
            break
        step += 1
    assert seen[0] == ("new" if exchanges else "old")
    assert seen[-1] == "new"
    assert exchanges or seen[:3] == ["old", "old", "new"]


def test_a_replacement_that_fails_leaves_the_old_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(durable, "_exchange", lambda one, other: False)
    target, scratch = tmp_path / "a-run", scratch_name(tmp_path / "a-run")
    for path in (target, scratch):
        path.mkdir()
    (target / "f").write_text("old")

    def fail(self, _):
        raise OSError("disk failed")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk failed"):
        publish(scratch, target)
    assert (target / "f").read_text() == "old"


def test_what_a_killed_process_left_is_swept(tmp_path):
    scratch_name(tmp_path / "x").mkdir()
    scratch_name(tmp_path / "y").write_text("half")
    (tmp_path / "kept").write_text("whole")
    assert sweep(tmp_path) == []
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]


def test_errors_name_file_field_and_remedy(tmp_path):
    path = tmp_path / "score.json"
    with pytest.raises(RecordError, match=r"score.json: cannot be read"):
        read_model(path, StateScore)
    path.write_text('{"state": "final"}')
    with pytest.raises(RecordError, match=r"score.json: run_id: Field required; restore"):
        read_model(path, StateScore)
    path.write_text('{"schema_version": 99, "state": "f", "run_id": "r", "verifier_hash": "v", "verifications": []}')
    with pytest.raises(RecordError, match="newer loopscope"):
        read_model(path, StateScore)


def test_equal_models_give_equal_bytes(tmp_path):
    write_model(tmp_path / "a", Budget(agent_sec=1.5))
    write_model(tmp_path / "b", Budget(agent_sec=1.5))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_removing_touches_nothing_outside(tmp_path):
    tmp_path.chmod(0o755)
    assert remove_tree(tmp_path / "nothing")
    locked = tmp_path / "tree" / "locked"
    locked.mkdir(parents=True)
    (locked / "f").write_text("x")
    locked.chmod(0)
    assert remove_tree(tmp_path / "tree")
    assert tmp_path.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(("depth", "name"), [(1500, "d"), (40, "n" * 250)])
def test_what_is_nested_deeper_than_a_path_is_long_is_removed(tmp_path, depth, name):
    at = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.symlink(tmp_path / "kept", "link", dir_fd=at)
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.fchmod(at, 0)
    os.close(at)
    (tmp_path / "kept").write_text("x")
    assert remove_tree(tmp_path / name)
    assert os.listdir(tmp_path) == ["kept"]


def test_links_in_a_published_directory_are_kept_and_not_followed(tmp_path):
    scratch = scratch_name(tmp_path / "out")
    scratch.mkdir()
    (scratch / "link").symlink_to("/nonexistent")
    publish(scratch, tmp_path / "out")
    assert (tmp_path / "out/link").is_symlink()
