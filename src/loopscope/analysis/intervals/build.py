"""All tables of intervals from the runs and the numbers of the other tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from loopscope.analysis.finals import Categories, FinalScore
from loopscope.analysis.intervals.comparing import comparison_rows
from loopscope.analysis.intervals.figures import Figure
from loopscope.analysis.intervals.further import COMMON, PAIRED, common_rows, everyone_rows, paired_rows
from loopscope.analysis.intervals.levels import interval_rows, missing_ends
from loopscope.analysis.intervals.noise import noise_dip_rows, noise_rows
from loopscope.analysis.intervals.ranks import orders_of, ranking_rows
from loopscope.analysis.intervals.samples import MEASURES, OUTCOMES, Sample, run_sample, score_sample
from loopscope.analysis.intervals.stable import harnesses_of, stability_rows
from loopscope.analysis.tabled import TabledRun
from loopscope.models.interval_rows import EVERYONE, IntervalRow
from loopscope.models.standing import RANDOM
from loopscope.models.tables import OVERALL


def interval_tables(
    runs: Sequence[TabledRun], finals: Sequence[FinalScore], categories: Categories, figures: Sequence[Figure]
) -> dict[str, Iterable[object]]:
    """Rows by the name of their table.

    Args:
        runs: what was analysed.
        finals: one per planned rollout, those without a record too.
        categories: of every task.
        figures: the numbers that get an interval.
    """
    samples, seed = samples_of(runs, finals, categories), seed_of(finals)
    groups = sorted({name for final in finals for name in (categories[final.task], OVERALL)})
    orders = orders_of(samples, groups, seed)
    everyone = [figure for figure in figures if figure.agent == EVERYONE]
    common = [figure for figure in figures if figure.measure in COMMON]
    paired = [figure for figure in figures if figure.measure in PAIRED]
    of_agents = [figure for figure in figures if figure.agent != EVERYONE]
    intervals: list[IntervalRow] = [
        *interval_rows(of_agents, samples, missing_ends(finals, categories), seed),
        *common_rows(common, finals, categories, seed),
        *paired_rows(paired, finals, categories, seed),
        *everyone_rows(everyone, samples, seed),
    ]
    intervals.sort(key=_in_order)
    return {
        "intervals": intervals,
        "comparisons": comparison_rows(samples, groups, {at: order.ranking for at, order in orders.items()}, seed),
        "rankings": ranking_rows(orders),
        "stability": stability_rows(samples, harnesses_of(runs), seed),
        "noise": noise_rows(runs, categories, seed),
        "noise_dips": noise_dip_rows(runs, categories, seed),
    }


def _in_order(row: IntervalRow) -> tuple[str, str, str, bool]:
    return row.measure, row.agent, row.category, row.reading != RANDOM


def samples_of(runs: Sequence[TabledRun], finals: Sequence[FinalScore], categories: Categories) -> dict[str, Sample]:
    """By measure."""
    scores = score_sample(finals, categories)
    found = dict.fromkeys(OUTCOMES, scores)
    found |= {measure: run_sample(runs, measure, categories) for measure in MEASURES}
    return {measure: sample for measure, sample in found.items() if sample is not None}


def seed_of(finals: Iterable[FinalScore]) -> int:
    """A seed for all draws, made of the study's final scores: equal records draw alike, whoever analyses them."""
    lines = sorted(f"{final.agent}\t{final.task}\t{final.value}" for final in finals)
    return int.from_bytes(hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).digest()[:4])
