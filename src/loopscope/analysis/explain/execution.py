"""C2, step by step (Appendix C.3)."""

from __future__ import annotations

from fractions import Fraction

from loopscope.analysis.explain.figures import exactly, mean_of, step
from loopscope.analysis.explain.model import Attempt, Execution
from loopscope.analysis.explain.rows import Told
from loopscope.analysis.runs import CommitRow
from loopscope.measures import discount


def execution(told: Told) -> Execution:
    """Each checkpoint's g and n, the mean, and both ways to take what was not observable."""
    c2 = told.run.c2
    attempts = tuple(
        _attempt(told, i, position, row, score)
        for i, ((position, row), score) in enumerate(zip(told.canonical, c2.scores, strict=True), 1)
    )
    s = [score for score in c2.scores if score is not None]
    unseen = c2.unobservable
    least = [
        discount(4) if attempt.g and attempt.n is None else score
        for attempt, score in zip(attempts, c2.scores, strict=True)
        if score is not None
    ]
    note = "" if s else "no observable attempt: unscored"
    kind = f"{unseen} not observable" if unseen else "all of them were observable" if s else "no attempt: unscored"
    return Execution(
        attempts=attempts,
        c2=step("c2", c2.value, "mean over I of g_i * d(n_i)", mean_of(s), table="runs", note=note),
        as_zero=step(
            "c2_unobserved_as_zero",
            c2.unobservable_as_zero,
            "the same, each unobservable one a failed delivery",
            mean_of([*s, *[Fraction(0)] * unseen]),
            table="runs",
            note=kind,
        ),
        as_one=step(
            "c2_unobserved_as_one",
            c2.unobservable_as_one,
            "the same, each unobservable one a clean delivery",
            mean_of([*s, *[Fraction(1)] * unseen]),
            note=kind,
        ),
        low=step(
            "c2_low",
            c2.low,
            "the least it can have been: unobservable 0, unknown n as d(4)",
            mean_of([*least, *[Fraction(0)] * unseen]),
            table="runs",
            note=kind,
        ),
        high=step(
            "c2_high",
            c2.high,
            "the most it can have been: unobservable 1, unknown n as d(0)",
            mean_of([*s, *[Fraction(1)] * unseen]),
            table="runs",
            note=kind,
        ),
    )


def _attempt(told: Told, i: int, position: int, row: CommitRow, score: Fraction | None) -> Attempt:
    found = row.evidence
    failures = told.failures_of(position)
    n = found.build_failures
    value = None
    if score is not None:
        g = int(bool(found.delivered))
        d = exactly(discount(n or 0))
        formula = f"g * d({'unknown' if n is None else n})"
        value = step(f"s_{i}", score, formula, f"{g} * {d}")
    return Attempt(
        i=i,
        position=position,
        sha=found.sha,
        g=found.delivered,
        g_reason=found.delivered_reason,
        n=n,
        failures=failures,
        score=value,
        left_out=_left_out(row),
        note=_note(n, len(failures)),
    )


def _left_out(row: CommitRow) -> str:
    if row.evidence.initial:
        return "the clean initial state: no attempt"
    if row.evidence.ambiguous_initial:
        return "the first commit, neither surely clean nor surely changed: no attempt"
    return "" if row.evidence.delivered is not None else "not observable"


def _note(n: int | None, seen: int) -> str:
    if n is None:
        return "n is unknown: nothing is discounted"
    return "" if n == seen else f"n = {n}, but the evidence lists {seen}"
