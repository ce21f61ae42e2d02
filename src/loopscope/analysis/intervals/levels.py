"""Rows of `intervals`: each number of the other tables with its interval, for both readings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from loopscope.analysis.finals import Categories, FinalScore
from loopscope.analysis.intervals.amounts import amount_interval
from loopscope.analysis.intervals.figures import Figure
from loopscope.analysis.intervals.places import LEVEL, READINGS, Ends
from loopscope.analysis.intervals.samples import BEST_AT_K, OUTCOMES, Sample, bounds_of, ends_of, task_numbers
from loopscope.analysis.quantities import number
from loopscope.measures import Outcome, outcome, outcome_by_category
from loopscope.measures.uncertainty import Interval, Reading, Settings, range_bounds
from loopscope.measures.uncertainty.levels import TaskNumbers, mean_of, noted
from loopscope.models.interval_rows import IntervalRow
from loopscope.models.tables import OVERALL


def interval_rows(
    figures: Sequence[Figure], samples: Mapping[str, Sample], missing: Mapping[tuple[str, str, str], Ends], seed: int
) -> list[IntervalRow]:
    """One row per number of an agent and reading; numbers without a sample have none.

    Args:
        figures: the numbers.
        samples: by measure; avg@k and best@k under their names.
        missing: (agent, category, measure) -> the value with what is missing at its worst and at its best.
        seed: of the draws.
    """
    rows: list[IntervalRow] = []
    made: dict[tuple[Figure, bytes], list[IntervalRow]] = {}
    for figure in figures:
        if figure.measure not in samples:
            continue
        key = replace(figure, category=""), samples[figure.measure].tasks_in(figure.category)
        if key not in made:  # one family alone is the whole
            made[key] = _of_figure(figure, samples, missing, seed)
        rows += [
            row if row.category == figure.category else replace(row, category=figure.category) for row in made[key]
        ]
    return rows


def _of_figure(
    figure: Figure, samples: Mapping[str, Sample], missing: Mapping[tuple[str, str, str], Ends], seed: int
) -> list[IntervalRow]:
    """The rows of one number, by reading."""
    exact = missing.get((figure.agent, figure.category, figure.measure), (None, None))
    found = intervals_of(figure, numbers_of(figure, samples[figure.measure]), seed)
    return [
        interval_row(figure, one, value if value != (None, None) else exact, outer)
        for one, (value, outer) in zip(found, _ranges(figure, samples, seed), strict=True)
    ]


def numbers_of(figure: Figure, sample: Sample) -> TaskNumbers:
    """What the interval of a number is made of."""
    return task_numbers(
        sample,
        sample.panel.of(figure.agent),
        figure.category,
        best=figure.measure == BEST_AT_K,
        k=figure.k,
        missing=figure.n_missing if figure.measure in OUTCOMES else 0,
    )


def intervals_of(figure: Figure, numbers: TaskNumbers, seed: int) -> list[Interval]:
    """The interval of a number for each reading, with all that is to be said of it."""
    return [_interval(figure, numbers, reading, seed) for reading in READINGS]


def _interval(figure: Figure, numbers: TaskNumbers, reading: Reading, seed: int) -> Interval:
    bounds = bounds_of(figure.measure)
    found = mean_of(numbers, Settings(reading=reading, level=LEVEL, bounds=bounds, method=None if bounds else "t"))
    if found.estimate is None and figure.measure not in OUTCOMES:
        return replace(found, guard="no run has a value")
    if bounds is None:
        found = amount_interval(found, numbers, seed)
    short = int(((numbers.rollouts > 0) & (numbers.rollouts < figure.k)).sum())
    if figure.measure == BEST_AT_K and short:
        found = noted(found, f"{short} of {found.n_tasks} tasks have fewer than {figure.k} scores: their best is low")
    return found


def _ranges(figure: Figure, samples: Mapping[str, Sample], seed: int) -> list[tuple[Ends, Ends]]:
    """By reading: the value with what is missing at its worst and at its best, and the outer ends of both intervals.

    The values of avg@k and best@k are those of `missing_ends`, which are exact, and not given here.
    """
    nothing: tuple[Ends, Ends] = ((None, None), (None, None))
    ends, sample = ends_of(samples, figure.measure), samples[figure.measure]
    if figure.measure in OUTCOMES and ends is not None and figure.n_missing:
        worst, best = (intervals_of(figure, numbers_of(figure, end), seed) for end in ends)
        return [((None, None), (low.low, high.high)) for low, high in zip(worst, best, strict=True)]
    agent = sample.panel.of(figure.agent)
    if figure.measure in OUTCOMES or ends is None or not sample.open(agent, figure.category, ends):
        return [nothing for _ in READINGS]
    category = None if figure.category == OVERALL else figure.category
    made = [
        range_bounds(ends[0].panel, ends[1].panel, figure.agent, category, Settings(reading=reading, level=LEVEL))
        for reading in READINGS
    ]
    return [((found.low, found.high), (found.interval_low, found.interval_high)) for found in made]


def interval_row(
    figure: Figure, found: Interval, missing: Ends = (None, None), outer: Ends = (None, None)
) -> IntervalRow:
    """A row of a number, its interval and what the missing scores could make of it."""
    low, high = _around(figure, found)
    return IntervalRow(
        agent=figure.agent,
        category=figure.category,
        measure=figure.measure,
        reading=found.reading,
        value=figure.value,
        low=low,
        high=high,
        level=found.level,
        method=found.method,
        k=figure.k,
        n_tasks=found.n_tasks,
        n_runs=found.n_runs,
        n_missing=figure.n_missing,
        n_reconstructed=figure.n_reconstructed,
        n_reported=figure.n_reported,
        missing_low=missing[0],
        missing_high=missing[1],
        outer_low=outer[0],
        outer_high=outer[1],
        guard=found.guard,
    )


def _around(figure: Figure, found: Interval) -> Ends:
    """The ends about the exact value, which the float estimate may miss by a digit; no count or amount is below 0."""
    if figure.value is None or found.low is None or found.high is None:
        return None, None
    low = found.low if bounds_of(figure.measure) else max(0.0, found.low)
    return min(low, figure.value), max(found.high, figure.value)


def missing_ends(finals: Sequence[FinalScore], categories: Categories) -> dict[tuple[str, str, str], Ends]:
    """(agent, category, measure) -> avg@k and best@k with every missing final score at 0, then at 1."""
    lacking = {
        (final.agent, category)
        for final in finals
        if final.value is None
        for category in (OVERALL, categories[final.task])
    }
    if not lacking:
        return {}
    worst, best = (_outcomes(finals, categories, value) for value in (0, 1))
    return {
        (*key, measure): (number(low), number(high))
        for key in lacking
        for measure, low, high in (
            (OUTCOMES[0], worst[key].avg, best[key].avg),
            (OUTCOMES[1], worst[key].best, best[key].best),
        )
    }


def _outcomes(finals: Iterable[FinalScore], categories: Categories, value: int) -> dict[tuple[str, str], Outcome]:
    rows = [(final.agent, final.task, value if final.value is None else final.value) for final in finals]
    found = {(agent, OVERALL): result for agent, result in outcome(rows).items()}
    return found | outcome_by_category(rows, categories)
