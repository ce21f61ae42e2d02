"""Calibrations and paired rewards: which formula is found, what is missing, what does not hold, and what tables say."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from made_study import MadeStudy, verification
from rich.console import Console

from loopscope.analysis.build import analyze
from loopscope.analysis.explain.number import explain_number
from loopscope.cli.tables import leaderboard
from loopscope.measures.uncertainty import Estimator, Run, Settings, level_of, panel
from loopscope.models import Anchors, StateScore, VerificationStatus
from loopscope.models.calibration import Calibration, CalibrationAct, CalibrationTrial, Machine, SeenMachines
from loopscope.models.calibration_words import stale, warnings_of
from loopscope.models.pairing import Pairing, pairing_of
from loopscope.records import StudyStore, read_model, write_model
from loopscope.report import build_report

HERE = Machine(cpu="a", cores=2, memory_gib=4, architecture="x86_64", kernel="6", compilers={})
THERE = HERE.model_copy(update={"cpu": "b"})
SPEEDUP = Anchors(metric="speed", baseline=Decimal(1), reference=Decimal(16))
STARTER, REFERENCE = CalibrationAct


def trial(act, reward, seconds=1.0, **metrics):
    return CalibrationTrial(
        act=act,
        status=VerificationStatus.OK if reward is not None else VerificationStatus.TIMEOUT,
        reward=None if reward is None else Decimal(reward),
        metrics={name: Decimal(value) for name, value in metrics.items()},
        seconds=seconds,
        timeout_sec=10,
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def calibration(*trials, anchors=SPEEDUP, nominal="0.5", **more):
    given = None if nominal is None else Decimal(nominal)
    facts = {"task": "t", "verifier_hash": "v", "environment": "local", "machine": HERE}
    return Calibration(**(facts | more), anchors=anchors, nominal=given, trials=trials)


def test_the_formula_is_the_one_that_gives_the_official_rewards():
    log = calibration(trial(STARTER, 0, x="1"), trial(REFERENCE, "0.25", x="4", seconds_used="3"))
    pairing = pairing_of(log)
    assert isinstance(pairing, Pairing)
    assert (pairing.metric, pairing.formula.kind) == ("x", "log")
    # Here the reference is four times as fast, elsewhere sixteen times: twice as fast is half of the way, on a log scale.
    assert pairing.reward(Decimal("0.125"), {"x": Decimal(2)}) == Decimal("0.25")
    assert pairing.reward(Decimal("0.25"), {"x": Decimal(4)}) == Decimal("0.5")
    anchors = Anchors(baseline=Decimal(10), reference=Decimal(0))
    linear = pairing_of(
        calibration(trial(STARTER, 0, x="10"), trial(REFERENCE, "0.5", x="5"), anchors=anchors, nominal=None)
    )
    assert isinstance(linear, Pairing)
    assert (linear.metric, linear.formula.kind, linear.formula.factor) == ("x", "linear", 1)
    assert linear.reward(Decimal("0.25"), {"x": Decimal("7.5")}) == Decimal("0.5")


def test_what_was_clipped_away_comes_back_by_the_metric():
    """A starter and a reference that are both slower here than the anchors say: official 0, and still told apart."""
    slow = calibration(trial(STARTER, 0, x="0.5"), trial(REFERENCE, 0, x="0.9"), trial(REFERENCE, "0.0000", x="0.95"))
    assert isinstance(pairing_of(slow), str), "all is clipped: no reward tells which number counts"
    told = calibration(trial(STARTER, 0, x="0.5"), trial(REFERENCE, "0.125", x="2"))
    pairing = pairing_of(told)
    assert isinstance(pairing, Pairing)
    assert pairing.reward(Decimal(0), {"x": Decimal(1)}) == Decimal("0.25")


def test_without_a_known_formula_it_is_linear_in_the_official_reward():
    found = pairing_of(calibration(trial(STARTER, "0.1", x="3"), trial(REFERENCE, "0.4", x="3"), nominal="0.8"))
    assert isinstance(found, Pairing)
    assert (found.metric, found.formula.factor) == (None, Decimal("0.8"))
    assert found.reward(Decimal("0.25"), {}) == Decimal("0.4")
    assert found.reward(None, {}) is None
    timed = pairing_of(calibration(trial(STARTER, "0.1"), trial(REFERENCE, "0.4"), nominal=None, timed=True))
    assert isinstance(timed, Pairing)
    assert timed.formula.factor == Decimal("0.5")


def test_a_gate_that_failed_is_worth_nothing_and_a_metric_that_is_not_there_is_missing():
    pairing = pairing_of(calibration(trial(STARTER, 0, x="1"), trial(REFERENCE, "0.25", x="4")))
    assert isinstance(pairing, Pairing)
    assert pairing.reward(Decimal(0), {"x": Decimal(4)}) == 0, "wrong, however fast"
    assert pairing.reward(Decimal(0), {}) == 0
    assert pairing.reward(Decimal("0.3"), {}) is None
    assert pairing.reward(None, {"x": Decimal(4)}) is None


def test_a_reference_that_is_no_better_than_the_starter_pairs_nothing():
    reason = pairing_of(calibration(trial(STARTER, "0.25", x="4"), trial(REFERENCE, "0.125", x="2")))
    assert isinstance(reason, str)
    assert "no better than the starter" in reason
    assert any("no better" in line for line in warnings_of(calibration(trial(STARTER, "0.2"), trial(REFERENCE, "0.2"))))
    assert pairing_of(calibration(trial(STARTER, 0))) == "no verification of the reference gave a reward"


def test_warnings_name_a_slow_verifier_a_full_scale_a_wide_spread_and_silence():
    good = calibration(trial(STARTER, 0, x="1"), trial(REFERENCE, "0.25", x="4"))
    assert warnings_of(good) == ()
    bad = calibration(
        trial(STARTER, 0), trial(REFERENCE, "0.9", 6.0), trial(REFERENCE, "0.992"), trial(REFERENCE, "0.995"),
        trial(REFERENCE, None),
    )  # fmt: skip
    text = "\n".join(warnings_of(bad))
    for words in (
        "near its limit: 6.0 s of 10 s",
        "saturates: the reference earns 0.992",
        "spread over 0.095",
        "1 of 4",
    ):
        assert words in text
    assert "starter earns 0.300" in "".join(warnings_of(calibration(trial(STARTER, "0.3"), trial(REFERENCE, "0.5"))))


def test_a_calibration_holds_for_its_verifier_environment_and_machine():
    found = calibration()
    here = {"verifier_hash": "v", "environment": "local"}
    assert stale(found, **here, machines=(HERE,)) is None
    assert stale(found, **here, machines=()) is None, "nobody noted where it was verified"
    assert "another machine" in (stale(found, **here, machines=(HERE, THERE)) or "")
    assert "changed" in (stale(found, **(here | {"verifier_hash": "w"}), machines=()) or "")
    assert "docker" in (stale(found, **(here | {"environment": "docker"}), machines=()) or "")


def rescored(study, reward, x):
    path = study.path / "runs/t__a__s1/scores/final.json"
    seen = verification(reward, metrics={"x": Decimal(x), "correctness": Decimal(1)})
    write_model(path, read_model(path, StateScore).model_copy(update={"verifications": (seen,)}))


@pytest.fixture
def made(tmp_path):
    study = MadeStudy(tmp_path / "study", ["a"], {"t": "toy", "u": "puzzle"}, 2)
    study.add("t", "a", 1, ["0", "0.125"], "0.25")
    study.add("t", "a", 2, ["0"], None)
    study.add("u", "a", 1, ["0.3"], "0.4")
    rescored(study, "0.25", "4")
    return study


def measured(study, **more):
    task = StudyStore(study.path).task("t")
    facts = {"verifier_hash": task.verifier_hash} | more
    trials = (trial(STARTER, 0, x="1"), trial(REFERENCE, "0.375", x="8"))
    write_model(study.path / "calibration" / "t.json", calibration(*trials, **facts))


def one(analysis, table, **where):
    (found,) = [r for r in analysis.frames[table].to_dicts() if all(r[k] == v for k, v in where.items())]
    return found


def test_tables_hold_paired_rewards_beside_the_official_ones(made):
    before = analyze(made.path)
    assert one(before, "runs", run_id="t__a__s1")["final_paired"] is None
    assert one(before, "outcome", agent="a", category="overall")["n_paired"] == 0
    measured(made)
    found = analyze(made.path)
    run = one(found, "runs", run_id="t__a__s1")
    assert (run["final_score"], run["final_paired"]) == (0.25, pytest.approx(1 / 3))
    assert one(found, "runs", run_id="t__a__s2")["final_paired"] is None, "missing is missing"
    overall = one(found, "outcome", agent="a", category="overall")
    assert (overall["n_paired"], overall["paired_avg"]) == (1, pytest.approx(1 / 3))
    assert overall["avg_at_k"] == one(before, "outcome", agent="a", category="overall")["avg_at_k"], (
        "never in its place"
    )
    assert one(found, "task_scores", agent="a", task="t")["paired_best"] == pytest.approx(1 / 3)
    assert one(found, "task_scores", agent="a", task="u")["paired_avg"] is None
    rows = [r for r in found.frames["checkpoints"].to_dicts() if r["run_id"] == "t__a__s1"]
    assert [r["paired"] for r in rows] == [0, None], "a reward above 0 without the metric is not guessed at"
    assert any("not calibrated, so without paired rewards: u" in line for line in found.summary.warnings)
    (task,) = (t for t in found.summary.tasks if t.name == "t")
    assert "logarithmic in x" in (task.paired_by or "")


def test_one_that_does_not_hold_is_not_used_and_that_is_said(made):
    measured(made, verifier_hash="another")
    found = analyze(made.path)
    assert one(found, "runs", run_id="t__a__s1")["final_paired"] is None
    assert any("calibration of t: is not used" in line for line in found.summary.warnings)
    measured(made)
    assert one(analyze(made.path), "runs", run_id="t__a__s1")["final_paired"] is not None
    write_model(made.path / "calibration" / "machines.json", SeenMachines(machines=(THERE,)))
    assert any("on another machine" in line for line in analyze(made.path).summary.warnings)
    (made.path / "calibration" / "t.json").write_text("{")
    broken = analyze(made.path)
    assert any("calibration of t: counts as missing" in line for line in broken.summary.warnings)
    assert one(broken, "runs", run_id="t__a__s1")["final_score"] == 0.25


def test_terminal_and_report_show_both_rewards(made, tmp_path):
    measured(made)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(leaderboard(analyze(made.path)))
    told = "avg@2 0.33 [no interval] (0.17 to 0.67), best@2 0.33 [no interval] (0.33 to 1.00) (k 2, 1 task, 1 run)"
    text = console.export_text()
    assert f"a: paired with anchors measured here: {told}" in text
    assert "paired: one task: nothing says how tasks differ" in text
    assert "paired: best@2: 1 of 1 tasks have fewer than 2 scores: their best is low" in text
    page = build_report(made.path, tmp_path / "report")
    first = " ".join(page.read_text().split())
    assert "avg@2 0.333 [no interval], whatever is missing 0.167 to 0.667, best@2 0.333 [no interval]" in first
    assert "(k = 2, 1 task, n = 1 run; not compared between agents)" in first
    assert "Paired, best@2: 1 of 1 tasks have fewer than 2 scores: their best is low." in first
    assert "paired 0.333 no interval" in first, "one run of a task tells no spread"
    assert "logarithmic in x: 1 here is worth 0, 8 is worth 0.5" in page.read_text()
    assert "paired 0.333" in (page.parent / "runs.html").read_text()
    runs = "".join(path.read_text() for path in (page.parent / "runs").rglob("*.html"))
    assert "Paired reward 0.333" in runs


def test_means_of_paired_rewards_have_their_intervals(made):
    """Those of the calibrated tasks as if they were scores: by hand here, with the same functions for scores."""
    study = MadeStudy(made.path.parent / "more", ["a", "b"], dict.fromkeys("tuvwx", "toy"), 2)
    paired = {}
    for number, name in enumerate("tuvwx"):
        for agent, seed in [(a, s) for a in "ab" for s in (1, 2)]:
            value = Decimal(1 + number + seed + 3 * (agent == "b")) / 20
            study.add(name, agent, seed, ["0"], str(value))
            paired[agent, name, seed] = min(Decimal(1), value * 2)
        task = StudyStore(study.path).task(name)
        trials = (trial(STARTER, 0), trial(REFERENCE, "0.25"))
        facts = {"verifier_hash": task.verifier_hash, "task": name}
        if name != "x":
            write_model(study.path / "calibration" / f"{name}.json", calibration(*trials, **facts))
    found = analyze(study.path)
    for agent in "ab":
        rows = [Run(agent, name, str(s), v) for (a, name, s), v in paired.items() if a == agent and name != "x"]
        whole = panel(rows, dict.fromkeys("tuvw", "toy"))
        for reading in ("random tasks", "fixed tasks"):
            for measure, estimator in (("paired_avg", Estimator()), ("paired_best", Estimator(2))):
                wanted = level_of(whole, agent, estimator, None, Settings(reading=reading))
                row = one(found, "intervals", agent=agent, category="overall", measure=measure, reading=reading)
                assert row["value"] == one(found, "outcome", agent=agent, category="overall")[measure]
                assert (row["low"], row["high"]) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
                assert (row["k"], row["n_tasks"], row["n_runs"], row["n_missing"]) == (2, 4, 8, 0)
                assert row["missing_low"] is None
    of_task = one(found, "task_scores", agent="a", task="t")
    assert of_task["paired_low"] < of_task["paired_avg"] < of_task["paired_high"]
    assert one(found, "task_scores", agent="a", task="x")["paired_low"] is None
    told = explain_number(study.path, "paired_best", "b")
    row = one(found, "intervals", agent="b", category="overall", measure="paired_best", reading="random tasks")
    assert (told.value, told.low, told.warnings) == (row["value"], row["low"], ())
    assert [task.task for task in told.tasks] == list("tuvw")
    assert told.tasks[0].runs[0].value == float(paired["b", "t", 1])


def test_a_missing_paired_reward_bounds_the_mean_and_counts(made):
    measured(made)
    found = analyze(made.path)
    row = one(found, "intervals", agent="a", category="overall", measure="paired_avg", reading="fixed tasks")
    assert (row["n_tasks"], row["n_runs"], row["n_missing"]) == (1, 1, 1), "the task without a calibration is not in it"
    assert (row["missing_low"], row["missing_high"]) == pytest.approx((1 / 6, 2 / 3))
    assert row["low"] is None and "one seed per task" in row["guard"]
    assert not [r for r in found.frames["comparisons"].to_dicts() if r["measure"].startswith("paired")]


def test_scores_at_the_top_of_the_scale_are_named(made):
    rescored(made, "0.995", "256")
    assert not any("saturates" in line for line in analyze(made.path).summary.warnings), "nothing is calibrated"
    measured(made)
    assert "the reward of t saturates: 1 of 1 final scores are 0.99 or more" in analyze(made.path).summary.warnings
