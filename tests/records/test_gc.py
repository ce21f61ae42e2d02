"""`collect_garbage`: what it may take, what it never takes, and that nobody takes it for lost afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from whole_study import ODD, snapshot, whole_study

from loopscope.analysis.build import analyze
from loopscope.models import Part, RunRecord, RunStatus
from loopscope.records import RecordError, StudyError, StudyStore, read_model, write_model
from loopscope.records import gc as gc_module
from loopscope.records.gc import Collected, Garbage, collect_garbage
from loopscope.records.manifest import removed_parts, write_manifest
from loopscope.records.verify import verify_study
from loopscope.tasks.copying import tree_hash

RUN = "runs/t__a__s1"
LEFT = (".tmp-1", "runs/.tmp-2", f"{RUN}/.tmp-3", f"{RUN}/scores/.tmp-4", "tasks/.tmp-5", "retired/.tmp-6")
ALL = tuple(Garbage)


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("master") / "study"
    whole_study(path)
    shutil.copytree(path / RUN, path / "retired/t__a__s1__01234567")
    shutil.copytree(path / "tasks/t", path / "retired/tasks/t__01234567/prepared", symlinks=True)
    shutil.copy(path / "tasks/t.json", path / "retired/tasks/t__01234567/task.json")
    for place in LEFT:
        (path / place).mkdir()
        (path / place / "f").write_text("half")
    return path


@pytest.fixture
def study(master: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(master, tmp_path / "study", symlinks=True))


def collect(study: Path, *asked: Garbage, remove: bool = True) -> Collected:
    return collect_garbage(StudyStore(study), asked, remove=remove)


def places(found: Collected) -> set[str]:
    return {item.place for item in found.items}


def is_whole(study: Path) -> bool:
    return verify_study(StudyStore(study), tree_hash).whole


def test_without_being_told_nothing_is_touched(study):
    before = snapshot(study)
    found = collect(study, *ALL, remove=False)
    assert snapshot(study) == before
    assert not found.removed
    assert found.bytes == sum(item.bytes for item in found.items) > 0


def test_a_run_that_stepped_aside_is_no_leftover(study):
    run = study / "runs/t__a__s1"
    run.rename(study / "runs/.tmp-old-abc123-t__a__s1")
    found = collect(study)
    assert not [place for place in places(found) if "old" in place]
    assert "t__a__s1 again" in found.kept[0]
    check = verify_study(StudyStore(study), tree_hash)
    assert any("stepped aside" in str(finding) for finding in check.findings)
    assert StudyStore(study).sweep() == []
    assert (run / "record.json").is_file() and is_whole(study)


def test_leftovers_go_and_nothing_else(study):
    before = snapshot(study)
    found = collect(study)
    assert places(found) == set(LEFT)
    assert found.bytes == 4 * len(LEFT)
    after = snapshot(study)
    gone = before.keys() - after.keys()
    assert all(name.startswith(LEFT) for name in gone)
    assert {name: before[name] for name in after} == after


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (Garbage.RETIRED, {"retired/t__a__s1__01234567", "retired/tasks/t__01234567"}),
        (Garbage.ATTEMPTS, {f"{RUN}/attempts", "retired/t__a__s1__01234567/attempts"}),
        (Garbage.WORKSPACES, {f"{RUN}/workspace.tar.zst", "runs/t__b__s1/workspace.tar.zst"}),
        (
            Garbage.NATIVE,
            {f"{RUN}/native", f"{RUN}/attempts/1/native", "runs/t__b__s1/native", "retired/t__a__s1__01234567/native",
             "retired/t__a__s1__01234567/attempts/1/native"},
        ),
    ],
)  # fmt: skip
def test_what_was_asked_for_goes_and_the_study_stays_whole(study, asked, expected):
    analyze(study)
    tables = snapshot(study / "tables")
    found = collect(study, asked)
    assert places(found) == expected | set(LEFT)
    assert not [place for place in expected if (study / place).exists()]
    assert is_whole(study)
    analyze(study)
    assert snapshot(study / "tables") == tables
    assert not collect(study, asked, remove=False).items, "a second time there is nothing left to take"


def test_records_and_scores_of_the_study_s_runs_stay(study):
    kept = {
        name: what for name, what in snapshot(study / "runs").items() if name.endswith((".json", "transcript.json"))
    }
    collect(study, *ALL)
    after = snapshot(study / "runs")
    mine = {n: w for n, w in kept.items() if "/attempts/" not in n and "/native/" not in n}
    assert {name: after.get(name) for name in mine} == mine
    assert removed_parts(study / RUN) == {Part.ATTEMPTS, Part.NATIVE, Part.WORKSPACE}


def test_what_is_lost_afterwards_is_still_told_from_what_went(study):
    collect(study, Garbage.NATIVE)
    shutil.rmtree(study / "runs/t__b__s1/harbor")
    (finding,) = verify_study(StudyStore(study), tree_hash).findings
    assert finding.place == "runs/t__b__s1/harbor/result.json"


def test_workspaces_of_runs_that_changed_places_are_kept(study):
    first, second = study / RUN, study / "runs/t__b__s1"
    first.rename(study / "runs/x")
    second.rename(first)
    (study / "runs/x").rename(second)
    found = collect(study, Garbage.WORKSPACES)
    assert {item.garbage for item in found.items} == {Garbage.LEFTOVERS} and (first / "workspace.tar.zst").is_file()
    assert [line for line in found.kept if "is not its own: the record beside it is that of t__b__s1" in line]


def test_a_workspace_is_kept_while_a_state_wants_it(study):
    (study / RUN / "scores" / "final.json").unlink()
    found = collect(study, Garbage.WORKSPACES)
    assert places(found) == {"runs/t__b__s1/workspace.tar.zst", *LEFT}
    assert found.kept == (f"{RUN}/workspace.tar.zst: stays, for the state final has no score",)


def test_a_workspace_of_a_run_that_is_tried_again_or_cannot_be_read_is_kept(study):
    path = study / "runs/t__b__s1"
    record = read_model(path / "record.json", RunRecord)
    write_model(path / "record.json", record.model_copy(update={"status": RunStatus.ENVIRONMENT_ERROR}))
    write_manifest(path, {})
    (study / RUN / "record.json").write_text("{}")
    found = collect(study, Garbage.WORKSPACES)
    assert places(found) == set(LEFT)
    assert len(found.kept) == 2


def test_a_study_that_is_being_run_is_left_alone(study):
    before = snapshot(study)
    with StudyStore(study).hold(), pytest.raises(StudyError, match="another loopscope"):
        collect(study, *ALL)
    assert snapshot(study) == before


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


@pytest.mark.parametrize("step", range(5))
def test_a_kill_at_any_step_leaves_a_whole_study(study, monkeypatch, step):
    count = 0

    def dying(function):
        def wrapped(*args, **kwargs):
            nonlocal count
            count += 1
            if count > step:
                raise Killed
            return function(*args, **kwargs)

        return wrapped

    collect(study)
    for name in ("write_model", "scratch_name", "sync_directory", "remove_tree"):
        monkeypatch.setattr(gc_module, name, dying(getattr(gc_module, name)))
    with pytest.raises(Killed):
        collect(study, Garbage.NATIVE)
    monkeypatch.undo()
    assert is_whole(study)
    collect(study, Garbage.NATIVE)
    assert is_whole(study)
    assert not list((study / "runs").rglob(ODD.rsplit("/", 1)[-1]))


def test_links_are_removed_and_not_followed(study, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("mine")
    (study / ".tmp-link").symlink_to(outside)
    shutil.rmtree(study / RUN / "native")
    (study / RUN / "native").symlink_to(outside)
    (study / RUN / ".tmp-3" / "l").symlink_to(outside)
    found = collect(study, Garbage.NATIVE)
    assert (outside / "f").read_text() == "mine"
    assert f"{RUN}/native" not in places(found), "it is no directory of ours"
    assert not (study / ".tmp-link").is_symlink()


def test_an_unreadable_note_is_no_licence(study):
    (study / RUN / "removed.json").write_text("{}")
    with pytest.raises(RecordError, match=r"removed\.json"):
        collect(study, Garbage.NATIVE)
    assert (study / RUN / "native").is_dir()
