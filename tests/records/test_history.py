"""Order, origin and replacement of commits, on repositories made with real git."""

from __future__ import annotations

import shutil

from loopscope.models import CommitOrigin
from loopscope.records.history import read_history


def subjects(history):
    return [c.subject for c in history.commits]


def test_a_plain_line_of_commits_comes_in_order(work, salvaged):
    for n in range(5):
        work.write("a.py", str(n))
        work.commit(f"round {n}")
    history = read_history(salvaged(work))
    assert subjects(history) == [f"round {n}" for n in range(5)]
    assert {c.origin for c in history.commits} == {CommitOrigin.HEAD}
    assert not history.rewritten
    assert history.head == history.commits[-1].sha


def test_a_reset_loses_no_commit_and_keeps_its_place(work, salvaged):
    work.write("a.py", "0")
    base = work.commit("base")
    work.write("a.py", "bad")
    work.commit("bad idea")
    work.git("reset", "-q", "--hard", base)
    work.write("a.py", "good")
    work.commit("good idea")
    history = read_history(salvaged(work))
    assert subjects(history) == ["base", "bad idea", "good idea"]
    assert history.rewritten
    assert history.commits[1].origin is CommitOrigin.REFLOG


def test_commits_survive_deleted_logs_and_packing(work, salvaged):
    work.write("a.py", "0")
    base = work.commit("base")
    work.write("a.py", "bad")
    work.commit("bad idea")
    work.git("reset", "-q", "--hard", base)
    work.write("a.py", "good")
    work.commit("good idea")
    work.git("gc", "-q")
    shutil.rmtree(work.path / ".git" / "logs")
    history = read_history(salvaged(work))
    assert subjects(history) == ["base", "bad idea", "good idea"]
    assert history.commits[1].origin is CommitOrigin.DANGLING


def test_an_amended_commit_counts_once_the_last(work, salvaged):
    work.write("a.py", "0")
    work.commit("base")
    work.write("a.py", "1")
    first = work.commit("try")
    work.write("a.py", "2")
    second = work.commit("try, amended", "--amend")
    history = read_history(salvaged(work))
    replaced = {c.sha: c.superseded_by for c in history.commits}
    assert replaced[first] == second
    assert replaced[second] is None


def test_an_amend_is_known_without_a_reflog(work, salvaged):
    work.write("a.py", "0")
    work.commit("base")
    work.write("a.py", "1")
    first = work.commit("try")
    work.write("a.py", "2")
    second = work.commit("try, amended", "--amend")
    shutil.rmtree(work.path / ".git" / "logs")
    history = read_history(salvaged(work))
    assert {c.sha: c.superseded_by for c in history.commits}[first] == second


def test_an_initial_commit_made_again_counts_once(work, salvaged):
    work.write("a.py", "0")
    first = work.commit("initial")
    work.git("checkout", "-q", "--orphan", "again")
    second = work.commit("initial again")
    history = read_history(salvaged(work))
    assert {c.sha: c.superseded_by for c in history.commits} == {first: second, second: None}


def test_bookkeeping_does_not_change_the_scored_tree(work, salvaged):
    work.write("a.py", "0")
    work.commit("base")
    work.write("output/journal.md", "thoughts")
    work.write(".gitignore", "*.o\n")
    work.commit("journal")
    work.write("output/best.txt", "x")
    work.commit("artifact")
    base, journal, artifact = read_history(salvaged(work)).commits
    assert base.scored_tree == journal.scored_tree != artifact.scored_tree
    assert base.tree != journal.tree


def test_hostile_messages_and_names_are_data(work, salvaged):
    work.write("a\nb.py", "0")
    (work.path / "caf\udce9.py").write_text("latin name")
    sha = work.commit("\x1b[31m<script>alert(1)</script>\n\nbody \u202e")
    repository = salvaged(work)
    (commit,) = read_history(repository).commits
    assert commit.sha == sha
    assert commit.subject.startswith("\x1b[31m<script>")
    assert {d.path for d in repository.diff(None, commit.tree)} == {"a\nb.py", "caf\ufffd.py"}


def test_an_empty_repository_has_no_commits(work, salvaged):
    history = read_history(salvaged(work))
    assert history.commits == ()
    assert history.head is None
