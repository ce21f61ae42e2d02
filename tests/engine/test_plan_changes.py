"""A changed study: what it adds, retires and brings back, how that is said, and what a kill in between leaves."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import pytest
import study_v1
from finished_run import finish, finish_all, marks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toy_study import write_task

from loopscope.engine import shelf
from loopscope.engine.changes import WouldRetire
from loopscope.engine.identity import read_identity
from loopscope.engine.plan import Plan, plan_study, reopen_study
from loopscope.models import RunStatus, StudyLock, UnitIdentity
from loopscope.records import RecordError, StudyError, StudyStore, read_model
from loopscope.records.settled import settled_study

SEARCH = "{name: search, kwargs: {rounds: %d}}"
GOOD = "name: s\ntasks: [./toy]\nagents: [nop, %s]\nseeds: 3\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_task(tmp_path / "toy")
    return tmp_path


def plan(root: Path, text: str, **more: object) -> Plan:
    (root / "s.yaml").write_text(text)
    return plan_study(root / "s.yaml", root / "s", **more)


def study(rounds: int = 5) -> str:
    return GOOD % (SEARCH % rounds)


def digests(made: Plan) -> dict[str, str]:
    return {run.run_id: run.unit.digest for run in made.runs}


def test_a_unit_s_name_tells_content_alone(root):
    made = plan(root, study())
    (root / "elsewhere").mkdir()
    shutil.copytree(root / "toy", root / "elsewhere/toy")
    relabelled = study().replace("{name: search", "{name: search, label: other")
    extra = "concurrency: 7\nscoring: {repeats: 9, timeout_multiplier: 3}\nenvironment: {kwargs: {scratch_dir: /x}}\n"
    (root / "elsewhere/s.yaml").write_text(relabelled + extra)
    other = plan_study(root / "elsewhere/s.yaml", root / "elsewhere/s")
    assert [run.unit.digest for run in other.runs] == [run.unit.digest for run in made.runs]
    assert len(set(digests(made).values())) == len(made.runs)


@pytest.mark.parametrize(
    "change",
    [
        ("rounds: 5", "rounds: 6"),
        ("seeds: 3", "seeds: [4, 5, 6]"),
        ("seeds: 3", "seeds: 3\nbudget: {agent_sec: 7}"),
        ("seeds: 3", "seeds: 3\nrecord_keeping: none"),
        ("seeds: 3", "seeds: 3\nenvironment: {cpus: 1}"),
        ("seeds: 3", "seeds: 3\nenvironment: {kwargs: {private_dirs: [/x]}}"),
    ],
)
def test_whatever_decides_a_rollout_changes_its_name(root, change):
    before, after = plan(root, study()), plan(root, study().replace(*change))
    searched = {run.unit.digest for run in before.runs if run.agent.label == "search"}
    assert not searched & {run.unit.digest for run in after.runs}


def test_a_study_grows_freely_and_says_by_how_much(root):
    first = plan(root, study())
    assert first.changes == ()
    finish_all(first)
    grown = plan(root, study().replace("[nop,", "[nop, oracle,").replace("seeds: 3", "seeds: 4"))
    assert grown.changes == ("6 runs added",)
    assert len(grown.unfinished()) == 6
    assert not (root / "s/retired").exists()


def test_results_are_not_given_up_unasked_and_what_changed_is_said(root):
    finish_all(plan(root, study()))
    before = marks(root / "s/runs")
    lock = (root / "s/study.lock.json").read_bytes()
    with pytest.raises(
        WouldRetire, match=r"s\.yaml: 3 finished runs would be retired.*loopscope run .*--retire"
    ) as caught:
        plan(root, study(8))
    assert caught.value.lines == ("agents.search.kwargs.rounds: 5 -> 8 retires 3 finished runs and adds 3",)
    assert marks(root / "s/runs") == before
    assert (root / "s/study.lock.json").read_bytes() == lock
    assert not list((root / "s/tasks").glob(".tmp-*"))


def test_what_is_retired_stays_and_comes_back(root):
    first = plan(root, study())
    finish_all(first)
    names = digests(first)
    second = plan(root, study(8), retire=True)
    searched = {f"{id_}__{digest[:8]}": digest for id_, digest in names.items() if "search" in id_}
    assert marks(root / "s/retired") == searched
    assert [run.run_id for run in second.unfinished()] == [f"toy__search__s{seed}" for seed in (1, 2, 3)]
    finish_all(second)
    third = plan(root, study(5), retire=True)
    assert third.unfinished() == []
    assert marks(root / "s/runs") == names
    assert "3 runs come back from retired/" in third.changes
    assert len(marks(root / "s/retired")) == 3


def test_units_without_a_result_make_way_unasked_and_are_kept_all_the_same(root):
    first = plan(root, study())
    failed = next(run for run in first.runs if run.agent.label == "search")
    finish(first, failed, RunStatus.ENVIRONMENT_ERROR)
    second = plan(root, study(8))
    assert second.changes == ("agents.search.kwargs.rounds: 5 -> 8 retires 1 without a result and adds 1",)
    assert list(marks(root / "s/retired").values()) == [failed.unit.digest]


@pytest.mark.parametrize(
    ("was", "now", "line"),
    [
        (f"[nop, {SEARCH % 5}]", "[nop]", "agents.search: removed retires 3 finished runs"),
        ("seeds: 3", "seeds: [1, 3]", "seeds.2: removed retires 2 finished runs"),
        (
            "seeds: 3",
            "seeds: 3\nbudget: {agent_sec: 7}",
            "budget.agent_sec: 20.0 -> 7.0 retires 6 finished runs and adds 6",
        ),
        (
            "seeds: 3",
            "seeds: 3\nrecord_keeping: none",
            "record_keeping: standard -> none retires 6 finished runs and adds 6",
        ),
        (
            "seeds: 3",
            "seeds: 3\nenvironment: {cpus: 1}",
            "environment.cpus: unset -> 1.0 retires 6 finished runs and adds 6",
        ),
    ],
)
def test_each_change_is_said_in_the_file_s_own_words(root, was, now, line):
    finish_all(plan(root, study()))
    with pytest.raises(WouldRetire) as caught:
        plan(root, study().replace(was, now))
    assert caught.value.lines == (line,)
    assert len(plan(root, study()).unfinished()) == 0, "putting it back is enough"


def test_scoring_and_scheduling_may_change_freely(root):
    finish_all(plan(root, study()))
    more = "concurrency: 3\nscoring: {repeats: 2, repeats_timed: 5, max_checkpoints: 4, timeout_multiplier: 2}\n"
    changed = plan(root, study() + more)
    assert (changed.changes, changed.unfinished()) == ((), [])
    assert changed.spec.scoring.repeats == 2


def test_a_changed_task_goes_to_the_shelf_with_its_runs_and_comes_back_with_them(root):
    first = plan(root, study())
    finish_all(first)
    (root / "s/tasks/toy.baseline.tar.zst").write_text("its baseline")
    old = first.runs[0].task.content_hash
    original = (root / "toy/instruction.md").read_text()
    (root / "toy/instruction.md").write_text("Do better.\n")
    with pytest.raises(WouldRetire) as caught:
        plan(root, study())
    assert caught.value.lines[0].startswith(f"tasks.toy (its content): {old[:8]} -> ")
    second = plan(root, study(), retire=True)
    place = root / f"s/retired/tasks/toy__{old[:8]}"
    assert sorted(path.name for path in place.iterdir()) == ["baseline.tar.zst", "prepared", "task.json"]
    assert not (root / "s/tasks/toy.baseline.tar.zst").exists(), "the new version's is made anew"
    assert "Do better." in (root / "s/tasks/toy/instruction.md").read_text()
    assert second.store.task("toy").content_hash == second.runs[0].task.content_hash != old
    (root / "toy/instruction.md").write_text(original)
    third = plan(root, study())
    assert third.store.task("toy").content_hash == old
    assert (root / "s/tasks/toy.baseline.tar.zst").read_text() == "its baseline"
    assert third.unfinished() == []


def test_a_task_that_is_no_longer_named_is_no_longer_the_study_s(root):
    write_task(root / "other")
    both = study().replace("[./toy]", "[./toy, ./other]")
    finish_all(plan(root, both))
    plan(root, study(), retire=True)
    assert list(StudyStore(root / "s").tasks()) == ["toy"]
    assert len(marks(root / "s/retired")) == 6
    assert plan(root, both).unfinished() == []


def test_runs_that_no_lock_ever_named_are_left_alone(root):
    first = plan(root, study())
    finish_all(first)
    shutil.copytree(root / "s/runs/toy__nop__s1", root / "s/runs/toy__guest__s1")
    plan(root, study(8), retire=True)
    assert (root / "s/runs/toy__guest__s1/record.json").is_file()


class Killed(BaseException):
    """As if the process had died here."""


def kill_after(monkeypatch: pytest.MonkeyPatch, moves: int) -> None:
    """Let the process die between two moves, or between the last one and what follows."""
    real, left = shelf.move, itertools.count(moves, -1)

    def move(source: Path, target: Path) -> None:
        if next(left) <= 0:
            raise Killed
        real(source, target)

    for place in ("loopscope.engine.shelf.move", "loopscope.engine.changes.move"):
        monkeypatch.setattr(place, move)


def change_the_task(root: Path, text: str) -> None:
    (root / "toy/instruction.md").write_text(text)


@pytest.mark.parametrize("moves", range(12))
@pytest.mark.parametrize("then", ["goes on", "goes back", "goes elsewhere"])
def test_a_change_killed_between_any_two_moves_is_completed_by_the_next_start(root, monkeypatch, moves, then):
    first = plan(root, study())
    finish_all(first)
    (root / "s/tasks/toy.baseline.tar.zst").write_text("first baseline")
    everything = set(marks(root / "s/runs").values())
    change_the_task(root, "second\n")
    with monkeypatch.context() as patch:
        kill_after(patch, moves)
        if moves <= 8:
            with pytest.raises(Killed):
                plan(root, study(), retire=True)
        else:
            plan(root, study(), retire=True)
    change_the_task(
        root, {"goes on": "second\n", "goes back": "Raise the number in `value.txt`.\n"}.get(then, "third\n")
    )
    made = plan(root, study(), retire=True)
    kept = marks(root / "s/runs") | marks(root / "s/retired")
    assert set(kept.values()) == everything, "nothing is lost"
    wanted = digests(made)
    assert {run_id: digest for run_id, digest in marks(root / "s/runs").items() if wanted[run_id] != digest} == {}
    assert made.store.task("toy").content_hash == made.runs[0].task.content_hash
    baseline = root / "s/tasks/toy.baseline.tar.zst"
    assert baseline.exists() == (then == "goes back")
    assert (made.unfinished() == []) == (then == "goes back")
    assert read_model(root / "s/study.lock.json", StudyLock).units == wanted


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.tuples(st.sampled_from([4, 5, 6]), st.sampled_from(["a\n", "b\n"]), st.integers(0, 14)), max_size=6
    )
)
def test_any_sequence_of_changes_and_kills_loses_nothing_and_does_nothing_twice(tmp_path_factory, steps):
    root = tmp_path_factory.mktemp("study")
    write_task(root / "toy")
    done: set[str] = set()
    for rounds, text, moves in [*steps, (5, "a\n", 99)]:
        change_the_task(root, text)
        with pytest.MonkeyPatch.context() as patch:
            kill_after(patch, moves)
            try:
                made = plan(root, study(rounds), retire=True)
            except Killed:
                continue
        new = {run.unit.digest for run in made.unfinished()}
        assert not new & done, "a unit that was done is never done again"
        finish_all(made)
        done |= new
        assert marks(root / "s/runs") == digests(made)
    assert {*marks(root / "s/runs").values(), *marks(root / "s/retired").values()} == done


def test_a_lost_lock_is_made_again_from_what_lies_there(root):
    first = plan(root, study())
    finish_all(first)
    before = (root / "s/study.lock.json").read_bytes()
    (root / "s/study.lock.json").unlink()
    assert plan(root, study()).unfinished() == []
    assert (root / "s/study.lock.json").read_bytes() == before


def test_a_tampered_lock_is_refused_by_run_with_a_way_back(root):
    plan(root, study())
    lock = root / "s/study.lock.json"
    lock.write_text(lock.read_text().replace('"rounds": 5', '"rounds": 6'))
    with pytest.raises(RecordError, match=r"study\.lock\.json: .*restore"):
        plan(root, study())
    spec, warnings = settled_study(root / "s")
    assert spec.agents[1].kwargs == {"rounds": 5}
    assert "study.lock.json" in warnings[0]


def test_verbs_that_run_no_agent_work_on_the_study_as_it_was_last_run(root):
    made = plan(root, study())
    (root / "s/study.yaml").write_text(study(8) + "concurrency: 2\nscoring: {repeats: 4}\n")
    spec, (warning,) = reopen_study(made.store)
    assert (spec.agents[1].kwargs, spec.scoring.repeats, spec.concurrency) == ({"rounds": 5}, 1, 2)
    assert warning.startswith("study.yaml: changed since the last `loopscope run` (agents, scoring)")
    (root / "s/study.yaml").write_text("name: [")
    spec, (warning,) = reopen_study(made.store)
    assert spec.agents[1].kwargs == {"rounds": 5}
    assert "not valid YAML" in warning
    (root / "s/study.yaml").write_text(study())
    assert reopen_study(made.store)[1] == ()


def test_runs_asked_for_again_are_done_again_and_only_once(root):
    finish_all(plan(root, study()))
    made = plan(root, study(), again=["toy__nop__s2"])
    assert [run.run_id for run in made.unfinished()] == ["toy__nop__s2"]
    with pytest.raises(StudyError, match=r"--again toy__nop__s9: the study has no such run; did you mean toy__nop__s"):
        plan(root, study(), again=["toy__nop__s9"])


class TestVersion1:
    """A study that the first version of loopscope left."""

    @pytest.fixture
    def first(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("MINE", "x")
        return study_v1.unpack(tmp_path)

    def test_its_runs_get_the_names_that_they_would_have_today(self, first):
        lock = read_model(first / "study.lock.json", StudyLock)
        assert lock.units == {}
        names: dict[str, UnitIdentity] = {}
        for folder in sorted((first / "runs").iterdir()):
            found = read_identity(StudyStore(first).run(folder.name), lock)
            assert found is not None
            names[folder.name] = found
        made = plan_study(first.with_suffix(".yaml"), first)
        assert digests(made) == {run_id: unit.digest for run_id, unit in names.items()}

    def test_it_goes_on_where_it_was(self, first):
        made = plan_study(first.with_suffix(".yaml"), first)
        assert made.changes == ()
        assert {run.task.info.name for run in made.unfinished()} == {"broken"}
        assert read_model(first / "study.lock.json", StudyLock).units == digests(made)
        assert not (first / "retired").exists()

    def test_a_change_retires_its_runs_and_takes_them_back(self, first):
        file = first.with_suffix(".yaml")
        text = file.read_text()
        before = {path.name: path.read_bytes() for path in (first / "runs").glob("toy__steps__s1/record.json")}
        file.write_text(text.replace("echo 0.5", "echo 0.7"))
        with pytest.raises(WouldRetire, match="2 finished runs would be retired"):
            plan_study(file, first)
        assert not (first / "runs/toy__steps__s1/unit.json").exists(), "a refused change writes nothing"
        plan_study(file, first, retire=True)
        retired = list((first / "retired").glob("toy__steps__s1__*"))
        assert len(retired) == 1
        file.write_text(text)
        made = plan_study(file, first)
        assert {run.task.info.name for run in made.unfinished()} == {"broken"}
        assert {p.name: p.read_bytes() for p in (first / "runs").glob("toy__steps__s1/record.json")} == before
        assert json.loads((first / "runs/toy__steps__s1/record.json").read_bytes())["schema_version"] == 1
