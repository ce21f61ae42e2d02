"""What a study can find, from its tables of runs."""

from __future__ import annotations

from typing import Any

import pytest

from loopscope.analysis.power import Design, Question, prices, study_power
from loopscope.analysis.power_report import Comparison, PowerReport
from loopscope.measures.uncertainty import Estimator, Run, panel, plan_of, power_of, to_find
from loopscope.records import StudyError

TASKS = {f"t{i}": "even" if i % 2 == 0 else "odd" for i in range(8)}


def row(agent: str, task: str, seed: int, score: float | None, **more: Any) -> dict[str, Any]:
    """A row of the table of runs, as far as it matters here."""
    unknown = {"cost_usd": None, "priced_usd": None, "agent_sec": None, "tokens": None}
    source = None if score is None else "official"
    found = {"agent": agent, "task": task, "seed": seed, "final_score": score, "final_source": source}
    return found | unknown | more


def design(agents: str = "ab", seeds: int = 3, tasks: dict[str, str] = TASKS, planned: str | None = None) -> Design:
    return Design("made", tuple(agents), tasks, seeds, frozenset(agents if planned is None else planned))


def score_of(agent: str, task: str, seed: int) -> float:
    """Bounded scores that differ by agent, task and seed without a pattern."""
    return round((ord(agent) * 0.31 + int(task[1:]) * 0.17 + seed * 0.07 * (1 + int(task[1:]) % 3)) % 1, 4)


def full(agents: str = "ab", seeds: int = 3, **more: Any) -> list[dict[str, Any]]:
    return [row(a, t, s, score_of(a, t, s), **more) for a in agents for t in TASKS for s in range(seeds)]


def the(
    report: PowerReport, measure: str = "avg_at_k", reading: str = "random_tasks", first: str | None = "a"
) -> Comparison:
    found = [c for c in report.comparisons if (c.measure, c.reading, c.first) == (measure, reading, first)]
    return found[0]


def test_figures_are_those_of_the_pure_functions() -> None:
    report = study_power(design(), full(cost_usd=0.5), Question(effect=0.2))
    runs = [Run(r["agent"], r["task"], str(r["seed"]), r["final_score"]) for r in full()]
    study = panel(runs, TASKS)
    assert len(report.comparisons) == 4
    for measure, estimator in (("avg_at_k", Estimator()), ("best_at_k", Estimator(3))):
        for reading in ("random tasks", "fixed tasks"):
            plan = plan_of(study, "a", "b", None, reading, estimator)  # type: ignore[arg-type]
            expected, found = power_of(plan), the(report, measure, reading.replace(" ", "_"))
            assert found.detectable == expected.detectable
            assert found.effect_chance == to_find(plan, 0.2).chance
            if expected.more_seeds:
                assert found.half_by_seeds is not None
                assert found.half_by_seeds.runs_added == 2 * 8 * (expected.more_seeds.seeds - 3)
                assert found.half_by_seeds.price == {"cost_usd": pytest.approx(0.5 * found.half_by_seeds.runs_added)}
            if expected.more_tasks:
                assert found.half_by_tasks is not None
                assert found.half_by_tasks.tasks == expected.more_tasks.tasks
    assert (report.runs_planned, report.runs_scored, report.families, report.notes) == (48, 48, 2, ())


def test_the_pooled_pair_stands_first_and_costs_all_agents() -> None:
    report = study_power(design("abc"), full("abc", cost_usd=1.0), Question())
    assert [c.first for c in report.comparisons[:4]] == [None] * 4
    assert len(report.comparisons) == 4 * (1 + 3)
    fixed = the(report, reading="fixed_tasks", first=None)
    assert fixed.half_by_seeds is not None
    assert fixed.half_by_seeds.runs_added == 3 * 8 * (fixed.half_by_seeds.seeds - 3)
    pairs = [c for c in report.comparisons if c.measure == "avg_at_k" and c.reading == "fixed_tasks" and c.first]
    variances = [2 * (c.seed_sd or 0) ** 2 for c in pairs]
    assert 2 * (fixed.seed_sd or 0) ** 2 == pytest.approx(sum(variances) / 3)
    assert report.notes == ("alpha is of one comparison; of 3 (Holm) the first is held against --alpha 0.017",)


def test_price_is_in_the_first_unit_that_every_agent_knows() -> None:
    rows = [
        row("a", "t0", 1, 0.5, cost_usd=1.0, agent_sec=10.0, tokens=100),
        row("a", "t0", 2, 0.5, agent_sec=20.0, tokens=200),
        row("a", "t1", 1, 0.5, cost_usd=4.0, agent_sec=30.0, tokens=300),
        row("b", "t0", 1, 0.5, priced_usd=2.0, agent_sec=5.0, tokens=None),
    ]
    (alone,) = prices(rows, ["a"])
    assert (alone.unit, alone.per_run, alone.known, alone.runs) == ("cost_usd", 2.5, 2, 3)
    (both,) = prices(rows, ["a", "b"])
    assert (both.unit, both.known, both.runs) == ("agent_sec", 4, 4)
    assert both.per_run == pytest.approx(((15 + 30) / 2 + 5) / 2)
    priced = [r | {"priced_usd": 3.0} for r in rows]
    assert [(p.unit, p.known) for p in prices(priced, ["a", "b"])] == [("priced_usd", 4)]
    (second, third) = prices([r | {"tokens": 7} for r in rows], ["a", "b"])
    assert (second.unit, third.unit, third.per_run) == ("agent_sec", "tokens", 7)
    free = [r | {"cost_usd": 0.0, "priced_usd": 0.0} for r in rows]
    assert [p.unit for p in prices(free, ["a", "b"])] == ["agent_sec"], "dollars that nobody spent are no price"
    assert prices(rows, ["c"]) == prices([], ["a"]) == ()


def test_what_is_missing_is_told_and_the_figures_are_for_the_whole_study() -> None:
    rows = [r for r in full() if r["task"] != "t7"]
    rows[0] = rows[0] | {"final_score": None, "final_source": None}
    report = study_power(design(), rows, Question())
    found = the(report)
    assert (found.tasks, found.seeds, report.runs_planned, report.runs_scored) == (8, 3, 48, 41)
    assert report.notes[0] == (
        "7 of 48 runs have no score yet: the figures say what the study can find once all 48 have one, with scores that "
        "spread as those 41 do; as it is now, it finds less"
    )
    assert found.detectable is not None and found.detectable_low is not None and found.detectable_high is not None
    assert found.detectable_low < found.detectable < found.detectable_high


def test_imported_runs_are_taken_as_they_are() -> None:
    rows = [r | {"final_source": "reported"} for r in full() if r["agent"] == "a" or r["task"] not in ("t6", "t7")]
    report = study_power(design(planned=""), rows, Question())
    assert the(report).tasks == 6
    assert report.runs_planned == report.runs_scored == 42
    assert "42 of 42 scores are no official ones" in report.notes[0]


def test_one_seed_one_task_all_equal() -> None:
    one_seed = study_power(design(seeds=1), full(seeds=1), Question())
    random, fixed = the(one_seed), the(one_seed, reading="fixed_tasks")
    assert random.detectable is not None
    assert (random.half_by_seeds, random.seed_sd, random.task_sd) == (None, None, None)
    assert random.half_by_tasks is not None
    assert (fixed.detectable, fixed.reason) == (None, "one seed per task: nothing says how seeds differ")
    assert all(c.measure == "avg_at_k" for c in one_seed.comparisons), "the best of one is no other number"
    one_task = study_power(
        design(tasks={"t1": "odd"}, seeds=4), [r for r in full(seeds=4) if r["task"] == "t1"], Question()
    )
    assert the(one_task).reason == "one task: nothing says how tasks differ"
    assert the(one_task, reading="fixed_tasks").detectable is not None
    equal = study_power(design(), [r | {"final_score": 0.5} for r in full()], Question(effect=0.1))
    for comparison in equal.comparisons:
        assert comparison.detectable is None
        assert "nothing says how far one can" in (comparison.reason or "")
        assert comparison.effect_chance is None
    few = study_power(
        design(tasks={t: TASKS[t] for t in ("t0", "t2", "t4")}),
        [r for r in full() if r["task"] in ("t0", "t2", "t4")],
        Question(),
    )
    assert "6 tasks are the fewest" in (the(few).reason or "")


def test_assumed_variances_stand_for_what_no_run_tells() -> None:
    report = study_power(design(), [], Question(seed_sd=0.1, task_sd=0.05))
    found = the(report)
    assert (found.seed_sd, found.task_sd, found.tasks) == (pytest.approx(0.1), pytest.approx(0.05), 8)
    assert found.detectable is not None
    assert (report.prices, found.half_by_tasks.price if found.half_by_tasks else None) == ((), {})
    assert {c.measure for c in report.comparisons} == {"avg_at_k"}
    half = study_power(design(), [], Question(seed_sd=0.1))
    assert the(half).reason == "no run has a score; --assume-task-sd lets it be planned"
    assert the(half, reading="fixed_tasks").detectable is not None
    split = study_power(design(seeds=1), full(seeds=1), Question(seed_sd=0.01))
    whole = study_power(design(seeds=1), full(seeds=1), Question())
    assert the(split).detectable == pytest.approx(the(whole).detectable), "only told apart, not added"
    assert the(split).seed_sd == pytest.approx(0.01)


def test_an_assumed_spread_of_tasks_leaves_the_rest_of_it_to_the_seeds() -> None:
    whole = the(study_power(design(seeds=1), full(seeds=1), Question()))
    least = the(study_power(design(seeds=1), full(seeds=1), Question(task_sd=0.01)))
    assert least.detectable == pytest.approx(whole.detectable, rel=1e-6), "no seed is without noise by saying nothing"
    assert least.half_by_seeds is not None
    assert least.task_sd == pytest.approx(0.01)
    total = study_power(design(seeds=1), full(seeds=1), Question(task_sd=0.99))
    assert (the(total).task_sd, the(total).seed_sd) == (pytest.approx(0.99), 0), "more than there is"


def test_one_planned_seed_is_too_few_and_says_from_where_on_two_find_something() -> None:
    report = study_power(design(seeds=1), full(seeds=1), Question(seed_sd=0.1, effect=0.2))
    found = the(report, reading="fixed_tasks")
    two = the(study_power(design(seeds=2), [], Question(seed_sd=0.1)), reading="fixed_tasks").detectable
    assert found.reason == f"one seed per task: two are the fewest, and find differences from {two:.3f} on"
    assert found.effect_by_seeds is not None
    assert found.effect_by_seeds.seeds >= 2
    single = design(seeds=1, tasks={"t0": "even"})
    none = the(study_power(single, [], Question(seed_sd=0.1)), reading="fixed_tasks")
    assert none.reason == "one seed per task: two are the fewest", "of one task no result of two can be significant"


def test_the_pooled_pair_has_the_commonest_reason() -> None:
    rows = [r for r in full("abcd", seeds=1) if r["agent"] != "a" or r["task"] == "t0"]
    rows = [r for r in rows if r["agent"] != "b" or r["task"] != "t0"]
    report = study_power(design("abcd", seeds=1, planned=""), rows, Question())
    reasons = [c.reason for c in report.comparisons if c.reading == "fixed_tasks" and c.first]
    assert reasons[0] == "no task has a score of both for avg"
    assert the(report, reading="fixed_tasks", first=None).reason == "one seed per task: nothing says how seeds differ"


def test_an_alpha_that_drawn_tests_of_the_tables_do_not_reach_is_noted() -> None:
    assert not study_power(design(), full(), Question(alpha=0.001)).notes
    assert study_power(design(), full(), Question(alpha=1e-5)).notes == (
        "tests that are drawn, not counted, have p from 0.0001 on in the tables, above this alpha",
    )


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question(alpha=0), "--alpha 0: give a number between 0 and 1"),
        (Question(power=1), "--power 1: give a number between 0 and 1"),
        (Question(power=float("nan")), "--power nan"),
        (Question(power=0.01), "--power 0.01: so often a difference is found where there is none, at --alpha 0.05"),
        (Question(alpha=0.9, power=0.05), "--power 0.05: so often"),
        (Question(effect=0), "--effect 0: scores lie between 0 and 1"),
        (Question(effect=float("inf")), "--effect inf"),
        (Question(seed_sd=-1), "--assume-seed-sd -1"),
        (Question(task_sd=2), "--assume-task-sd 2"),
        (Question(category="none"), "--category none: no task is of this family; there are even, odd"),
    ],
)
def test_options_that_make_no_sense(question: Question, message: str) -> None:
    with pytest.raises(StudyError, match="^" + message.replace("(", r"\(")):
        study_power(design(), full(), question)


def test_no_pair_and_no_run() -> None:
    with pytest.raises(StudyError, match="one agent, and a difference is between two"):
        study_power(design("a"), full("a"), Question())
    with pytest.raises(StudyError, match=r"no run has a score.*--assume-seed-sd.*--assume-task-sd"):
        study_power(design(), [], Question(task_sd=0.1))
    lacking = study_power(design("abc"), full("ab"), Question())
    assert [c.reason for c in lacking.comparisons if (c.first, c.second) == ("a", "c")] == [
        "no run of c has a score"
    ] * 4
    assert lacking.comparisons[0].detectable is not None, "the pooled pair is made of what there is"


def test_a_family_alone() -> None:
    report = study_power(design(), full(), Question(category="odd"))
    assert (report.tasks, report.families, report.runs_planned) == (4, 1, 24)
    assert the(report).reason is not None
    assert the(report, reading="fixed_tasks").tasks == 4
