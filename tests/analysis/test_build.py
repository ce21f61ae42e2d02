"""From records to tables."""

from __future__ import annotations

import hashlib
import re
from decimal import Decimal

import polars as pl
import pytest
from made_study import MadeStudy
from rich.console import Console

from loopscope.analysis.build import analyze
from loopscope.analysis.parquet import schema
from loopscope.cli.tables import leaderboard
from loopscope.models import RunStatus, Timings, Usage
from loopscope.models.tables import TABLES
from loopscope.records import RecordError
from loopscope.report.inputs import StudyInputs


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
    (made.path / "runs/t__a__s2/record.json").write_text("{")
    again = analyze(made.path).summary.warnings
    assert "4 of 8 rollouts have no record yet" in again[-1], "one that is left out has a record"


def test_agents_are_compared_on_the_tasks_that_all_of_them_have_scores_on(tmp_path):
    study = MadeStudy(tmp_path / "study", ["a", "b", "c"], {"t": "toy", "u": "puzzle", "v": "puzzle"}, 1)
    for task, agent, final in (("t", "a", "0.4"), ("u", "a", "0.9"), ("t", "b", "0.6"), ("v", "b", "0.1")):
        study.add(task, agent, 1, ["0"], final)
    study.add("u", "c", 1, ["0"], None)
    found = analyze(study.path)
    columns = ("n_tasks", "n_common", "avg_at_k", "common_avg", "common_best", "k_min")
    by = {r["agent"]: tuple(r[name] for name in columns) for r in rows(found, "outcome", category="overall")}
    assert by["a"] == (2, 1, pytest.approx(0.65), pytest.approx(0.4), pytest.approx(0.4), 1)
    assert by["b"] == (2, 1, pytest.approx(0.35), pytest.approx(0.6), pytest.approx(0.6), 1)
    assert by["c"] == (0, 1, None, None, None, 1), "without a score it takes no task away"
    (puzzle,) = rows(found, "outcome", agent="a", category="puzzle")
    assert (puzzle["n_common"], puzzle["common_avg"]) == (0, None)
    text = shown_leaderboard(found)
    agents = [line.split()[0] for line in text.splitlines() if re.match(r" [abc] ", line)]
    assert agents == ["b", "a", "c"], "by the common task, not by the mean over others"
    assert "different tasks (2 tasks each), so nobody is ranked" in text


def shown_leaderboard(found):
    console = Console(width=160)
    with console.capture() as text:
        console.print(leaderboard(found))
    return text.get()


def test_agents_with_the_same_tasks_are_ranked_without_a_word(made):
    text = shown_leaderboard(analyze(made.path))
    assert "ranked" not in text and "common" not in text and "avg@2" in text


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


@pytest.mark.parametrize(("kind", "rounds", "c2"), [("clean", 1, 1.0), ("ambiguous", 2, 1.0), ("changed", 2, 0.5)])
def test_an_ambiguous_initial_state_is_no_attempt_and_no_boundary(made, kind, rounds, c2):
    scored = made.add("u", "b", 1, ["0.5", "0.2"], "0.2", initial=kind)
    broken = made.add("u", "b", 2, [None, "0.2"], "0.2", initial=kind)
    found = analyze(made.path)
    first, _ = rows(found, "checkpoints", run_id=scored)
    assert (first["initial"], first["ambiguous_initial"]) == (kind == "clean", kind == "ambiguous")
    (run,) = rows(found, "runs", run_id=scored)
    assert (run["rounds_T"], run["n_dips"]) == (rounds, 1)
    (run,) = rows(found, "runs", run_id=broken)
    assert run["c2"] == c2


def test_the_final_status_says_why_there_is_no_final_score(made):
    made.add("u", "b", 1, ["0.1"], None)
    (made.path / "runs/u__b__s1/scores/final.json").unlink()
    found = {r["run_id"]: r["final_status"] for r in rows(analyze(made.path), "runs")}
    assert found == {
        "t__a__s1": "ok",
        "t__a__s2": "ok",
        "t__b__s1": "ok",
        "u__a__s1": "no_reward",
        "u__b__s1": "not_verified",
    }


def test_resources_are_means_over_tasks_and_totals_over_known_runs(made):
    usage = Usage(input_uncached=100, output=20, cost_usd=Decimal("0.5"), source="agent")
    made.add("u", "b", 1, [], "0.1", usage=usage, timings=Timings(agent_sec=15))
    made.add("u", "b", 2, [], "0.1", usage=Usage(cost_usd=Decimal("0.3"), source="agent"), timings=Timings())

    def use(resource, category="overall"):
        (row,) = rows(analyze(made.path), "resources", agent="b", resource=resource, category=category)
        return row["per_task"], row["total"], row["runs"], row["unknown"]

    assert use("tokens") == (60.0, 120.0, 2, 1)
    assert use("cost_usd") == (pytest.approx(0.2), pytest.approx(0.8), 3, 0)
    assert use("agent_sec") == (10.0, 20.0, 2, 1)
    assert use("agent_sec", "puzzle") == (15.0, 15.0, 1, 1)
    assert use("tool_calls") == (None, None, 0, 3)


def test_process_by_category_weighs_agents_equally(made):
    made.add("t", "b", 2, ["0", "0.5"], "0.5")
    found = analyze(made.path)
    (a,) = rows(found, "process", agent="a", category="toy", measure="c1")
    (b,) = rows(found, "process", agent="b", category="toy", measure="c1")
    (both,) = rows(found, "process_by_category", category="toy", measure="c1")
    assert both["value"] == pytest.approx((a["value"] + b["value"]) / 2)


def test_every_table_has_the_columns_of_its_rows_even_when_empty(tmp_path):
    found = analyze(MadeStudy(tmp_path / "empty", ["a"], {"t": "toy"}, 1).path)
    assert found.frames.keys() == TABLES.keys()
    for name, kind in TABLES.items():
        assert dict(pl.read_parquet(tmp_path / f"empty/tables/{name}.parquet").schema) == schema(kind)


def test_the_report_reads_what_analysis_writes(made):
    made.add("u", "b", 1, ["0.1", "0.2"], "0.2", initial="ambiguous")
    found = analyze(made.path)
    read = StudyInputs(made.path)
    assert read.study == found.summary
    assert len(read.runs) == found.frames["runs"].height
    assert {r.run_id: r.flags for r in read.runs} == {r["run_id"]: tuple(r["flags"]) for r in rows(found, "runs")}
    times = [c.commit_time.isoformat() for c in read.checkpoints["t__a__s1"]]
    assert times == [c["commit_time"] for c in rows(found, "checkpoints", run_id="t__a__s1")]


def test_a_torn_archive_of_a_task_costs_only_what_it_would_tell(made):
    (made.path / "tasks/t.baseline.tar.zst").write_bytes(b"torn")
    found = analyze(made.path)
    assert len(rows(found, "runs")) == 4
    assert any("t.baseline.tar.zst: cannot be read" in w for w in found.summary.warnings)


def test_no_study_is_said_so(tmp_path):
    with pytest.raises(RecordError, match="no study here"):
        analyze(tmp_path)


def test_a_verifier_that_never_gives_a_reward_is_named(made):
    study = MadeStudy(made.path.parent / "silent", ["a"], {"t": "toy"}, 1)
    study.add("t", "a", 1, [None, None], None)
    assert any("the verifier of t never gave a reward" in w for w in analyze(study.path).summary.warnings)
    assert not any("never gave a reward" in w for w in analyze(made.path).summary.warnings)


def test_a_reward_of_no_ordinary_size_costs_only_its_run(made):
    made.add("u", "b", 1, ["1E+500"], "0.1")
    found = analyze(made.path)
    assert "u__b__s1" not in {r["run_id"] for r in rows(found, "runs")}
    assert any("u__b__s1: its scores cannot be measured" in w for w in found.summary.warnings)
