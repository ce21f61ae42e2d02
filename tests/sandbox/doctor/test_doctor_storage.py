from __future__ import annotations

import os
from pathlib import Path

import pytest
from made_root import made

from loopscope.sandbox.doctor import Finding, Machine, State
from loopscope.sandbox.doctor.storage import Place, file_system, look_cache, place_check, study_place

MOUNTS = (
    "1 0 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
    "2 1 0:40 / /srv/data rw,noexec - nfs4 server:/x rw,vers=4.2\n"
    "3 1 0:41 / /srv/data\\040two rw - tmpfs none rw,size=1k\n"
    "4 1 0:42 / /srv rw - xfs /dev/sdb1 rw\n"
)


def rows(machine: Machine, place: Place) -> dict[str, Finding]:
    return {row.name: row for row in place_check(place).look(machine)}


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/srv/data/a/b", "nfs4"), ("/srv/data two/x", "tmpfs"), ("/srv/other", "xfs"), ("/home", "ext4")],
)
def test_the_mount_that_holds_a_path(tmp_path: Path, path: str, kind: str) -> None:
    machine = made(tmp_path, {"/proc/self/mountinfo": MOUNTS})
    assert file_system(machine, Path(path))[0] == kind
    assert ("noexec" in file_system(machine, Path(path))[1]) is (kind == "nfs4")


def test_a_real_place_is_tried(tmp_path: Path) -> None:
    (row,) = rows(Machine(), Place("study's place", tmp_path, 0, "results", keeps_results=True)).values()
    assert row.state is State.OK and str(tmp_path) in row.fact and "GiB free" in row.fact
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


def test_a_place_that_is_not_there_yet_is_judged_by_its_parent(tmp_path: Path) -> None:
    found = rows(Machine(), study_place(tmp_path / "not" / "yet"))
    assert str(tmp_path) in found["study's place"].fact and not (tmp_path / "not").exists()


def test_a_place_that_cannot_be_written() -> None:
    (row,) = rows(Machine(), study_place(Path("/proc/self"))).values()
    assert row.prevents and "--out" in row.commands[0]


def test_little_room_is_weak_and_none_prevents(tmp_path: Path) -> None:
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    for wanted, state in ((free * 50, State.WEAK), (free * 1000, State.MISSING)):
        row = rows(Machine(), Place("study's place", tmp_path, wanted, "results"))["study's place"]
        assert row.state is state and row.cost and "make room" in row.remedy


def test_network_and_memory_are_named(tmp_path: Path) -> None:
    for kind, word in (("nfs4", "over a network"), ("9p", "shared by the host"), ("tmpfs", "memory")):
        machine = made(tmp_path, {"/proc/self/mountinfo": f"1 0 8:1 / / rw - {kind} x rw\n"})
        row = rows(machine, study_place(tmp_path))["study's place: file system"]
        assert row.state is State.WEAK and word in row.fact


def test_a_cache_without_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPSCOPE_CACHE", str(tmp_path / "cache"))
    machine = made(tmp_path, {"/proc/self/mountinfo": "1 0 8:1 / / rw,noexec - ext4 x rw\n"})
    found = {row.name: row for row in look_cache(machine)}
    assert found["cache: programs"].commands == ("export LOOPSCOPE_CACHE=/path/to/a/directory",)
