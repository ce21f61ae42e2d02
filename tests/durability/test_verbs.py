"""The other verbs are killed too: what they do is done again from the same records, with the same result."""

from __future__ import annotations

import hashlib
import random

import pytest
from killing_blows import Blow, engine_blow
from killing_course import Twin, finish, hold_against, verdicts

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

KIND = {"agents": 1, "seeds": 2, "environment": {"type": "local", "kwargs": {"storage": "tmpfs"}}}
MANY = 8
EVENTS = ("rename", "fsync", "open", "any", "mkdir", "unlink", "link")


def blows(seed, most=12, events=EVENTS):
    """Deaths of the engine at moments that short verbs reach."""
    rng = random.Random(seed)
    while True:
        when = rng.choice(["before", "after"])
        yield Blow("engine", rng.choice(events), rng.randint(1, most), when, cut=rng.random() < 0.5)


@pytest.fixture
def done(make_arena):
    """A study that ran to its end."""
    arena = make_arena(**KIND)
    start = arena.run()
    assert start.code == 0, start.text()
    return arena


def killed(arena, argv, seed, most=12, expected=(0, -9), points=MANY, before=lambda: None):
    """Kill a verb so many times; nothing that is finished is touched."""
    landed = 0
    for blow in blows(seed, most):
        before()
        start = arena.start(*argv, blow=blow)
        assert start.code in expected, start.text()
        arena.check(start)
        landed += start.code == -9
        if landed == points:
            return


def test_analyze_killed_at_any_moment_gives_the_same_tables(done):
    before = done.tables()
    # Tables that are whole and of the same records are kept, and nothing is written that could be cut short.
    made_from = done.study / "tables/made_from.json"
    killed(done, ["analyze", str(done.study)], 1, before=lambda: made_from.unlink(missing_ok=True))
    assert done.tables() == before
    assert done.run().code == 0
    assert not done.leftovers()


def test_report_killed_at_any_moment_gives_the_same_site(done):
    done.tables()
    site = done.study / "report"

    def pages():
        start = done.start("report", str(done.study))
        assert start.code == 0, start.text()
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in site.rglob("*") if path.is_file()}

    before = pages()
    killed(done, ["report", str(done.study)], 2, most=4, points=2)  # each start loads what draws charts
    assert pages() == before
    assert done.run().code == 0
    assert not done.leftovers()


def test_score_killed_at_any_moment_scores_each_state_once(make_arena, twins):
    arena = make_arena(**KIND)
    assert arena.run(None, "--no-score").code == 0
    rng = random.Random(3)
    for _ in range(MANY):
        start = arena.start("score", str(arena.study), blow=engine_blow(rng))
        assert start.code in (0, -9), start.text()
        arena.check(start)
    finish(arena)
    hold_against(arena, twins(**KIND))


def test_runs_are_retired_and_taken_back_whole(done, twins):
    """Moves to `retired/` and back are cut short; each time every run is in one place, whole."""
    twin: Twin = twins(**KIND)
    everything = done.finished
    for number, blow in zip(range(MANY), blows(4, 6, ("rename", "fsync", "mkdir", "any")), strict=False):
        done.edit(seeds=1 + number % 2)
        start = done.start("run", str(done.file), "--out", str(done.study), "--retire", blow=blow)
        assert start.code in (0, -9), start.text()
        found = [path.name.split("__")[2] for path in (*runs(done, "runs"), *runs(done, "retired"))]
        assert sorted(found) == ["s1", "s2"], start.text()
    done.edit(seeds=2)
    done.finished = type(everything)()
    assert done.run(None, "--retire").code == 0
    assert done.finished == everything
    assert verdicts(done) == twin.scores
    hold_against(done, twin)


def runs(arena, place):
    return [path for path in (arena.study / place).glob("*__s*") if not path.name.startswith(".tmp-")]


def test_export_killed_at_any_moment_leaves_a_whole_archive_or_none(done):
    archive = done.home / "fs" / "study" / "a.loopscope.tar.zst"
    argv = ["study", "export", str(done.study), "--out", str(archive)]
    landed = 0
    for blow in blows(5, 5, ("rename", "fsync", "open", "any")):
        start = done.start(*argv, blow=blow)
        assert start.code in (0, -9), start.text()
        if archive.exists():
            into = done.home / f"copy{done.tally.starts}"
            back = done.start("study", "import", str(archive), "--into", str(into))
            assert back.code == 0, f"{back.text()}\nafter {start.text()}"
            archive.unlink()
        landed += start.code == -9
        if landed == MANY:
            break
    done.check(start)
    assert done.run().code == 0
    assert not done.leftovers()


def test_import_killed_at_any_moment_is_done_again(done):
    archive = done.home / "a.loopscope.tar.zst"
    assert done.start("study", "export", str(done.study), "--out", str(archive)).code == 0
    into = done.home / "fs" / "copy"
    argv = ["study", "import", str(archive), "--into", str(into)]
    landed = 0
    for blow in blows(6, 8, ("rename", "fsync", "open", "any", "mkdir")):
        start = done.start(*argv, blow=blow, study=into)
        landed += start.code == -9
        again = done.start(*argv, study=into)
        told = "is not empty" in again.err or "exists" in again.err  # it had come to its end
        assert again.code == 0 or (again.code == 2 and told), f"{again.text()}\nafter {start.text()}"
        verified = done.start("study", "verify", str(into), study=into)
        assert verified.code == 0, verified.text()
        for path in (done.home / "fs").glob("*copy*"):
            done.server.call("killing_ledger:remove", path)
        if landed == MANY:
            return


def test_gc_killed_at_any_moment_removes_nothing_else(done):
    killed(done, ["study", "gc", str(done.study), "--yes"], 7, 3, points=3)
    assert done.run().code == 0
    assert done.start("study", "verify", str(done.study)).code == 0
