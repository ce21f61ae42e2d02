"""The diagnostics of Appendix D, each with what it was counted from."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from loopscope.analysis.explain.figures import Figure, call, exactly, mean_of, step, term, total
from loopscope.analysis.explain.rows import Told
from loopscope.analysis.explain.told import Step
from loopscope.measures.diagnostics import Build, rises
from loopscope.measures.episodes import falls
from loopscope.measures.exact import EPS, exact

type _Round = tuple[str, int | None, int | None]
"""Name, builds and failures of one."""

_EPS = exactly(EPS)
_NO_ROUND = "no agent checkpoint has a score"
_NO_TRANSITION = "no transition between scores"


def diagnostics(told: Told) -> tuple[Step, ...]:
    """All of them, in the order of the table."""
    return (*_shape(told), *_build(told), *_feedback(told))


def _of_runs(name: str, value: Figure | None, formula: str, terms: str | None, note: str = "") -> Step:
    return step(name, value, formula, terms, note=note, table="runs")


def _part(names: Sequence[str], of: int) -> tuple[str | None, str]:
    """Terms of a share, and which ones it counts."""
    return (f"{len(names)} / {of}" if of else None), (", ".join(names) if names else "none")


def _shape(told: Told) -> list[Step]:
    """Over the evaluated proposals: the clean initial state is none."""
    run, shape = told.run, told.run.shape
    found = [
        (index, value)
        for index, (_, row) in enumerate(told.canonical, 1)
        if not (index == 1 and row.evidence.initial) and (value := exact(row.value)) is not None
    ]
    x = [value for _, value in found]
    if not x or shape.best_observed is None:
        names = ("best_observed", "early_capture", "later_headroom", "gain_density")
        return [_of_runs(name, None, "", None, _NO_ROUND) for name in names]
    first, p = x[0], shape.best_observed
    x_1 = f"x_{found[0][0]}"
    rising = [f"x_{found[at - 1][0]} to x_{found[at][0]}" for at in range(1, len(x)) if rises(x, at)]
    terms, note = _part(rising, len(x) - 1)
    gain = _NO_TRANSITION if run.shape.gain_density is None else f"rising: {note}"
    room = f"({term(p)} - {term(first)}) / (1 - {term(first)})" if first < 1 else None
    return [
        _of_runs("best_observed", p, "p: the highest score of a proposal", call("max", x)),
        _of_runs(
            "early_capture",
            shape.early_capture,
            f"{x_1} / p, of the first proposal",
            f"{term(first)} / {term(p)}",
            "" if p > 0 else "p is not above 0",
        ),
        _of_runs(
            "later_headroom",
            shape.later_headroom,
            f"(p - {x_1}) / (1 - {x_1})",
            room,
            "" if first < 1 else f"{x_1} leaves no room: 0",
        ),
        _of_runs(
            "gain_density", shape.gain_density, f"share of transitions that rise by more than {_EPS}", terms, gain
        ),
    ]


def _build(told: Told) -> list[Step]:
    """Over the evaluated proposals that have a transcript segment."""
    run = told.run
    rows = [row for row in run.canonical if row.is_evaluated_proposal]
    windows = [(told.name(row), row.evidence.builds, row.evidence.build_failures) for row in rows]
    states = [(told.name(row), row.evidence.builds_by_state, row.evidence.build_failures_by_state) for row in rows]
    matched = sum(failures is not None for _, _, failures in windows)
    coverage = [
        _of_runs(
            name,
            run.build.trace_coverage,
            "matched rounds / evaluated rounds",
            f"{matched} / {len(rows)}",
            "" if rows else _NO_ROUND,
        )
        for name in ("build_coverage", "trace_coverage")
    ]
    by_state = _build_counts(run.build_by_state, states, "_by_state", "on the very states that were committed")
    return [*_build_counts(run.build, windows, "", "in the windows before the commits"), *coverage, *by_state]


def _build_counts(build: Build, rounds: Sequence[_Round], suffix: str, where: str) -> list[Step]:
    matched = [(name, builds, failures) for name, builds, failures in rounds if failures is not None]
    counts = [Fraction(builds) for _, builds, _ in matched if builds is not None]
    unknown = [name for name, builds, _ in matched if builds is None]
    broken, which = _part([name for name, _, failures in matched if failures], len(matched))
    unseen = "" if matched else "no round has a matched transcript segment"
    return [
        _of_runs(
            f"builds_per_round{suffix}",
            build.builds_per_round,
            f"mean number of builds {where}, over the matched rounds",
            mean_of(counts),
            unseen or (f"not known, and left out: {', '.join(unknown)}" if unknown else ""),
        ),
        _of_runs(
            f"rounds_with_build_errors{suffix}",
            build.rounds_with_build_errors,
            f"share of the matched rounds with a code failure {where}",
            broken,
            unseen or f"with a failure: {which}",
        ),
    ]


def _feedback(told: Told) -> list[Step]:
    """Over the scores of C3, the clean initial state among them."""
    c3, found = told.run.c3, told.run.feedback
    y = [at.score for at in c3.steps]
    into = range(1, len(y))
    name = [f"x_{at.index + 1}" for at in c3.steps]
    falling = [f"{name[at - 1]} to {name[at]}" for at in into if falls(y, at)]
    depths = [episode.depth for episode in c3.episodes]
    no_round = "" if c3.T else _NO_ROUND
    no_transition = "" if into else _NO_TRANSITION
    peak = y.index(max(y)) if y else 0
    last = f"{exactly(y[-1])} after {exactly(y[-2])}" if into else _NO_TRANSITION
    boundary = " without y_0, the clean initial state" if c3.has_boundary else ""
    return [
        _of_runs("rounds_T", c3.T, f"T: observed agent checkpoints{boundary}", f"{len(y)} - {int(c3.has_boundary)}"),
        _of_runs("n_dips", c3.M, "M: dip episodes", total([1] * c3.M) or "0"),
        _of_runs("dip_rate", found.dip_rate, "M / T", f"{c3.M} / {c3.T}", no_round),
        _of_runs(
            "dip_depth", found.dip_depth, "mean of p_e - v_e", mean_of(depths), "" if depths else "no dip episode"
        ),
        _of_runs(
            "peak_position",
            found.peak_position,
            "round of the earliest highest score / T",
            f"{peak + (not c3.has_boundary)} / {c3.T}",
            no_round or f"reached by {name[peak]}",
        ),
        _of_runs(
            "monotonicity",
            found.monotonicity,
            f"share of transitions that do not fall by more than {_EPS}",
            f"{len(into) - len(falling)} / {len(into)}",
            no_transition or f"falling: {', '.join(falling) or 'none'}",
        ),
        step(
            "last_rising",
            found.last_rising,
            f"the last transition rises by more than {_EPS}",
            note=last,
            table="runs",
        ),
        _evaluated_before(told),
    ]


def _evaluated_before(told: Told) -> Step:
    answers = [
        (f"x_{index}", row.evidence.evaluated_before_commit)
        for index, (_, row) in enumerate(told.canonical, 1)
        if row.is_attempt
    ]
    known = [(name, answer) for name, answer in answers if answer is not None]
    terms, which = _part([name for name, answer in known if answer], len(known))
    return _of_runs(
        "evaluated_before_commit",
        told.run.evaluated_before_share,
        "share of the agent's checkpoints whose state it had evaluated before the commit",
        terms,
        f"evaluated before: {which}" if known else "unknown: no transcript shows it",
    )
