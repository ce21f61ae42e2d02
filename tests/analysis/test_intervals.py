"""How sure the tables' numbers are: the rows of intervals, comparisons, rankings and noise."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest
from made_run import MadeRun, Round
from made_study import MadeStudy
from made_transcript import EVALUATOR

from loopscope.analysis import left
from loopscope.analysis.build import analyze
from loopscope.analysis.finals import FinalScore
from loopscope.analysis.intervals import comparing, figures_of, interval_tables
from loopscope.analysis.intervals.build import seed_of
from loopscope.analysis.intervals.figures import Figure
from loopscope.analysis.intervals.further import everyone_rows
from loopscope.analysis.intervals.samples import MEASURES, bounds_of, sample_of
from loopscope.analysis.quantities import DIAGNOSTICS, PROCESS
from loopscope.analysis.tabled import TabledRun, tabled
from loopscope.analysis.tables import measure_rows, outcome_rows, resource_rows, task_score_rows
from loopscope.measures.uncertainty import (
    Estimator,
    Settings,
    difference,
    differences,
    level_of,
    missing_bounds,
    missing_bounds_of_difference,
    panel,
)
from loopscope.measures.uncertainty import Run as PanelRun
from loopscope.measures.uncertainty.differences import BY_TEST_ALONE
from loopscope.measures.uncertainty.distributions import t_quantile
from loopscope.models.interval_rows import ComparisonRow, IntervalRow, NoiseDipRow, NoiseRow, RankingRow, StabilityRow
from loopscope.models.standing import BY_TEST, by_test_alone, pair_words, seen_from, told_apart

RANDOM, FIXED = "random tasks", "fixed tasks"
type Scores = dict[str, dict[str, list[str | None]]]
"""Agent -> task -> final scores."""


class Tables:
    """The rows that come of final scores and runs; a task's family is what stands before the first dash."""

    def __init__(self, scores: Scores, runs: tuple[TabledRun, ...] = ()) -> None:
        self.finals = [
            FinalScore(agent, task, None if value is None else Decimal(value), None if value is None else "official")
            for agent, tasks in scores.items()
            for task, values in tasks.items()
            for value in values
        ]
        self.categories = {final.task: final.task.split("-")[0] for final in self.finals}
        self.categories |= {run.run.task: run.run.task.split("-")[0] for run in runs}
        self.outcome = outcome_rows(self.finals, self.categories)
        measures = [row for names in (PROCESS, DIAGNOSTICS) for row in measure_rows(runs, names, self.categories)]
        figures = figures_of(self.outcome, measures, resource_rows(runs, self.categories))
        self.rows = interval_tables(runs, self.finals, self.categories, figures)

    def _of[Row](self, name: str, kind: type[Row], where: dict[str, object]) -> Iterator[Row]:
        for row in self.rows[name]:
            assert isinstance(row, kind)
            if all(getattr(row, key) == value for key, value in where.items()):
                yield row

    def intervals(self, **where: object) -> list[IntervalRow]:
        return list(self._of("intervals", IntervalRow, where))

    def interval(self, measure: str = "avg_at_k", reading: str = RANDOM, category: str = "overall") -> IntervalRow:
        [row] = self.intervals(measure=measure, reading=reading, category=category, agent="a")
        return row

    def comparisons(self, **where: object) -> list[ComparisonRow]:
        return list(self._of("comparisons", ComparisonRow, where))

    def comparison(self, measure: str = "avg_at_k", reading: str = RANDOM, **where: object) -> ComparisonRow:
        [row] = self.comparisons(measure=measure, reading=reading, **({"category": "overall"} | where))
        return row

    def rankings(self, **where: object) -> list[RankingRow]:
        return list(self._of("rankings", RankingRow, where))

    def noise(self, **where: object) -> dict[str, NoiseRow]:
        return {row.source: row for row in self._of("noise", NoiseRow, where)}

    def noise_dips(self, **where: object) -> NoiseDipRow:
        [row] = self._of("noise_dips", NoiseDipRow, where)
        return row


def scores(base: float, tasks: int, seeds: int = 3, step: float = 0.02) -> dict[str, list[str | None]]:
    """Tasks of two families, each a little better than the one before, with seeds 0.01 apart."""
    return {f"{'xy'[t % 2]}-{t}": [f"{base + step * t + 0.01 * s:.4f}" for s in range(seeds)] for t in range(tasks)}


@pytest.fixture
def made(tmp_path):
    study = MadeStudy(tmp_path / "study", ["a", "b"], {"t": "toy", "u": "puzzle", "v": "toy"}, 2)
    study.add("t", "a", 1, ["0", "0.8", "0.5", "0.8"], "0.8")
    study.add("t", "a", 2, ["0", "0.2"], "0.1")
    study.add("u", "a", 1, ["0.3", None, "0.4"], None)
    study.add("v", "a", 1, ["0", "0.6", "0.3"], "0.3")
    study.add("t", "b", 1, [], "0.5")
    study.add("v", "b", 2, ["0.1"], "0.1")
    return study


def test_each_number_of_the_other_tables_has_its_interval_and_is_the_same_to_the_last_bit(made):
    frames = analyze(made.path).frames
    wanted = {
        (row["agent"], row["category"], measure): (row[measure], row["n_tasks"], row["n_runs"], row["n_missing"])
        for row in frames["outcome"].to_dicts()
        for measure in ("avg_at_k", "best_at_k")
    }
    rollouts = {key[:2]: counts[2] + counts[3] for key, counts in wanted.items()}
    for name in ("process", "diagnostics"):
        for row in frames[name].to_dicts():
            key = row["agent"], row["category"]
            wanted[*key, row["measure"]] = row["value"], row["n_tasks"], row["n_runs"], rollouts[key] - row["n_runs"]
    for row in frames["process_by_category"].to_dicts():
        planned = sum(count for (_, category), count in rollouts.items() if category == row["category"])
        counts = row["n_runs"], planned - row["n_runs"]
        wanted["all agents", row["category"], row["measure"]] = row["value"], None, *counts
    for row in frames["resources"].to_dicts():
        key, n = (row["agent"], row["category"]), row["runs"]
        wanted[*key, row["resource"]] = row["per_task"], None, n, rollouts[key] - n
    for reading in (RANDOM, FIXED):
        rows = [row for row in frames["intervals"].to_dicts() if row["reading"] == reading]
        found = {(row["agent"], row["category"], row["measure"]): row for row in rows}
        assert len(found) == len(rows) and found.keys() == wanted.keys()
        for key, (value, n_tasks, n_runs, n_missing) in wanted.items():
            row = found[key]
            assert (row["value"], row["n_runs"], row["n_missing"]) == (value, n_runs, n_missing), key
            assert n_tasks in (None, row["n_tasks"]), key
            if row["low"] is not None:
                assert row["low"] <= value <= row["high"], key
            else:
                assert row["guard"], key
    unknown = {row["guard"] for row in frames["intervals"].to_dicts() if row["n_runs"] == 0}
    assert unknown == {"no score", "no run has a value"}
    measures = {measure for _, _, measure in wanted}
    assert measures == {"avg_at_k", "best_at_k", *MEASURES}


def test_averages_over_common_tasks_have_the_intervals_of_a_study_of_these_tasks_alone():
    one, other = scores(0.2, 12), scores(0.25, 12, step=0.03)
    other["y-3"][1] = None
    lacking: Scores = {"a": one, "b": {task: own for task, own in other.items() if task not in ("x-0", "y-1")}}
    whole, alone = (
        Tables(study)
        for study in (lacking, {agent: {t: tasks[t] for t in lacking["b"]} for agent, tasks in lacking.items()})
    )
    assert {row.category for row in whole.intervals(measure="common_avg")} == {"overall", "x", "y"}
    assert not alone.intervals(measure="common_avg") and not alone.intervals(measure="common_best")
    for common, name in (("common_avg", "avg_at_k"), ("common_best", "best_at_k")):
        found = whole.intervals(measure=common, category="overall")
        wanted = alone.intervals(measure=name, category="overall")
        assert [replace(row, measure=name) for row in found] == wanted
    by_agent = {row.agent: row for row in whole.outcome if row.category == "overall"}
    for row in whole.intervals(measure="common_avg", category="overall"):
        assert row.value == by_agent[row.agent].common_avg and row.n_tasks == 10
    assert [row.n_missing for row in whole.intervals(measure="common_avg", category="y", agent="b")] == [1, 1]


def test_a_mean_over_agents_has_the_interval_of_the_tasks_means_over_agents():
    numbers = {"a": [0.2, 0.4, 0.9, 0.5], "b": [0.1, 0.3, 0.6, 0.8]}
    rows = [(agent, f"x-{t}", value + 0.05 * s) for agent, own in numbers.items() for t, value in enumerate(own)
            for s in range(2)]  # fmt: skip
    categories = {f"x-{t}": "x" for t in range(4)}
    figure = Figure("all agents", "x", "c1", 0.5, 2, 0, 0, 0)
    sample = sample_of(rows, categories)
    random, fixed = everyone_rows([figure], {"c1": sample}, 0)
    joint = panel([PanelRun("both", f"x-{t}", "1", (numbers["a"][t] + numbers["b"][t] + 0.05) / 2) for t in range(4)],
                  categories)  # fmt: skip
    wanted = level_of(joint, "both")
    assert (random.low, random.high) == (pytest.approx(wanted.low), pytest.approx(wanted.high))
    assert random.n_runs == 16 and random.n_tasks == 4
    se = (4 * 2 * (0.05**2 / 4) / 8**2) ** 0.5
    assert fixed.high - fixed.low == pytest.approx(2 * t_quantile(0.975, 8) * se, rel=0.01)
    [without, _] = everyone_rows([figure], {"c1": sample_of([r for r in rows if r[:2] != ("b", "x-3")], categories)}, 0)
    mean = (sum(numbers["a"]) / 4 + sum(numbers["b"][:3]) / 3 + 0.05) / 2
    assert without.low is not None and without.low < mean < without.high and without.n_tasks == 4


def test_an_agents_number_on_one_task_has_the_interval_of_other_seeds():
    study: Scores = {"a": {"x-0": ["0.2", "0.4", None], "x-1": ["0.7"], "x-2": ["1", "1"]}, "b": {"x-0": [None]}}
    tables = Tables(study)
    rows = {(row.agent, row.task): row for row in task_score_rows(tables.finals, tables.categories)}
    settings = Settings(reading="fixed tasks")
    for task, values in (("x-0", [0.2, 0.4]), ("x-2", [1.0, 1.0])):
        pure = panel([PanelRun("a", task, str(s), v) for s, v in enumerate(values)], tables.categories)
        for row_ends, estimator in (
            ((rows["a", task].avg_low, rows["a", task].avg_high), Estimator()),
            ((rows["a", task].best_low, rows["a", task].best_high), Estimator(2)),
        ):
            wanted = level_of(pure, "a", estimator, settings=settings)
            assert row_ends == (pytest.approx(wanted.low), pytest.approx(wanted.high))
    for key in (("a", "x-1"), ("b", "x-0")):
        assert (rows[key].avg_low, rows[key].avg_high, rows[key].best_low, rows[key].best_high) == (None,) * 4


def test_a_direction_that_missing_scores_can_reverse_is_not_claimed_for_them():
    lead, behind = (
        {f"x-{t}": [f"{base + base * 0.02 * t + 0.002 * s:.4f}" for s in range(3)] for t in range(8)}
        for base in (0.8, 0.5)
    )
    few: Scores = {"a": {task: [own[0], None, None] for task, own in lead.items()}, "b": {**behind}}
    row = Tables(few).comparison()
    assert (row.finding, row.reversible) == ("first_higher", True)
    assert row.verdict == "a is higher than b, as far as scores are there; missing ones could reverse it"
    assert row.missing_low < 0 < row.missing_high
    swapped = Tables({"a": few["b"], "b": few["a"]}).comparison()
    assert (swapped.finding, swapped.reversible) == ("second_higher", True)
    assert swapped.verdict.startswith("a is lower than b, as far as")
    one: Scores = {"a": {**lead, "x-3": [*lead["x-3"][:2], None]}, "b": {**behind}}
    row = Tables(one).comparison()
    assert (row.finding, row.reversible, row.verdict) == ("first_higher", False, "a is higher than b")
    assert row.missing_low > 0
    row = Tables({"a": {**lead}, "b": {**behind}}).comparison()
    assert (row.reversible, row.outer_low, row.outer_high) == (False, None, None)


def test_the_outer_ends_are_those_of_the_intervals_with_what_is_missing_filled_in():
    study: Scores = {"a": scores(0.2, 12), "b": scores(0.3, 12, step=0.03)}
    study["a"]["x-0"][1] = study["a"]["y-1"][0] = study["b"]["x-2"][2] = None
    tables = Tables(study)
    pure = panel(
        [
            PanelRun(agent, task, str(seed), None if value is None else Decimal(value))
            for agent, tasks in study.items()
            for task, values in tasks.items()
            for seed, value in enumerate(values)
        ],
        tables.categories,
    )
    for reading in (RANDOM, FIXED):
        settings = Settings(reading=reading)
        for measure, estimator in (("avg_at_k", Estimator()), ("best_at_k", Estimator(3))):
            row, wanted = tables.interval(measure, reading), missing_bounds(pure, "a", estimator, settings=settings)
            assert (row.outer_low, row.outer_high) == pytest.approx((wanted.interval_low, wanted.interval_high))
            assert row.outer_low < row.missing_low <= row.value <= row.missing_high < row.outer_high
            pair = tables.comparison(measure, reading)
            wanted = missing_bounds_of_difference(pure, "a", "b", estimator, settings=settings)
            assert (pair.missing_low, pair.missing_high) == pytest.approx((wanted.low, wanted.high))
            assert (pair.outer_low, pair.outer_high) == pytest.approx((wanted.interval_low, wanted.interval_high))
    assert {(row.outer_low, row.outer_high) for row in tables.intervals(category="y", agent="b")} == {(None, None)}


def test_whether_the_order_would_stand_if_less_were_looked_at():
    study: Scores = {
        "a": scores(0.2, 6),
        "b": scores(0.5, 6),
        "c": {"x-0": ["0.9"] * 3, **{t: ["0.1"] * 3 for t in scores(0, 6) if t != "x-0"}},
    }
    rows = [row for row in Tables(study).rows["stability"] if isinstance(row, StabilityRow)]
    avg = {row.what: row for row in rows if row.measure == "avg_at_k"}
    assert list(avg) == [
        "1 of 3 seeds",
        "2 of 3 seeds",
        "best@2",
        "best@3",
        "50 % of the tasks",
        "without x",
        "without y",
    ]
    assert {row.what for row in rows if row.measure == "best_at_k"} == {"50 % of the tasks", "without x", "without y"}
    assert {(row.n_ordered, row.n_tasks, row.ordered) for row in rows} == {(3, 6, "agents")}
    assert (avg["2 of 3 seeds"].tau, avg["2 of 3 seeds"].same_order, avg["2 of 3 seeds"].draws) == (1, 1, 1000)
    half = avg["50 % of the tasks"]
    assert half.tau is not None and half.tau < 1 and half.same_order < 1, "c is second where x-0 is drawn, else last"
    assert (avg["without y"].draws, avg["without y"].same_first) == (1, 1)
    assert not Tables({"a": {"x": ["1"]}, "b": {"x": ["0"]}}).rows["stability"], "nothing to leave out"
    assert not Tables({"a": scores(0.2, 6)}).rows["stability"]


def test_one_family_is_the_whole_and_is_compared_and_ranked_once(monkeypatch):
    made = []
    monkeypatch.setattr(comparing, "differences", lambda *args: made.append(args) or differences(*args))
    study: Scores = {
        agent: {f"x-{t}": own for t, own in enumerate(scores(base, 8).values())}
        for agent, base in (("a", 0.2), ("b", 0.5))
    }
    tables = Tables(study)
    assert len(made) == 2 * 2, "avg@k and best@k, each reading"
    assert len(tables.intervals(category="overall")) == 2 * 2 * 2
    for rows in (tables.comparisons, tables.rankings, tables.intervals):
        whole, family = rows(category="overall"), rows(category="x")
        assert whole and [replace(row, category="overall") for row in family] == whole


def test_the_ends_are_those_of_the_pure_functions():
    study: Scores = {"a": scores(0.2, 12), "b": scores(0.25, 12, step=0.03)}
    tables = Tables(study)
    pure = panel(
        [
            PanelRun(agent, task, str(seed), Decimal(value))
            for agent, tasks in study.items()
            for task, values in tasks.items()
            for seed, value in enumerate(values)
            if value is not None
        ],
        tables.categories,
    )
    for reading in (RANDOM, FIXED):
        row, wanted = tables.interval(reading=reading), level_of(pure, "a", settings=Settings(reading=reading))
        assert (row.low, row.high) == (pytest.approx(wanted.low), pytest.approx(wanted.high))
        assert (row.method, row.k, row.n_tasks, row.guard) == ("score", 3, 12, wanted.guard)
        pair, apart = tables.comparison(reading=reading), difference(pure, "a", "b", settings=Settings(reading=reading))
        assert (pair.difference, pair.low) == (apart.interval.estimate, apart.interval.low)
        assert (pair.finding, pair.verdict, pair.family) == ("second_higher", "a is lower than b", 1)
        assert (pair.wins, pair.losses, pair.ties, pair.superiority) == (0, 12, 0, 0)
        assert pair.p_above == 0


def test_amounts_have_no_upper_bound_and_do_not_go_below_zero():
    runs = tuple(
        replace(
            made,
            run=replace(made.run, task=f"x-{t}", run_id=f"{t}", agent="a"),
            quantities={**made.quantities, "tokens": 10**t},
        )
        for made in [tabled(MadeRun([Round(("0.5",))], None).analysis())]
        for t in range(10)
    )
    tables = Tables({"a": {f"x-{t}": ["0.5"] for t in range(10)}}, runs)
    many = tables.interval("tokens")
    assert many.method == "bca" and many.low is not None and many.high is not None and many.value is not None
    assert 0 < many.low < many.value < many.high, "a long tail: the mean is mostly too low"
    assert many.high - many.value > many.value - many.low
    few = Tables({"a": {f"x-{t}": ["0.5"] for t in range(3)}}, runs[:3]).interval("tokens")
    assert (few.method, few.low) == ("t", 0), "t alone would give less than nothing"
    assert bounds_of("tokens") is None and bounds_of("claim_gap") == (-1, 1) and bounds_of("c1") == (0, 1)


def test_a_study_of_one_run_has_numbers_and_no_interval(tmp_path):
    study = MadeStudy(tmp_path / "study", ["a"], {"t": "toy"}, 1)
    study.add("t", "a", 1, ["0", "0.8"], "0.8")
    frames = analyze(study.path).frames
    rows = [row for row in frames["intervals"].to_dicts() if row["measure"] == "avg_at_k"]
    assert {(row["value"], row["low"], row["high"], row["method"]) for row in rows} == {(0.8, None, None, None)}
    assert {row["guard"] for row in rows} == {
        "one task: nothing says how tasks differ",
        "one seed per task: nothing says how seeds differ",
    }
    assert [frames[name].height for name in ("comparisons", "rankings", "noise", "noise_dips")] == [0, 0, 6, 2]
    assert {row["variance"] for row in frames["noise"].to_dicts()} == {None}


def test_a_study_without_any_run_has_no_rows(tmp_path):
    frames = analyze(MadeStudy(tmp_path / "study", ["a", "b"], {"t": "toy"}, 2).path).frames
    rows = frames["intervals"].to_dicts()
    assert {(row["measure"], row["value"], row["n_missing"]) for row in rows} == {
        ("avg_at_k", None, 2),
        ("best_at_k", None, 2),
    }
    assert {row["finding"] for row in frames["comparisons"].to_dicts()} == {"nothing"}
    assert frames["rankings"].height == 0


def test_where_nothing_differs_the_interval_is_what_so_few_can_leave_unseen():
    flat = Tables({"a": {f"x-{t}": ["0"] * 3 for t in range(5)}})
    row = flat.interval()
    assert (row.value, row.low, row.high) == (0, 0, pytest.approx(1 - 0.025 ** (1 / 5)))
    fixed = flat.interval(reading=FIXED)
    assert (fixed.low, fixed.high) == (0, pytest.approx(1 - 0.025 ** (1 / 15)))
    equal = Tables({"a": scores(0.3, 6), "b": scores(0.3, 6)}).comparison()
    assert (equal.difference, equal.ties, equal.d_z, equal.superiority) == (0, 6, None, 0.5)
    assert (equal.finding, equal.p) == ("no_evidence", 1)


def test_with_four_tasks_no_result_was_possible_and_that_is_said():
    pair = Tables({"a": scores(0.1, 4), "b": scores(0.6, 4)}).comparison()
    assert (pair.finding, pair.p, pair.p_least, pair.n_tasks) == ("too_few", 1 / 8, 1 / 8, 4)
    assert pair.verdict.startswith("no evidence of a difference, and none was possible")
    alone = Tables({"a": {"x-0": ["0.1"]}, "b": {"x-0": ["0.9"]}}).comparison()
    assert (alone.finding, alone.low) == ("too_few", None)


def test_with_many_agents_the_correction_can_leave_nothing_to_find_and_that_is_said():
    seven: Scores = {name: scores(0.05 * i, 7, seeds=1, step=0.02 + 0.01 * i) for i, name in enumerate("abcdefg")}
    pairs = Tables(seven).comparisons(measure="avg_at_k", reading=RANDOM, category="overall")
    assert {pair.family for pair in pairs} == {21} and {pair.p_least for pair in pairs} == {2**-6}
    assert {pair.finding for pair in pairs} == {"too_few"}
    assert pairs[0].verdict.endswith("with 21 comparisons on so few tasks the corrected p is at least 0.33")
    two = Tables({name: seven[name] for name in "ag"}).comparison()
    assert (two.finding, two.p_adjusted) == ("second_higher", 2**-6)


def test_missing_scores_are_left_out_counted_and_bounded():
    tables = Tables(
        {"a": {"x-0": ["0.4", "0.8"], "x-1": ["0.6", None]}, "b": {"x-0": ["0.1", "0.1"], "x-1": [None] * 2}}
    )
    row = tables.interval()
    assert (row.value, row.n_tasks, row.n_runs, row.n_missing) == (0.6, 2, 3, 1)
    assert (row.missing_low, row.missing_high) == (pytest.approx((0.6 + 0.3) / 2), pytest.approx((0.6 + 0.8) / 2))
    assert row.guard is not None and "1 missing" in row.guard
    best = tables.interval("best_at_k")
    assert (best.value, best.missing_low, best.missing_high) == (pytest.approx(0.7), pytest.approx(0.7), 0.9)
    assert best.guard is not None and best.guard.endswith("1 of 2 tasks have fewer than 2 scores: their best is low")
    pair = tables.comparison()
    assert (pair.difference, pair.n_tasks, pair.n_missing) == (pytest.approx(0.5), 1, 3)
    # x-0 is 0.5 apart; x-1: a has 0.6 and nothing, b nothing at all
    assert pair.missing_low == pytest.approx((0.5 + (0.3 - 1)) / 2)
    assert pair.missing_high == pytest.approx((0.5 + (0.8 - 0)) / 2)
    complete = Tables({"a": scores(0.1, 4), "b": scores(0.6, 4)})
    assert complete.interval().missing_low is None and complete.comparison().missing_high is None


def test_agents_with_other_numbers_of_runs_are_compared_by_best_only_where_both_have_k():
    tables = Tables({"a": {"x-0": ["0.4", "0.8"], "x-1": ["0.6"]}, "b": {"x-0": ["0.1", "0.3"], "x-1": ["0.2"]}})
    assert (tables.comparison().n_tasks, tables.comparison().n_missing) == (2, 0), "nothing was planned: nothing lacks"
    best = tables.comparison("best_at_k")
    assert (best.k, best.n_tasks, best.difference) == (2, 1, 0.5)
    assert tables.interval("best_at_k").value == pytest.approx((0.8 + 0.6) / 2), "as in outcome"


def test_rankings_are_over_the_tasks_that_all_have_and_know_what_missing_scores_could_change():
    study: Scores = {"a": scores(0.2, 10), "b": scores(0.4, 10), "c": scores(0.41, 10)}
    tables = Tables(study)
    rows = tables.rankings(measure="avg_at_k", reading=RANDOM, category="overall")
    assert [(row.agent, row.rank, row.place) for row in rows] == [
        (agent, rank, place) for rank, agent in enumerate("cba", start=1) for place in (1, 2, 3)
    ]
    assert all(sum(row.probability for row in rows if row.agent == agent) == pytest.approx(1) for agent in "abc")
    assert {(row.draws, row.n_tasks) for row in rows} == {(10_000, 10)}
    assert {(row.agent, row.best_place, row.worst_place) for row in rows} == {("a", 3, 3), ("b", 2, 2), ("c", 1, 1)}
    above = tables.comparison(first="b", second="c").p_above
    assert above == 0, "always 0.01 lower"
    study["b"]["x-0"][0] = None
    study["c"]["y-1"] = [None] * 3
    lacking = Tables(study).rankings(measure="avg_at_k", reading=RANDOM, category="overall", place=1)
    assert {row.n_tasks for row in lacking} == {9}
    assert {(row.agent, row.best_place, row.worst_place) for row in lacking} == {("a", 3, 3), ("b", 1, 2), ("c", 1, 2)}


def test_one_agent_alone_is_neither_compared_nor_ranked():
    tables = Tables({"a": scores(0.2, 10)})
    assert (tables.comparisons(), tables.rankings()) == ([], [])
    apart = Tables({"a": {"x-0": ["0.1"]}, "b": {"x-1": ["0.2"]}})
    assert (apart.comparison().finding, apart.comparison().guard, apart.rankings()) == ("nothing", None, [])


def test_scores_that_are_no_numbers_are_refused_or_missing():
    with pytest.raises(ValueError, match="Infinity"):
        Tables({"a": {"x-0": ["Infinity"]}})
    assert Tables({"a": {"x-0": ["NaN", "0.5"]}}).interval().value == 0.5


def test_a_run_that_is_there_twice_counts_twice_as_in_the_other_tables():
    one = tabled(MadeRun([Round(("0.2",)), Round(("0.8",))], None).analysis())
    runs = (one, replace(one, run=replace(one.run, run_id="again")))
    tables = Tables({one.run.agent: {one.run.task: ["0.5", "0.5"]}}, runs)
    [row] = tables.intervals(measure="c1", reading=FIXED, category="overall")
    assert (row.n_runs, row.value) == (2, one.run.c1)


def test_the_spread_of_scores_is_split_into_tasks_seeds_and_verifications():
    def run(task: str, seed: int, *rewards: str) -> TabledRun:
        made = tabled(MadeRun([Round(("0",))], rewards).analysis())
        return replace(made, run=replace(made.run, run_id=f"{task}{seed}", task=task, seed=seed))

    runs = (run("x-0", 1, "0.1", "0.3"), run("x-0", 2, "0.5", "0.5"), run("x-1", 1, "0.9"), run("x-1", 2, "0.7"))
    rows = Tables({}, runs).noise(category="overall")
    assert rows["verification"].variance == pytest.approx(0.02 / 2), "squares of .02 and 0, two degrees of freedom"
    # run means .2 .5 .9 .7: squares .045 + .02 over 2; each holds the verification's by (1/2 + 1/2, 1 + 1) / 2 runs / 2
    assert rows["seed"].variance == pytest.approx((0.065 - 0.01 * (0.5 + 1)) / 2)
    assert rows["seed"].sd == pytest.approx(0.025**0.5)
    # task means .35 and .8: squares .10125; within: a task's mean has seed/2 and (1/2+1/2)/4 or (1+1)/4 verifications
    assert rows["task"].variance == pytest.approx(0.10125 - 0.025 / 2 - 0.01 * (0.25 + 0.5) / 2)
    assert (rows["task"].df, rows["task"].low, rows["task"].guard) == (1, None, "hardly known: 1 degrees of freedom")


def test_dips_stand_beside_those_that_noise_alone_would_make():
    noisy = tabled(MadeRun([Round(("10", "12")), Round(("11", "13")), Round(("9",))], None, EVALUATOR).analysis())
    assert (noisy.run.n_dips, len(noisy.repeats)) == (1, 2)
    row = Tables({}, (noisy,)).noise_dips(category="overall")
    assert (row.dips, row.n_runs, row.n_unknown) == (1, 1, 0)
    assert row.expected is not None and 0.3 < row.expected < 1.2 and row.share == min(1, row.expected)
    other = tabled(MadeRun([Round(("10",)), Round(("11",))], None, EVALUATOR).analysis())
    other = replace(other, run=replace(other.run, run_id="other", agent="b"))
    row = Tables({}, (noisy, other)).noise_dips(category="overall", agent="b")
    assert (row.n_runs, row.dips) == (1, 1) and row.expected, "by the noise of the task's other run"
    silent = tabled(MadeRun([Round(("0.5",)), Round(("0.4",))], None).analysis())
    row = Tables({}, (silent,)).noise_dips(category="overall")
    assert (row.dips, row.expected, row.share, row.n_dips_unknown) == (0, None, None, 1)
    steady = tabled(MadeRun([Round(("0.5", "0.5")), Round(("0.4", "0.4"))], None).analysis())
    row = Tables({}, (steady,)).noise_dips(category="overall")
    assert (row.dips, row.expected, row.share) == (1, 0, 0)


def test_another_command_on_a_state_is_no_repeated_measurement():
    made = MadeRun([Round(("10", "12"))], None, EVALUATOR).analysis()
    assert [len(group) for group in left.repeats(made)] == [2]
    first, second = made.evidence.evaluations
    seen = (first, second.model_copy(update={"command": "another"}))
    assert left.repeats(replace(made, evidence=made.evidence.model_copy(update={"evaluations": seen}))) == ()
    nobody = made.evidence.model_copy(update={"noise_band": None})
    assert left.repeats(replace(made, evidence=nobody)) == (), "a measured file: noise is not told from progress"


def test_equal_records_give_equal_bytes_and_other_scores_other_draws(made):
    def content() -> dict[str, str]:
        analyze(made.path)
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in made.store.tables.iterdir()}

    assert content() == content()
    finals = [FinalScore("a", "t", Decimal("0.5")), FinalScore("a", "u", None)]
    assert seed_of(finals) == seed_of(finals[::-1]) != seed_of([finals[0]])


def test_what_needs_no_interval_does_not_load_numpy():
    modules = "loopscope.cli, loopscope.analysis.work, loopscope.analysis.explain, loopscope.analysis.vectors"
    code = f"import sys, {modules}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


_EXPLAINED = """
import sys
from pathlib import Path
from loopscope.analysis.explain import explain_run
told = explain_run(Path(sys.argv[1]))
print(next(step.value for step in told.extras if step.name == "dip_confidence"), "numpy" in sys.modules)
"""


@pytest.mark.parametrize("repeats", [2, 1])
def test_measuring_a_run_with_a_dip_does_not_load_numpy(tmp_path, repeats):
    study = MadeStudy(tmp_path / "dip", ["a"], {"t": "toy"}, 1)
    study.add("t", "a", 1, ["0", "0.8", "0.5"], "0.5", repeats=repeats)
    command = [sys.executable, "-c", _EXPLAINED, str(study.path)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert said == (["1.0", "False"] if repeats > 1 else ["None", "False"])


def test_where_nothing_spreads_the_test_alone_decides_and_every_word_says_so() -> None:
    tables = Tables({a: {f"x-{i}": [s, s] for i in range(8)} for a, s in (("a", "0.7"), ("b", "0.5"))})
    [pair] = tables.comparisons(measure="avg_at_k", reading=RANDOM, category="overall")
    assert pair.low is not None and pair.high is not None and pair.low < 0 < pair.high
    assert pair.p_adjusted is not None and pair.p_adjusted < 0.05
    assert (pair.finding, pair.verdict) == ("first_higher", f"a is higher than b, {BY_TEST_ALONE}")
    assert by_test_alone(pair) and told_apart(pair) and BY_TEST == BY_TEST_ALONE
    assert pair_words(pair, "avg@2").startswith(f"a is higher than b, {BY_TEST} (avg@2: +0.20 [-0.")
    assert pair_words(seen_from(pair, "b"), "avg@2").startswith(f"b is lower than a, {BY_TEST}")
    few = Tables({a: {f"x-{i}": [s, s] for i in range(4)} for a, s in (("a", "0.7"), ("b", "0.5"))})
    assert few.comparisons(measure="avg_at_k", reading=RANDOM, category="overall")[0].finding == "too_few"
