"""Runs that loopscope did not do: measured by what their transcripts show, and never taken for official."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from made_imports import imported, page_of, rounds
from made_study import MadeStudy, verification
from made_transcript import bench

from loopscope.analysis import anew, workers
from loopscope.analysis.build import analyze
from loopscope.analysis.tabled import TabledRun
from loopscope.analysis.work import Known, LeftOut
from loopscope.analysis.workers import WorkerDiedError
from loopscope.models import StateScore
from loopscope.records import StudyStore

HALF, THIRD = 0.5, 0.1505  # of 10 ms and of 50 ms, by the evaluator's formula


@pytest.fixture
def study(tmp_path: Path) -> Path:
    first = page_of(tmp_path / "a.json", [*rounds("50", "10", "50", "10"), bench("10")])
    second = page_of(tmp_path / "b.json", rounds("50"), seed="seed-2")
    other = page_of(tmp_path / "c.json", rounds("10"), synthetic="other")
    return imported(tmp_path / "study", first, second, other)


def tables(study: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (study / "tables").iterdir()}


def test_reconstructed_scores_are_measured_and_marked(study: Path) -> None:
    found = analyze(study)
    first, second, other = sorted(found.frames["runs"].to_dicts(), key=lambda r: (r["agent"], r["seed"]))
    assert (first["imported"], first["log_format"], first["category"]) == (True, "page", "speed")
    assert (first["final_score"], first["final_source"], first["final_grade"]) == (HALF, "reconstructed", "confirmed")
    assert (first["final_status"], first["final_spread"], first["n_reconstructed"]) == ("not_verified", None, 4)
    points = [p for p in found.frames["checkpoints"].to_dicts() if p["run_id"] == first["run_id"]]
    assert [p["score"] for p in points] == [THIRD, HALF, THIRD, HALF]
    assert {p["score_source"] for p in points} == {"reconstructed"}
    assert [p["metric"] for p in points] == [50.0, 10.0, 50.0, 10.0]
    assert all(p["n_verifications"] == 0 and p["status"] == "not_verified" for p in points)
    assert (first["n_dips"], first["c3"], second["c3"], other["final_score"]) == (1, 1.0, 1.0, HALF)
    assert (first["grade_official"], first["n_builds"], first["n_evaluations"]) == (0.0, 4, 5)


def test_rows_for_several_runs_say_how_many_are_reconstructed(study: Path) -> None:
    found = analyze(study)
    model, other = (r for r in found.frames["outcome"].to_dicts() if r["category"] == "overall")
    assert (model["agent"], model["avg_at_k"], model["n_runs"], model["n_reconstructed"]) == (
        "model", pytest.approx((HALF + THIRD) / 2), 2, 2,
    )  # fmt: skip
    assert (other["n_runs"], other["n_missing"], other["n_reconstructed"]) == (1, 0, 1)
    for table in ("task_scores", "process", "process_by_category"):
        assert all(row["n_reconstructed"] > 0 for row in found.frames[table].to_dicts()), table
    summary = found.summary
    assert (summary.k, summary.seeds, summary.environment, summary.name) == (2, (1, 2), "imported", "study")
    assert [(t.name, t.category, t.metric) for t in summary.tasks] == [("fast", "speed", "time (ms)")]
    assert summary.generated_from["reconstructed_states"] == 6
    assert summary.warnings == ()


def test_builds_and_evaluations_have_a_row_each_with_their_message(study: Path) -> None:
    found = analyze(study)
    builds = [r for r in found.frames["builds"].to_dicts() if r["run_id"] == "fast__model__s1"]
    assert [(r["number"], r["tool"], r["status"], r["checkpoint"]) for r in builds] == [
        (i, "make", "succeeded", i) for i in range(4)
    ]
    looks = [r for r in found.frames["evaluations"].to_dicts() if r["run_id"] == "fast__model__s1"]
    assert [r["raw"] for r in looks] == [[50.0], [10.0], [50.0], [10.0], [10.0]]
    assert [r["rewards"] for r in looks] == [[THIRD], [HALF], [THIRD], [HALF], [HALF]]
    assert [r["checkpoint"] for r in looks] == [0, 1, 2, 3, None]
    assert all(b["message"] < e["message"] for b, e in zip(builds, looks, strict=False))


def test_imported_runs_join_a_study_and_leave_its_own_runs_as_they_are(study: Path, tmp_path: Path) -> None:
    made = MadeStudy(tmp_path / "own", ["a"], {"t": "toy"}, 1)
    made.add("t", "a", 1, ["0", "0.8"], "0.8")
    alone = analyze(made.path).frames["runs"].to_dicts()
    imported(made.path, tmp_path / "a.json")
    both = analyze(made.path)
    assert [r for r in both.frames["runs"].to_dicts() if not r["imported"]] == alone
    assert both.renewed == ("fast__model__s1",)
    assert [a.label for a in both.summary.agents] == ["a", "model"]
    assert [t.name for t in both.summary.tasks] == ["t", "fast"]
    assert {(r["agent"], r["n_reconstructed"]) for r in both.frames["outcome"].to_dicts()} == {("a", 0), ("model", 1)}
    assert both.summary.generated_from["planned"] == 2


def test_only_what_changed_is_analysed_anew(study: Path, tmp_path: Path) -> None:
    assert len(analyze(study).renewed) == 3
    before = tables(study)
    again = analyze(study)
    assert again.renewed == ()
    assert tables(study) == before
    (study / "runs/fast__model__s2/evidence.json").write_text("torn")
    assert analyze(study).renewed == ("fast__model__s2",)
    assert tables(study) == before
    imported(study, page_of(tmp_path / "d.json", rounds("20"), seed="seed-3"))
    assert analyze(study).renewed == ("fast__model__s3",)


def test_a_new_score_renews_its_run_alone(tmp_path: Path) -> None:
    made = MadeStudy(tmp_path / "own", ["a", "b"], {"t": "toy"}, 1)
    for agent in ("a", "b"):
        made.add("t", agent, 1, ["0", "0.8"], "0.8")
    analyze(made.path)
    run = made.store.run("t__a__s1")
    state = run.record.commits[-1].state
    run.write_score(StateScore(state=state, run_id=run.run_id, verifier_hash="v", verifications=(verification("0.4"),)))
    found = analyze(made.path)
    assert found.renewed == ("t__a__s1",)
    scores = {r["run_id"]: r["best_step_score"] for r in found.frames["runs"].to_dicts()}
    assert scores == {"t__a__s1": 0.4, "t__b__s1": 0.8}


@pytest.fixture
def many(tmp_path: Path) -> Path:
    logs = [page_of(tmp_path / f"logs/{i}.json", rounds("90", str(10 + i)), seed=f"seed-{i}") for i in range(1, 8)]
    return imported(tmp_path / "many", *logs)


@pytest.mark.slow
def test_several_processes_write_the_same_bytes_as_one(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = Path(shutil.copytree(many, tmp_path / "alone"))
    monkeypatch.setattr(anew, "WORTH_PROCESSES", 4)
    given: list[str] = []
    give = workers._Worker.give
    monkeypatch.setattr(workers._Worker, "give", lambda self, at, run: (given.append(run.run_id), give(self, at, run)))
    told: list[str] = []
    found = analyze(many, lambda done, total, name: told.append(name), workers=2)
    ids = sorted(run.run_id for run in StudyStore.open(many).runs())
    assert set(given) >= set(ids[:2]), "another process had its share"
    assert (list(found.renewed), sorted(told)) == (ids, ["", *ids])
    assert len(analyze(alone).renewed) == len(ids)
    assert tables(many) == tables(alone)
    given.clear()
    assert analyze(many, workers=2).renewed == ()
    assert not given, "nothing to look at is no work for another process"


@pytest.mark.slow
def test_what_another_process_meets_comes_through(many: Path) -> None:
    """An error of the machine is raised here, a broken record is left out, and one who dies names the run."""
    store = StudyStore.open(many)
    known = Known(many, {}, {})
    (store.run("fast__model__s3").path / "evidence.json").mkdir()
    (store.run("fast__model__s4").path / "record.json").write_text("{")
    worker = workers._Worker(known)
    try:
        for at, seed in enumerate((3, 4, 5)):
            worker.give(at, store.run(f"fast__model__s{seed}"))
        at, found = worker.take()
        assert (at, type(found)) == (0, IsADirectoryError)
        at, found = worker.take()
        assert at == 1
        assert isinstance(found, LeftOut)
        assert "s4/record.json" in found.reason
        assert isinstance(worker.take()[1], TabledRun)
        worker.process.kill()
        worker.process.wait()
        worker.give(3, store.run("fast__model__s2"))
        with pytest.raises(WorkerDiedError, match=r"fast__model__s2: .*killed by signal 9.*--workers 1"):
            worker.take()
    finally:
        worker.close()


def test_an_error_of_the_machine_ends_the_analysis(many: Path) -> None:
    (many / "runs/fast__model__s3/evidence.json").mkdir()
    with pytest.raises(IsADirectoryError):
        analyze(many)
