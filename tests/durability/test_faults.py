"""The machine fails instead of dying: the disk is full or read-only, reading fails, no descriptor is left, two start."""

from __future__ import annotations

import errno
import random

import pytest
from killing_blows import Blow
from killing_course import finish, hold_against

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

KIND = {"agents": 1, "seeds": 2, "environment": {"type": "local", "kwargs": {"storage": "tmpfs"}}}


def stopped_clearly(start, *words, codes=(1,)):
    """A fault of the machine ends a start and says in one line what is wrong (2: a unit was not begun for want of room)."""
    assert start.code in codes, start.text()
    errors = [line for line in start.err.splitlines() if line.startswith("error: ")]
    assert errors or "failed: the environment" in start.err or "without a score" in start.err, start.text()
    assert all(any(word in line for word in words) for line in errors), start.text()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def test_a_fault_while_writing_stops_the_study_and_the_same_command_goes_on(make_arena, twins, number, seed):
    arena = make_arena(**KIND)
    rng = random.Random(1000 * number + seed)
    for _ in range(4):
        event = rng.choice(["open", "fsync", "rename", "any"])
        blow = Blow("error", event, rng.randint(1, 30), "before", errno=number, sticky=rng.random() < 0.7)
        start = arena.run(blow)
        if start.struck and start.code != 0:
            stopped_clearly(start, "space", "Input/output", "quota", "Read-only")
    finish(arena)
    hold_against(arena, twins(**KIND))


@pytest.mark.parametrize("k", [1, 4, 12])
def test_no_descriptor_left_stops_the_study_and_the_same_command_goes_on(make_arena, twins, k):
    arena = make_arena(**KIND)
    start = arena.run(Blow("files", "command", k, "after"))
    if start.code != 0:
        stopped_clearly(start, "open files")
    finish(arena)
    hold_against(arena, twins(**KIND))


@pytest.fixture
def disk(make_arena, server):
    """A study on a file system of its own, of so many KiB and inodes."""
    arena = make_arena(**KIND)
    arena.start("--version")

    def mount(kib, read_only=False, inodes=1 << 20):
        where = str(arena.home / "fs")
        answer = server.ask("mount", path=where, size=kib << 10, inodes=inodes, read_only=read_only)
        if "error" in answer:
            pytest.skip(f"no file system can be mounted here: {answer['error']}")

    arena.mount = mount
    yield arena
    server.ask("unmount", path=str(arena.home / "fs"))


@pytest.mark.parametrize(("event", "k"), [("agent", 3), ("rename", 8), ("open", 20), ("verifier", 2)])
def test_a_disk_that_fills_up_stops_the_study_and_room_lets_it_go_on(disk, twins, event, k):
    """Somebody else fills the disk while the engine is at work; it had room when it began."""
    disk.mount(ROOM)
    paused = disk.run(Blow("pause", event, k, "after"))
    assert paused.stopped
    disk.mount(filled(disk))
    start = disk.go_on(paused)
    stopped_clearly(start, "No space left", "make room")
    disk.check(start)
    disk.mount(ROOM)
    finish(disk)
    hold_against(disk, twins(**KIND))


@pytest.mark.parametrize(("event", "k"), [("agent", 3), ("open", 20), ("verifier", 2)])
def test_a_disk_without_inodes_is_met_like_a_full_one(disk, twins, event, k):
    disk.mount(ROOM)
    paused = disk.run(Blow("pause", event, k, "after"))
    assert paused.stopped
    disk.mount(ROOM, inodes=disk.server.call("killing_ledger:inodes", disk.home / "fs") + 1)
    start = disk.go_on(paused)
    stopped_clearly(start, "No space left", "make room")
    disk.check(start)
    disk.mount(ROOM)
    finish(disk)
    hold_against(disk, twins(**KIND))


def test_a_disk_too_small_for_a_run_is_refused_before_it_begins(disk, twins):
    disk.mount(100 << 10)
    start = disk.run()
    assert (start.code, start.began("agent")) == (1, 0), start.text()
    assert "make room" in start.err
    disk.mount(ROOM)
    finish(disk)
    hold_against(disk, twins(**KIND))


ROOM = 8 << 20
"""KiB; nothing is taken of the memory until it is written."""


def filled(disk):
    """A size at which next to nothing is free."""
    return (disk.server.call("killing_ledger:used", disk.home / "fs") >> 10) + 8


def test_a_full_disk_stops_analysis_with_the_earlier_tables_whole(disk):
    disk.mount(ROOM)
    assert disk.run().code == 0
    before = disk.tables()
    disk.server.call("killing_ledger:forget_tables", disk.study)
    disk.mount(filled(disk))
    full = disk.start("analyze", str(disk.study))
    stopped_clearly(full, "No space left")
    disk.check(full)
    disk.mount(ROOM)
    assert disk.tables() == before


def test_a_read_only_study_is_refused_in_one_line_and_can_still_be_read(disk, twins):
    disk.mount(ROOM)
    assert disk.run(Blow("engine", "verifier", 2, "after")).code == -9
    disk.mount(ROOM, read_only=True)
    for argv in (["run", str(disk.file), "--out", str(disk.study)], ["score", str(disk.study)]):
        start = disk.start(*argv)
        stopped_clearly(start, "Read-only")
        disk.check(start)
    disk.mount(ROOM)
    finish(disk)
    hold_against(disk, twins(**KIND))


def test_two_engines_on_one_study_are_refused_and_the_first_is_unharmed(make_arena, twins):
    arena = make_arena(**KIND)
    first = arena.run(Blow("pause", "verifier", 2, "after"))
    assert first.stopped
    study = str(arena.study)
    for argv in (
        ["run", str(arena.file), "--out", study],
        ["score", study],
        ["study", "gc", study, "--yes"],
    ):
        second = arena.start(*argv)
        assert second.code == 2, second.text()
        assert "another loopscope is running this study" in second.err
        assert len(second.err.splitlines()) == 1, second.text()
    assert arena.go_on(first).code == 0
    arena.finished = arena.look()
    hold_against(arena, twins(**KIND))


def test_a_study_whose_engine_stood_still_and_was_killed_is_free_again(make_arena, twins):
    arena = make_arena(**KIND)
    first = arena.run(Blow("pause", "rename", 9, "before"))
    assert first.stopped
    assert arena.go_on(first, kill=True).code == -9
    finish(arena)
    hold_against(arena, twins(**KIND))
