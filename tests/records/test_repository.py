"""Trees, states and diffs."""

from __future__ import annotations

import os
import tarfile

from loopscope.records import repository as room
from loopscope.records.history import read_history
from loopscope.records.workspace import list_workspace


def test_a_state_holds_the_tree_without_bookkeeping(work, salvaged, tmp_path):
    work.write("src/a.py", "print(1)")
    work.write("run.sh", "#!/bin/sh\n")
    (work.path / "run.sh").chmod(0o755)
    work.write("output/journal.md", "x")
    os.symlink("/etc/passwd", work.path / "link")
    work.commit("base")
    repository = salvaged(work)
    (commit,) = read_history(repository).commits
    paths = repository.write_state(commit.tree.encode(), tmp_path / "state.tar", mtime=1_700_000_000)
    assert paths == {b"src/a.py", b"run.sh", b"link"}
    with tarfile.open(tmp_path / "state.tar") as tar:
        members = {m.name: m for m in tar}
    assert members["./run.sh"].mode == 0o755
    assert members["./link"].issym()
    assert members["./link"].linkname == "/etc/passwd"
    assert members["./src/a.py"].mtime == 1_700_000_000


def test_a_workspace_lists_as_its_commit_does(work, salvaged, tmp_path):
    work.write("src/a.py", "print(1)")
    work.write(".gitignore", "*.o\n")
    os.symlink("src", work.path / "link")
    os.link(work.path / "src/a.py", work.path / "twin.py")
    work.commit("base")
    repository = salvaged(work)
    (commit,) = read_history(repository).commits
    assert dict(repository.files(commit.tree.encode())) == list_workspace(tmp_path / "w.tar").files


def test_a_diff_says_what_changed(work, salvaged):
    work.write("a.py", "one\ntwo\n")
    work.write("b.bin", "x\0y")
    work.commit("base")
    work.write("a.py", "one\nthree\n")
    work.write("b.bin", "x\0z")
    work.write("c.py", "new\n")
    work.commit("next")
    repository = salvaged(work)
    old, new = read_history(repository).commits
    a, b, c = repository.diff(old.tree, new.tree)
    assert (a.path, a.change, a.added, a.removed) == ("a.py", "modified", 1, 1)
    assert "-two\n+three" in a.text
    assert (b.text, b.note) == ("", "binary, 3 to 3 bytes")
    assert (c.change, c.added) == ("added", 1)


def test_a_large_diff_is_cut_and_says_so(work, salvaged, monkeypatch):
    monkeypatch.setattr(room, "MAX_DIFF_BYTES", 1000)
    work.write("big.txt", "x\n" * 2000)
    work.write("small.txt", "y\n" * 100)
    work.commit("base")
    repository = salvaged(work)
    (commit,) = read_history(repository).commits
    big, small = repository.diff(None, commit.tree, max_bytes=50)
    assert big.note.startswith("too large")
    assert len(small.text) == 50
    assert small.note.startswith("cut")


def test_files_that_take_for_ever_to_compare_are_named_only(work, salvaged, monkeypatch):
    monkeypatch.setattr(room, "MAX_EQUAL_PAIRS", 1000)
    work.write("same.txt", "x\n" * 100)
    work.write("few.txt", "x\n" * 5)
    work.commit("base")
    work.write("same.txt", "y\n" + "x\n" * 100)
    work.write("few.txt", "x\n" * 6)
    work.commit("next")
    old, new = read_history(repository := salvaged(work)).commits
    few, same = repository.diff(old.tree, new.tree)
    assert few.added == 1
    assert same.note.startswith("too long to compare")
