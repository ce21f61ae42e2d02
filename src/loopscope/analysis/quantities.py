"""The measures of one run by the names they have in tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction

from loopscope.analysis import left
from loopscope.analysis.prices import claimed_cost, price_of
from loopscope.analysis.runs import RunAnalysis
from loopscope.models import Grade, HarnessSupport

type Amount = Fraction | Decimal | int | float | None
type Quantity = Callable[[RunAnalysis], Amount]


MOST = 10**15
"""Tokens, US dollars or seconds beyond it are no report of any use; no column could hold some of them either."""


def number(value: Amount) -> float | None:
    """A table's double; None stays None."""
    return None if value is None else float(value)


def _as_number(answer: bool | None) -> int | None:
    return None if answer is None else int(answer)


def amount[Reported: (int, float, Decimal)](value: Reported | None) -> Reported | None:
    """An amount as an agent or a log reported it; one below 0, or above what any run can use, says nothing."""
    if value is None or value != value:  # no number: comparing it would raise
        return None
    return value if 0 <= value <= MOST else None


def _committed(run: RunAnalysis) -> Fraction | None:
    found = left.candidates(run)
    return found.share if found else None


def _support(count: Callable[[HarnessSupport], int]) -> Quantity:
    """A count of how the harness's tools were used; None without a transcript."""
    return lambda run: None if run.evidence.support is None else count(run.evidence.support)


def _graded(grade: Grade) -> Quantity:
    return lambda run: left.graded(run, grade)


PROCESS: Mapping[str, Quantity] = {
    "c1": lambda run: run.c1_for_tables,
    "c2": lambda run: run.c2.value,
    "c3": lambda run: run.c3.value,
}
DIAGNOSTICS: Mapping[str, Quantity] = {
    "best_observed": lambda run: run.shape.best_observed,
    "early_capture": lambda run: run.shape.early_capture,
    "later_headroom": lambda run: run.shape.later_headroom,
    "builds_per_round": lambda run: run.build.builds_per_round,
    "rounds_with_build_errors": lambda run: run.build.rounds_with_build_errors,
    "peak_retention": lambda run: run.feedback.peak_retention,
    "dip_rate": lambda run: run.feedback.dip_rate,
    "dip_depth": lambda run: run.feedback.dip_depth,
    "recovery_credit": lambda run: run.feedback.recovery_credit,
    "rounds": lambda run: run.feedback.rounds if run.rows else None,
    "gain_density": lambda run: run.shape.gain_density,
    "peak_position": lambda run: run.feedback.peak_position,
    "monotonicity": lambda run: run.feedback.monotonicity,
    "trace_coverage": lambda run: run.build.trace_coverage,
    "last_rising": lambda run: _as_number(run.feedback.last_rising),
    "runs_with_dip": lambda run: _as_number(run.feedback.has_dip),
    "evaluated_before_commit": lambda run: run.evaluated_before_share,
    "c2_unobserved_as_zero": lambda run: run.c2.unobservable_as_zero,
    "c2_low": lambda run: run.c2.low,
    "c2_high": lambda run: run.c2.high,
    "builds_per_round_by_state": lambda run: run.build_by_state.builds_per_round,
    "rounds_with_build_errors_by_state": lambda run: run.build_by_state.rounds_with_build_errors,
    "committed_share": _committed,
    "claim_gap": left.claim_gap,
    "left_behind": left.left_behind,
    "noise_band": left.band,
    "dip_confidence": left.mean_confidence,
    "saturation": left.saturation,
    "jumps": left.jumps,
    "suspicious": lambda run: left.suspicious(run) if run.rows else None,
    **{f"grade_{grade.value}": _graded(grade) for grade in Grade if grade is not Grade.REPORTED},
    "plan_calls": _support(lambda support: support.plan_calls),
    "failed_calls": _support(lambda support: support.failed_calls),
    "failed_then_changed": _support(lambda support: support.failed_then_changed),
    "compactions": _support(lambda support: support.compactions),
    "resumes": _support(lambda support: support.resumes),
    "subagents": _support(lambda support: support.subagents),
    "background": _support(lambda support: support.background),
}
RESOURCES: Mapping[str, Quantity] = {
    "tokens": lambda run: amount(run.record.usage.tokens),
    "cost_usd": lambda run: amount(claimed_cost(run.record)),
    "priced_usd": lambda run: price.cached if (price := price_of(run.record)) else None,
    "priced_full_usd": lambda run: price.full if (price := price_of(run.record)) else None,
    "agent_sec": lambda run: amount(run.record.timings.agent_sec),
    "tool_calls": lambda run: run.evidence.tool_calls,
}
