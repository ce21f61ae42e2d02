"""What is known within a range (C2 where not all was seen), and orders of the same models in several harnesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

import pytest
from made_run import MadeRun, Round

from loopscope.analysis.finals import FinalScore
from loopscope.analysis.intervals import figures_of, interval_tables
from loopscope.analysis.quantities import DIAGNOSTICS, PROCESS, Amount
from loopscope.analysis.tabled import TabledRun, tabled
from loopscope.analysis.tables import measure_rows, outcome_rows, resource_rows
from loopscope.models.interval_rows import ComparisonRow, IntervalRow, RankingRow, StabilityRow
from loopscope.models.standing import pair_words, reversible, told_apart

RANDOM = "random tasks"
TASKS = 8
MADE = tabled(MadeRun([Round(("0.2",)), Round(("0.8",))], None).analysis())


def run(agent: str, task: str, quantities: Mapping[str, Amount], harness: str = "h 1", model: str = "m") -> TabledRun:
    row = replace(MADE.run, run_id=f"{task}__{agent}", agent=agent, task=task, harness=harness, model=model)
    return replace(MADE, run=row, quantities={**MADE.quantities, **quantities})


def tables(runs: list[TabledRun], finals: list[FinalScore]) -> dict[str, list[object]]:
    categories = {one.run.task: "x" for one in runs}
    measures = [row for names in (PROCESS, DIAGNOSTICS) for row in measure_rows(runs, names, categories)]
    figures = figures_of(outcome_rows(finals, categories), measures, resource_rows(runs, categories))
    return {name: list(rows) for name, rows in interval_tables(runs, finals, categories, figures).items()}


def seen(agent: str, low: float, value: float, high: float) -> list[TabledRun]:
    """Eight runs whose C2 lies in such a range, each a little above the one before."""
    return [
        run(agent, f"x-{i}", {name: x + i / 100 for name, x in (("c2_low", low), ("c2", value), ("c2_high", high))})
        for i in range(TASKS)
    ]


def scored(agents: str) -> list[FinalScore]:
    return [FinalScore(agent, f"x-{i}", Decimal("0.5")) for agent in agents for i in range(TASKS)]


def of_c2(runs: list[TabledRun], agents: str) -> tuple[dict[str, IntervalRow], list[ComparisonRow], list[RankingRow]]:
    found = tables(runs, scored(agents))
    levels = {
        row.agent: row
        for row in found["intervals"]
        if isinstance(row, IntervalRow) and (row.measure, row.category, row.reading) == ("c2", "overall", RANDOM)
    }
    pairs = [
        row
        for row in found["comparisons"]
        if isinstance(row, ComparisonRow) and (row.measure, row.category, row.reading) == ("c2", "overall", RANDOM)
    ]
    places = [
        row
        for row in found["rankings"]
        if isinstance(row, RankingRow) and (row.measure, row.category, row.reading) == ("c2", "overall", RANDOM)
    ]
    return levels, pairs, places


def test_c2_that_was_not_all_seen_lies_between_its_ends_and_so_do_its_places() -> None:
    levels, pairs, places = of_c2(
        [*seen("a", 0.5, 0.5, 0.5), *seen("b", 0.2, 0.3, 0.6), *seen("c", 0.1, 0.1, 0.1)], "abc"
    )
    sharp, wide = levels["a"], levels["b"]
    assert (sharp.missing_low, sharp.outer_low) == (None, None), "all was seen"
    assert (wide.missing_low, wide.value, wide.missing_high) == pytest.approx((0.235, 0.335, 0.635))
    assert wide.outer_low is not None and wide.outer_high is not None and wide.low is not None
    assert wide.outer_low < wide.low and wide.outer_low < 0.235 < 0.635 < wide.outer_high
    ranges = {(row.agent, row.rank, row.best_place, row.worst_place) for row in places}
    assert ranges == {("a", 1, 1, 2), ("b", 2, 1, 2), ("c", 3, 3, 3)}
    found = {(row.first, row.second): row for row in pairs}
    ab = found["a", "b"]
    assert (ab.missing_low, ab.difference, ab.missing_high) == pytest.approx((-0.1, 0.2, 0.3))
    assert (ab.finding, ab.reversible, reversible(ab), told_apart(ab)) == ("first_higher", True, True, False)
    assert "as far as it was seen" in ab.verdict and "as far as it was seen" in pair_words(ab, "C2")
    assert told_apart(found["a", "c"]) and found["a", "c"].missing_low is None


def test_a_run_none_of_whose_checkpoints_was_seen_leaves_everything_open() -> None:
    runs = [*seen("a", 0.5, 0.5, 0.5), *seen("b", 0.3, 0.3, 0.3)]
    runs[0] = run("a", "x-0", {"c2_low": 0, "c2": None, "c2_high": 1})
    levels, _, places = of_c2(runs, "ab")
    rest = sum(0.5 + i / 100 for i in range(1, TASKS))
    assert (levels["a"].n_tasks, levels["a"].n_missing) == (7, 1)
    assert (levels["a"].missing_low, levels["a"].missing_high) == pytest.approx((rest / 8, (rest + 1) / 8))
    assert {(row.agent, row.best_place, row.worst_place) for row in places} == {("a", 1, 1), ("b", 2, 2)}


def driven(harness: str, order: str, twice: bool = False) -> tuple[list[TabledRun], list[FinalScore]]:
    """A harness with three models, the first of `order` best; tasks are ever easier."""
    runs, finals = [], []
    for place, model in enumerate(order):
        for agent in (f"{harness}-{model}", f"{harness}-{model}-again")[: 1 + (twice and not place)]:
            runs += [run(agent, f"x-{i}", {}, f"{harness} 1", model) for i in range(TASKS)]
            finals += [FinalScore(agent, f"x-{i}", Decimal(80 - 10 * place + i) / 100) for i in range(TASKS)]
    return runs, finals


def stability(*made: tuple[list[TabledRun], list[FinalScore]]) -> list[StabilityRow]:
    runs, finals = ([one for part in parts for one in part] for parts in zip(*made, strict=True))
    found = tables(runs, finals)["stability"]
    return [row for row in found if isinstance(row, StabilityRow) and row.ordered != "agents"]


def test_two_harnesses_with_the_same_models_are_held_against_each_other() -> None:
    rows = stability(driven("h", "abc"), driven("g", "cba"))
    assert [(row.measure, row.ordered, row.what) for row in rows] == [
        (measure, ordered, "g 1 against h 1")
        for measure in ("avg_at_k", "best_at_k")
        for ordered in ("models", "tasks")
    ]
    models, tasks = rows[:2]
    assert (models.tau, models.tau_low, models.tau_high, models.same_first) == (-1, -1, -1, 0)
    assert (models.n_ordered, models.n_tasks, models.draws) == (3, TASKS, 1000)
    assert (tasks.tau, tasks.same_first, tasks.same_order, tasks.n_ordered) == (1, None, None, TASKS)


def test_one_harness_or_none_with_a_model_has_nothing_to_agree_with() -> None:
    assert not stability(driven("h", "abc"))
    runs, finals = driven("g", "cba")
    bare = [replace(one, run=replace(one.run, model=None)) for one in runs]
    assert not stability(driven("h", "abc"), (bare, finals))


def test_a_model_that_two_agents_of_a_harness_drive_is_left_out_and_named() -> None:
    models, *_ = stability(driven("h", "abc", twice=True), driven("g", "abc"))
    assert (models.what, models.n_ordered) == (
        "g 1 against h 1 (without a: several agents are one harness with it)", 2,
    )  # fmt: skip
