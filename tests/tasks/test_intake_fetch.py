"""A source is a directory or a git repository that is anybody's: read without git, within bounds, or refused in a line."""

from __future__ import annotations

import contextlib
import stat
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo
from make_task import make_task

from loopscope.tasks import TaskError
from loopscope.tasks.intake import clone, find_tasks, opened
from loopscope.tasks.intake.fetch import without_password

FILE, PROGRAM, LINK, FOLDER, MODULE = 0o100644, 0o100755, 0o120000, stat.S_IFDIR, 0o160000


def add_tree(repo: Repo, folder: Path) -> Tree:
    tree = Tree()
    for path in sorted(folder.iterdir()):
        content = add_tree(repo, path) if path.is_dir() else Blob.from_string(path.read_bytes())
        repo.object_store.add_object(content)
        mode = FOLDER if path.is_dir() else PROGRAM if path.stat().st_mode & 0o100 else FILE
        tree.add(path.name.encode(), mode, content.id)
    repo.object_store.add_object(tree)
    return tree


def commit(repo: Repo, tree: Tree) -> ObjectID:
    repo.object_store.add_object(tree)
    made = Commit()
    made.tree = tree.id
    made.author = made.committer = b"a <a@b>"
    made.author_time = made.commit_time = 0
    made.author_timezone = made.commit_timezone = 0
    made.message = b"m"
    repo.object_store.add_object(made)
    repo.refs[Ref(b"refs/heads/master")] = made.id
    return made.id


def bare(path: Path) -> Repo:
    path.mkdir()
    return Repo.init_bare(str(path))


def lie(repo: Repo, entries: Iterable[tuple[bytes, int, bytes]]) -> ObjectID:
    """A commit whose tree was written by hand, however absurd."""
    raw = b"".join(b"%o %s\0%s" % (mode, name, bytes.fromhex(sha.decode())) for name, mode, sha in entries)
    tree = Tree.from_raw_string(Tree.type_num, raw)
    assert isinstance(tree, Tree)
    return commit(repo, tree)


@pytest.mark.parametrize("form", ["path", "url"])
def test_a_repository_is_read_without_git(tmp_path: Path, form: str) -> None:
    make_task(tmp_path / "tree/tasks/one")
    with bare(tmp_path / "repo.git") as repo:
        head = commit(repo, add_tree(repo, tmp_path / "tree"))
    written = str(tmp_path / "repo.git") if form == "path" else (tmp_path / "repo.git").as_uri()
    with opened(written, tmp_path) as source:
        (found,) = find_tasks(source.directory)
        assert (found / "task.toml").read_bytes() == (tmp_path / "tree/tasks/one/task.toml").read_bytes()
        assert (found / "tests/test.sh").stat().st_mode & 0o111
        assert (source.commit, source.origin) == (head.decode(), written)
    assert not list(tmp_path.glob(".tmp-*"))


def test_a_directory_is_taken_as_it_is(tmp_path: Path) -> None:
    make_task(tmp_path / "größer ☃/one")
    with opened(str(tmp_path / "größer ☃"), tmp_path) as source:
        assert (source.directory, source.commit) == (tmp_path / "größer ☃", None)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("/nowhere/at all", "there is no such directory"),
        ("/etc/passwd", "is not a directory"),
        ("ssh://git@example.org/x", "cannot be fetched over ssh"),
        ("git@example.org:a/b", "cannot be fetched over ssh"),
        ("ext::sh -c true://x", "there is no such directory"),
        ("ftp://example.org/x", "cannot be fetched over ftp"),
        ("file:///nowhere/repo.git", "cannot be read as a git repository"),
        ("http://127.0.0.1:9/x.git", "cannot be read as a git repository"),
    ],
)
def test_what_cannot_be_had_is_said_in_one_line(tmp_path: Path, written: str, said: str) -> None:
    with pytest.raises(TaskError, match=said) as caught, opened(written, tmp_path):
        pass
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_passwords_are_not_kept(tmp_path: Path) -> None:
    assert without_password("https://me:secret@example.org/a.git?token=x#y") == "https://example.org/a.git"
    with pytest.raises(TaskError) as caught, opened("http://me:secret@127.0.0.1:9/x.git", tmp_path):
        pass
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", [b"..", b".", b".git", b".GIT", b"a/b"])
def test_names_that_leave_the_directory_are_refused(tmp_path: Path, name: bytes) -> None:
    with bare(tmp_path / "repo.git") as repo:
        blob = Blob.from_string(b"x")
        repo.object_store.add_object(blob)
        head = lie(repo, [(name, FILE, blob.id)])
        with pytest.raises(ValueError, match="a file is called"):
            clone.lay_out(repo, head, tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    with bare(tmp_path / "repo.git") as repo:
        link, blob = Blob.from_string(str(tmp_path / "outside").encode()), Blob.from_string(b"x")
        inner = Tree()
        inner.add(b"file", FILE, blob.id)
        for made in (link, blob, inner):
            repo.object_store.add_object(made)
        head = lie(repo, [(b"a", LINK, link.id), (b"a", FOLDER, inner.id)])
        with contextlib.suppress(FileExistsError):  # or one of the two entries is all that is seen
            clone.lay_out(repo, head, tmp_path / "out")
        head = lie(repo, [(b"a", LINK, link.id), (b"a", FILE, blob.id)])
        with contextlib.suppress(FileExistsError):
            clone.lay_out(repo, head, tmp_path / "again")
    assert not list((tmp_path / "outside").iterdir())


def test_submodules_are_left_out_and_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bare(tmp_path / "repo.git") as repo:
        blob = Blob.from_string(b"x" * 100)
        repo.object_store.add_object(blob)
        head = lie(repo, [(b"a", FILE, blob.id), (b"b", FILE, blob.id), (b"sub", MODULE, b"1" * 40)])
        clone.lay_out(repo, head, tmp_path / "out")
        assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a", "b"]
        monkeypatch.setattr(clone, "MOST_BYTES", 150)
        with pytest.raises(clone.TooMuch, match="more than"):
            clone.lay_out(repo, head, tmp_path / "bytes")
        monkeypatch.setattr(clone, "MOST_FILES", 1)
        with pytest.raises(clone.TooMuch, match="more than 1 files"):
            clone.lay_out(repo, head, tmp_path / "files")


@pytest.mark.slow
def test_a_blob_that_inflates_without_end_costs_the_reader_alone(tmp_path: Path) -> None:
    with bare(tmp_path / "repo.git") as repo:
        blob = Blob.from_string(bytes(400 << 20))
        repo.object_store.add_object(blob)
        lie(repo, [(b"zeros", FILE, blob.id)])
    (tmp_path / "folder").mkdir()
    program = "from loopscope.tasks.intake import clone; clone.MOST_MEMORY = 450 << 20; clone.main()"
    argv = [sys.executable, "-I", "-c", program, str(tmp_path / "repo.git"), str(tmp_path / "folder")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0 and "Traceback" not in done.stderr
