"""What an agent may leave in .git, and what comes through."""

from __future__ import annotations

import subprocess
import tarfile
import zlib

from loopscope.records import salvage as room
from loopscope.records.history import read_history
from loopscope.records.repository import Repository
from loopscope.records.salvage import salvage


def test_nothing_that_acts_is_copied(work, tmp_path):
    work.write("a.py", "0")
    work.commit("base")
    ran = tmp_path / "ran"
    (work.path / ".git/hooks/post-checkout").write_text(f"#!/bin/sh\ntouch {ran}\n")
    work.git("config", "core.fsmonitor", f"touch {ran}")
    work.git("config", "filter.x.smudge", f"touch {ran}; cat")
    work.write(".gitattributes", "* filter=x\n")
    (work.path / ".git/objects/info/alternates").write_text("/etc\n")
    (work.path / ".git/commondir").write_text("/etc\n")
    target = tmp_path / "clean"
    salvage(work.tar(tmp_path / "w.tar"), target)
    names = {str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()}
    assert not {n for n in names if n.startswith(("hooks", "info", "objects/info", "commondir"))}
    assert "fsmonitor" not in (target / "config").read_text()
    assert len(read_history(Repository(target)).commits) == 1
    assert not ran.exists()


def test_host_git_can_read_the_result(work, tmp_path):
    work.write("a.py", "0")
    sha = work.commit("base")
    work.git("tag", "v1")
    target = tmp_path / "clean"
    salvage(work.tar(tmp_path / "w.tar"), target)
    shown = subprocess.run(["git", "-C", target, "rev-parse", "v1", "HEAD"], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == [sha, sha]
    subprocess.run(["git", "-C", target, "fsck", "--strict"], check=True, capture_output=True)


def test_all_refs_and_reflogs_come_through(work, tmp_path):
    work.write("a.py", "0")
    base = work.commit("base")
    work.git("checkout", "-q", "-b", "side/idea")
    work.write("a.py", "1")
    side = work.commit("aside")
    work.write("a.py", "2")
    work.git("stash", "-q")
    stash = work.git("rev-parse", "refs/stash")
    work.git("pack-refs", "--all")
    target = tmp_path / "clean"
    salvage(work.tar(tmp_path / "w.tar"), target)
    shown = subprocess.run(
        ["git", "-C", target, "for-each-ref", "--format=%(refname) %(objectname)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert dict(line.split() for line in shown.stdout.splitlines()) == {
        "refs/heads/main": base,
        "refs/heads/side/idea": side,
        "refs/stash": stash,
    }
    assert {str(p.relative_to(target)) for p in (target / "logs").rglob("*") if p.is_file()} == {
        "logs/HEAD",
        "logs/refs/heads/main",
        "logs/refs/heads/side/idea",
        "logs/refs/stash",
    }


def test_a_pointer_file_or_link_is_not_followed(work, tmp_path):
    other = tmp_path / "other"
    (work.path / ".git").rename(other)
    for make in (lambda p: p.write_text(f"gitdir: {other}\n"), lambda p: p.symlink_to(other)):
        make(work.path / ".git")
        report = salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
        assert not report.found
        assert "not followed" in report.notes[0]
        (work.path / ".git").unlink()


def test_a_bomb_and_a_liar_cost_only_themselves(work, tmp_path, monkeypatch):
    monkeypatch.setattr(room, "MAX_OBJECT", 1 << 20)
    work.write("a.py", "0")
    work.commit("base")
    objects = work.path / ".git/objects"
    for name, content in (("11" * 20, b"blob 9000000\0" + bytes(9_000_000)), ("22" * 20, b"blob 1\0x")):
        (objects / name[:2]).mkdir(exist_ok=True)
        (objects / name[:2] / name[2:]).write_bytes(zlib.compress(content))
    report = salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    assert len(report.notes) == 2
    assert "larger than" in report.notes[0] + report.notes[1]
    assert "does not match" in report.notes[0] + report.notes[1]
    assert len(read_history(Repository(tmp_path / "clean")).commits) == 1


def test_a_packed_bomb_is_left_out(work, tmp_path, monkeypatch):
    work.write("big.txt", "0" * 3_000_000)
    work.commit("base")
    work.git("gc", "-q")
    monkeypatch.setattr(room, "MAX_OBJECT", 1 << 20)
    report = salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    assert "pack left out" in report.notes[0]


def test_what_there_is_too_much_of_is_told_first(work, tmp_path, monkeypatch):
    """A worse commit may be named by the one reflog, or lie in the one pack, that is not read."""
    for name, most in (("MAX_LOGS", 3), ("MAX_PACKS", 1), ("MAX_LOG", 1 << 20), ("MAX_PACK", 1 << 21)):
        monkeypatch.setattr(room, name, most)
    for number in range(2):
        work.write("a.py", str(number))
        work.commit(f"commit {number}")
        work.git("repack", "-q", "-d")
    dot = work.path / ".git"
    for number in range(5):
        (dot / f"logs/refs/heads/{number}").write_bytes((dot / "logs/HEAD").read_bytes())
    (dot / "logs/refs/heads/huge").write_bytes(bytes((1 << 20) + 1))
    (dot / "packed-refs").write_bytes(b"#" * ((1 << 20) + 1))
    (dot / "objects/11").mkdir(exist_ok=True)
    (dot / "objects/11" / ("22" * 19)).write_bytes(bytes((2 << 20) + 1))
    (dot / "objects/11" / ("33" * 19)).write_bytes(b"damaged")
    report = salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    assert {note.partition(" left out")[0] for note in report.notes[:-1]} == {
        "4 reflogs beyond the first 3",
        "1 reflogs of more than 1 MiB",
        "1 packs beyond the first 1",
        "1 lists of refs of more than 1 MiB",
        "1 objects of more than 2 MiB",
    }
    assert report.notes[-1].startswith(f"object 11{'33' * 19} left out: ")
    assert len(list((tmp_path / "clean/logs").rglob("*"))) >= 3
    assert len(list((tmp_path / "clean/objects/pack").glob("*.pack"))) >= 1


def test_a_forged_index_is_not_used(work, tmp_path):
    work.write("a.py", "0")
    work.commit("base")
    work.git("gc", "-q")
    (idx,) = (work.path / ".git/objects/pack").glob("*.idx")
    idx.chmod(0o644)
    idx.write_bytes(b"garbage")
    report = salvage(work.tar(tmp_path / "w.tar"), tmp_path / "clean")
    assert report.notes == []
    assert len(read_history(Repository(tmp_path / "clean")).commits) == 1


def test_names_that_climb_out_are_ignored(tmp_path):
    path = tmp_path / "w.tar"
    with tarfile.open(path, "w") as tar:
        for name in ("./.git/HEAD", "../../outside", "./.git/refs/../../../escape", "./.git/refs/heads/a..b"):
            tar.addfile(tarfile.TarInfo(name))
    report = salvage(path, tmp_path / "clean")
    assert report.found
    assert {p.name for p in tmp_path.iterdir()} == {"w.tar", "clean"}
    assert (tmp_path / "clean/packed-refs").read_bytes() == b"# pack-refs with: sorted\n"
