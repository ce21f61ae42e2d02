"""Repositories made to break their reader: each costs what is broken and nothing else."""

from __future__ import annotations

import hashlib
import tarfile
import zlib

import pytest
from git_work import Work

from loopscope.records import history as histories
from loopscope.records import repository as room
from loopscope.records import salvage as salvaging
from loopscope.records.history import read_history
from loopscope.records.repository import Repository, TreeTooLarge, TreeUnreadable
from loopscope.records.salvage import salvage

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
AUTHOR = "a <a@b> 1700000000 +0000"


def plant(work: Work, kind: bytes, body: bytes, *, size: int | None = None) -> str:
    """Write a loose object whose id is right, whatever it holds."""
    content = b"%s %d\0" % (kind, len(body) if size is None else size) + body
    sha = hashlib.sha1(content).hexdigest()
    path = work.path / ".git/objects" / sha[:2] / sha[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(content))
    return sha


def commit_text(tree: str, author: str = AUTHOR, committer: str = AUTHOR, parents: str = "") -> bytes:
    return f"tree {tree}\n{parents}author {author}\ncommitter {committer}\n\nforged\n".encode()


BROKEN = {
    "no type": (b"garbage", b"x"),
    "false length": (b"blob", b"xyz"),
    "empty commit": (b"commit", b""),
    "commit without tree": (b"commit", f"author {AUTHOR}\ncommitter {AUTHOR}\n\nx".encode()),
    "commit with a bad tree": (b"commit", commit_text("zz")),
    "commit without author": (b"commit", f"tree {EMPTY_TREE}\ncommitter {AUTHOR}\n\nx".encode()),
    "commit without committer": (b"commit", f"tree {EMPTY_TREE}\nauthor {AUTHOR}\n\nx".encode()),
    "commit with a bad date": (b"commit", commit_text(EMPTY_TREE, "a <a@b> never +0000")),
    "tree of noise": (b"tree", b"\xff\x00garbage"),
    "tree cut short": (b"tree", b"100644 a\0" + b"x" * 7),
    "tag of nothing": (b"tag", b"hello"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_malformed_object_is_left_out(work, tmp_path, name):
    work.write("a.py", "0")
    sha = work.commit("base")
    kind, body = BROKEN[name]
    plant(work, kind, body, size=99 if name == "false length" else None)
    report = salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    history = read_history(Repository(tmp_path / "clean"))
    assert [c.sha for c in history.commits] == [sha]
    assert name == "tag of nothing" or report.notes


@pytest.mark.parametrize("date", ["99999999999999 +0000", "-5 +0000", "1700000000 +9999", "1700000000 -0000"])
def test_absurd_dates_are_no_reason_to_lose_a_commit(work, tmp_path, date):
    work.write("a.py", "0")
    base = work.commit("base")
    body = commit_text(EMPTY_TREE, f"a <a@b> {date}", f"a <a@b> {date}", f"parent {base}\n")
    plant(work, b"commit", body)
    salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    assert len(read_history(Repository(tmp_path / "clean")).commits) == 2


@pytest.mark.parametrize("ref", ["a~b", "[x", "a^b", "a:b", "a?b", "a*b", "-", "a.lock", "@"])
def test_names_that_are_no_refs_are_ignored(work, tmp_path, ref):
    work.write("a.py", "0")
    sha = work.commit("base")
    (work.path / ".git/refs/heads" / ref).write_text(sha + "\n")
    (work.path / ".git/logs/refs/heads" / ref).write_text("x")
    salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    assert len(read_history(Repository(tmp_path / "clean")).commits) == 1


def test_refs_that_loop_or_dangle_are_ignored(work, tmp_path):
    work.write("a.py", "0")
    work.commit("base")
    (work.path / ".git/refs/heads/loop").write_text("ref: refs/heads/loop\n")
    (work.path / ".git/refs/heads/gone").write_text("1" * 40 + "\n")
    (work.path / ".git/HEAD").write_text("ref: refs/heads/loop\n")
    salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    history = read_history(Repository(tmp_path / "clean"))
    assert len(history.commits) == 1
    assert history.head is None


def bomb(work: Work, depth: int) -> str:
    """A tree of 10 ** depth files in `depth` small objects."""
    blob = plant(work, b"blob", b"x")
    entries, mode = blob, b"100644"
    for _ in range(depth):
        body = b"".join(b"%s %d\0" % (mode, i) + bytes.fromhex(entries) for i in range(10))
        entries, mode = plant(work, b"tree", body), b"40000"
    return entries


def test_a_tree_bomb_is_bounded(work, tmp_path, monkeypatch):
    monkeypatch.setattr(room, "MAX_ENTRIES", 500)
    work.write("a.py", "0")
    base = work.commit("base")
    tree = bomb(work, 40)
    plant(work, b"commit", commit_text(tree, parents=f"parent {base}\n"))
    salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    repository = Repository(tmp_path / "clean")
    first, second = read_history(repository).commits
    for read in (
        lambda: list(repository.files(second.tree.encode())),
        lambda: repository.changed_paths(first.tree.encode(), second.tree.encode()),
        lambda: repository.diff(first.tree, second.tree),
        lambda: repository.write_state(second.tree.encode(), tmp_path / "s.tar", 0),
    ):
        with pytest.raises(TreeTooLarge, match="more than 500 entries"):
            read()
    assert repository.diff(second.tree, second.tree) == [], "equal trees are not entered"


def test_a_state_of_many_times_the_same_file_is_refused_before_it_fills_the_disk(work, tmp_path):
    work.write("a.py", "0")
    base = work.commit("base")
    blob = bytes.fromhex(plant(work, b"blob", bytes(1 << 20)))
    tree = plant(work, b"tree", b"".join(b"100644 %03d\0" % n + blob for n in range(100)))
    plant(work, b"commit", commit_text(tree, parents=f"parent {base}\n"))
    salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    repository = Repository(tmp_path / "clean")
    bomb = next(c for c in read_history(repository).commits if c.message == "forged\n")
    with pytest.raises(TreeTooLarge, match="more than 5000000 bytes"):
        repository.write_state(bomb.tree.encode(), tmp_path / "s.tar", 0, 5_000_000)
    assert (tmp_path / "s.tar").stat().st_size < 6_000_000


def test_messages_and_parents_without_end_are_cut_and_said(work, tmp_path, monkeypatch):
    """Thousands of commits of long messages would make a record that is too large to be read again."""
    work.write("a.py", "0")
    base = work.commit("base")
    for n in range(4):
        plant(work, b"commit", commit_text(EMPTY_TREE, f"a <a@b> {1_700_000_100 + n} +0000") + b"x" * 900)
    many = plant(work, b"commit", commit_text(EMPTY_TREE, parents=f"parent {base}\n" * 1000))
    monkeypatch.setattr(histories, "MAX_MESSAGES", 2000)
    salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    history = read_history(Repository(tmp_path / "clean"))
    assert len(history.commits) == 6
    assert sorted(len(c.message) for c in history.commits if c.message.startswith("forged\nx")) == [200, 200, 907, 907]
    assert {c.sha: len(c.parents) for c in history.commits}[many] == histories.MAX_PARENTS
    assert [note.split(";")[0] for note in history.notes] == [
        "2 messages are cut: all together they have more than 0 MiB",
        "1 commits name more than 64 parents",
    ]


def test_reflogs_and_packs_without_end_are_left_out(work, tmp_path, monkeypatch):
    work.write("a.py", "0")
    sha = work.commit("base")
    for n in range(30):
        for name in (f"refs/heads/b{n}", f"{n:04}"):  # what is no log's name stands before HEAD, and counts for nothing
            path = work.path / ".git/logs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
    monkeypatch.setattr(salvaging, "MAX_LOGS", 10)
    tar = tmp_path / "w.tar"
    with tarfile.open(tar, "w") as archive:  # in the order of names, as ours are
        for path in sorted(work.path.rglob("*")):
            archive.add(path, f"./{path.relative_to(work.path)}", recursive=False)
    salvage(tar, tmp_path / "clean")
    assert [c.sha for c in read_history(Repository(tmp_path / "clean")).commits] == [sha]
    kept = [path for path in (tmp_path / "clean/logs").rglob("*") if path.is_file()]
    assert len(kept) == 10 and tmp_path / "clean/logs/HEAD" in kept


def test_trees_deeper_than_any_project_are_refused(work, tmp_path):
    work.write("a.py", "0")
    work.commit("base")
    entries, mode = plant(work, b"blob", b"x"), b"100644"
    for _ in range(100):
        entries, mode = plant(work, b"tree", b"%s d\0" % mode + bytes.fromhex(entries)), b"40000"
    plant(work, b"commit", commit_text(entries))
    salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    repository = Repository(tmp_path / "clean")
    deep = next(c for c in read_history(repository).commits if c.message == "forged\n")
    with pytest.raises(TreeTooLarge, match="deeper"):
        list(repository.files(deep.tree.encode()))


def test_names_that_would_climb_out_of_a_tree_are_skipped(work, tmp_path):
    work.write("a.py", "0")
    work.commit("base")
    blob = bytes.fromhex(plant(work, b"blob", b"x"))
    names = (b"..", b".", b".git", b".GIT", b"a/b", b"ok")
    tree = plant(work, b"tree", b"".join(b"100644 %s\0" % n + blob for n in names))
    plant(work, b"commit", commit_text(tree))
    salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    repository = Repository(tmp_path / "clean")
    forged = [c for c in read_history(repository).commits if c.message == "forged\n"]
    for commit in forged:  # a reader may also refuse the whole tree
        assert {path for path, _ in repository.files(commit.tree.encode())} <= {b"ok"}


@pytest.mark.parametrize("lost", ["tree", "blob"])
def test_a_damaged_commit_is_never_taken_for_a_smaller_one(work, tmp_path, lost):
    work.write("src/a.py", "0")
    work.write("b.py", "1")
    work.commit("base")
    path = {"tree": "HEAD:src", "blob": "HEAD:src/a.py"}[lost]
    sha = work.git("rev-parse", path)
    (work.path / ".git/objects" / sha[:2] / sha[2:]).unlink()
    salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    repository = Repository(tmp_path / "clean")
    (commit,) = read_history(repository).commits
    with pytest.raises(TreeUnreadable, match="missing or damaged"):
        repository.write_state(commit.tree.encode(), tmp_path / "s.tar", 0)
