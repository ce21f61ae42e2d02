"""From records to tables."""

from __future__ import annotations

import hashlib

import pytest
from made_study import MadeStudy

from loopscope.analysis.build import analyze
from loopscope.models import RunStatus
from loopscope.records import RecordError


@pytest.fixture
def made(tmp_path):
    study = MadeStudy(tmp_path / "study", ["a", "b"], {"t": "toy", "u": "puzzle"}, 2)
    study.add("t", "a", 1, ["0", "0.8", "0.5", "0.8"], "0.8")
    study.add("t", "a", 2, ["0", "0.2"], "0.1")
    study.add("u", "a", 1, ["0.3", None, "0.4"], None)
    study.add("t", "b", 1, [], "0.5")
    return study


def rows(analysis, table, **where):
    return [r for r in analysis.frames[table].to_dicts() if all(r[k] == v for k, v in where.items())]


def test_outcome_counts_what_is_missing_and_never_takes_it_for_zero(made):
    found = analyze(made.path)
    (a,) = rows(found, "outcome", agent="a", category="overall")
    assert (a["avg_at_k"], a["best_at_k"]) == (pytest.approx(0.45), pytest.approx(0.8))
    assert (a["n_runs"], a["n_tasks"], a["n_missing"]) == (2, 1, 2)
    (b,) = rows(found, "outcome", agent="b", category="overall")
    assert (b["avg_at_k"], b["n_missing"]) == (0.5, 3)
    assert "4 of 8 rollouts have no record yet" in found.summary.warnings[-1]


def test_a_run_with_a_dip(made):
    found = analyze(made.path)
    (run,) = rows(found, "runs", run_id="t__a__s1")
    assert (run["c3"], run["peak_retention"], run["recovery_credit"], run["n_dips"]) == (1.0, 1.0, 1.0, 1)
    (dip,) = rows(found, "dips", run_id="t__a__s1")
    assert (dip["before"], dip["low"], dip["recovered_to"], dip["length"]) == (0.8, 0.5, 0.8, 1)
    points = rows(found, "checkpoints", run_id="t__a__s1")
    assert [p["high_water"] for p in points] == [0.0, 0.8, 0.8, 0.8]
    assert [p["is_dip_start"] for p in points] == [False, False, True, False]
    assert [p["is_recovery"] for p in points] == [False, False, False, True]
    assert [p["initial"] for p in points] == [True, False, False, False]


def test_a_missing_score_stays_missing(made):
    found = analyze(made.path)
    (run,) = rows(found, "runs", run_id="u__a__s1")
    assert run["final_score"] is None
    assert "final_missing" in run["flags"]
    assert [p["score"] for p in rows(found, "checkpoints", run_id="u__a__s1")] == [0.3, None, 0.4]


def test_a_run_without_commits_has_an_outcome_and_no_process(made):
    (run,) = rows(analyze(made.path), "runs", run_id="t__b__s1")
    assert (run["final_score"], run["c1"], run["c2"], run["c3"]) == (0.5, None, None, None)


def test_process_weighs_tasks_equally(made):
    found = analyze(made.path)
    t = [r["c1"] for r in rows(found, "runs", agent="a", task="t")]
    u = [r["c1"] for r in rows(found, "runs", agent="a", task="u")]
    (overall,) = rows(found, "process", agent="a", category="overall", measure="c1")
    assert overall["value"] == pytest.approx((sum(t) / 2 + u[0]) / 2)
    assert (overall["n_tasks"], overall["n_runs"]) == (2, 3)


def test_equal_records_give_equal_bytes(made):
    def digest():
        analyze(made.path)
        return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in (made.path / "tables").iterdir()}

    assert digest() == digest()


def test_one_broken_run_costs_only_itself(made):
    (made.path / "runs/t__a__s2/record.json").write_text("{}")
    (made.path / "runs/u__a__s1/scores/final.json").write_text("garbage")
    found = analyze(made.path)
    assert {r["run_id"] for r in rows(found, "runs")} == {"t__a__s1", "t__b__s1"}
    assert sum(w.startswith("left out: ") for w in found.summary.warnings) == 2
    assert any("s2/record.json" in w for w in found.summary.warnings)


def test_an_environment_error_is_missing(made):
    made.add("u", "b", 1, [], None, status=RunStatus.ENVIRONMENT_ERROR)
    (b,) = rows(analyze(made.path), "outcome", agent="b", category="overall")
    assert (b["n_runs"], b["n_missing"], b["avg_at_k"]) == (1, 3, 0.5)


def test_no_study_is_said_so(tmp_path):
    with pytest.raises(RecordError, match="no study here"):
        analyze(tmp_path)
