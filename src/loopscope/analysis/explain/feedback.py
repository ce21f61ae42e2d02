"""C3, step by step (Appendix C.4)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from loopscope.analysis import left
from loopscope.analysis.explain.figures import clipped, exactly, mean_of, step, term, total
from loopscope.analysis.explain.model import EpisodeTold, Feedback, FeedbackStep, Transition
from loopscope.analysis.explain.rows import Told
from loopscope.analysis.explain.told import ScoreTold, Step
from loopscope.measures import C3, EPS, Episode, Flag, Recovery, discount
from loopscope.measures import Step as Observed
from loopscope.measures.exact import known

if TYPE_CHECKING:
    from loopscope.measures.uncertainty import DipConfidence

_EPS = exactly(EPS)


def feedback(told: Told, final: ScoreTold) -> Feedback:
    """The observed scores, peak and final, each dip episode, A1, A2 and C3."""
    c3 = told.run.c3
    shown = {observed.index for observed in c3.steps}
    return Feedback(
        observed=tuple(
            FeedbackStep(
                i=at.index + 1,
                position=told.canonical[at.index][0],
                y=exactly(at.score),
                boundary=c3.has_boundary and number == 0,
            )
            for number, at in enumerate(c3.steps)
        ),
        dropped=tuple(index + 1 for index in range(len(told.canonical)) if index not in shown),
        final=final,
        f=step("f", c3.final, "the final score", note=_final_note(c3)),
        peak=_peak(c3),
        a1=_a1(c3),
        episodes=tuple(_episode(told, number, episode) for number, episode in enumerate(c3.episodes)),
        a2=_a2(c3),
        c3=_c3(c3),
    )


def _final_note(c3: C3) -> str:
    if Flag.FINAL_MISSING in c3.flags:
        return "there is no final score: the last observed one stands in for it"
    return "" if c3.final is not None else "missing"


def _peak(c3: C3) -> Step:
    if c3.peak is None:
        return step("p", None, "the highest observed score", note="no observed agent checkpoint")
    first = next(at for at in c3.steps if at.score == c3.peak)
    where = "the clean initial state" if c3.has_boundary and first is c3.steps[0] else f"x_{first.index + 1}"
    return step("p", c3.peak, "the highest observed score", f"max({_listed(c3)})", note=f"first reached by {where}")


def _listed(c3: C3) -> str:
    return ", ".join(exactly(at.score) for at in c3.steps)


def _a1(c3: C3) -> Step:
    name, p, f = "peak_retention", c3.peak, c3.final
    if c3.retention is None or p is None or f is None:
        return step(name, None, "A1", note="no observed agent checkpoint: unscored", table="runs")
    gap = f"p - f = {term(p)} - {term(f)} = {exactly(p - f)}"
    if p - f < EPS:
        return step(name, c3.retention, f"A1 = 1, for p - f < {_EPS}", note=gap, table="runs")
    if p <= 0:
        return step(name, c3.retention, "A1 = 0, for p is not above 0", note=gap, table="runs")
    terms = clipped(f"{term(f)} / {term(p)}")
    return step(name, c3.retention, "A1 = f / p, clipped to 0 to 1", terms, note=gap, table="runs")


def _a2(c3: C3) -> Step:
    credits = [episode.credit for episode in c3.episodes]
    note = "" if credits else "no dip episode"
    return step("recovery_credit", c3.recovery, "A2 = mean of q_e", mean_of(credits), note=note, table="runs")


def _c3(c3: C3) -> Step:
    if c3.value is None or c3.retention is None:
        return step("c3", None, note="no observed agent checkpoint: unscored", table="runs")
    if Flag.SINGLETON_ZERO in c3.flags:
        note = "the only agent round and the final score are 0: 0 by the paper's exception"
        return step("c3", c3.value, "0", note=note, table="runs")
    zeros = "all rounds and the final score are 0: there was nothing to lose; read it as failure"
    note = zeros if Flag.ALL_ZERO_ROUNDS in c3.flags else ""
    if c3.recovery is None:
        return step("c3", c3.value, "A1, for there is no dip", exactly(c3.retention), note=note, table="runs")
    terms = f"({total((c3.retention, c3.recovery))}) / 2"
    return step("c3", c3.value, "(A1 + A2) / 2", terms, note=note, table="runs")


def _episode(told: Told, number: int, episode: Episode) -> EpisodeTold:
    crossed = episode.recovery_steps(told.run.c3.steps)
    regained = episode.recovery is not Recovery.NONE
    return EpisodeTold(
        episode=number,
        before_i=episode.before_index + 1,
        start_i=episode.start_index + 1,
        low_i=episode.low_index + 1,
        target_i=episode.target_index + 1 if regained else None,
        recovery=episode.recovery.value,
        found=_found(episode),
        transitions=tuple(_transition(told, at) for at in crossed),
        steps=(*_episode_steps(episode, crossed), *_sureness(told, episode)),
    )


def _found(episode: Episode) -> str:
    start, target = f"x_{episode.start_index + 1}", f"x_{episode.target_index + 1}"
    within = f"p_e - {_EPS} = {exactly(episode.before - EPS)}"
    if episode.recovery is Recovery.FULL:
        return f"{target} is the first after {start} that is at least {within}"
    if episode.recovery is Recovery.PARTIAL:
        return f"none after {start} reaches {within}; {target} is the highest from the dip on, the earliest of equals"
    return f"none after {start} exceeds it"


def _transition(told: Told, at: Observed) -> Transition:
    """The candidates of a transition; those of checkpoints without a score directly before it join it."""
    scores = {observed.index for observed in told.run.c3.steps}
    first = at.index
    while first > 0 and first - 1 not in scores:
        first -= 1
    pairs = [pair for index in range(first, at.index + 1) for pair in told.candidates_of(told.canonical[index][0])]
    u = max(0, at.candidates - 1)
    return Transition(
        i=at.index + 1,
        a=at.candidates,
        a_known=at.counted,
        u=u,
        d=exactly(discount(u)),
        candidates=tuple(pairs),
        note=""
        if len(pairs) == at.candidates or not at.counted
        else f"a = {at.candidates}, but the evidence lists {len(pairs)}",
    )


def _sureness(told: Told, episode: Episode) -> list[Step]:
    """Whether the dip is more than noise."""
    kept = told.run.canonical
    before, after = kept[episode.before_index].scored.rewards, kept[episode.start_index].scored.rewards
    sure, band = left.confidence(told.run, episode), left.band(told.run)
    no_band = "no noise band is known" if band is None else "" if band else "the noise band is 0"
    return [
        _confidence(told, sure, before, after),
        step(
            "confidence_pairs",
            sure.pairs if sure else None,
            "measurements before * at the start",
            f"{len(before)} * {len(after)}",
            note="" if sure else "no confidence is known",
            table="dips",
        ),
        step(
            "depth_in_noise",
            left.depth_in_noise(told.run, episode),
            "depth / noise band",
            f"{term(episode.depth)} / {term(band)}" if band else None,
            note=no_band,
            table="dips",
        ),
    ]


def _confidence(told: Told, sure: DipConfidence | None, before: Sequence[Decimal], after: Sequence[Decimal]) -> Step:
    falling = sum(known(low) < known(high) - EPS for high in before for low in after)
    formula = f"share of the pairs of measurements, before and at the start, that fall by more than {_EPS}"
    terms: str | None = f"{falling} / {len(before) * len(after)}"
    note = ""
    if sure is None:
        note = "a side was measured once, and no state of the run repeatedly: the dip says nothing of its own noise"
        note = note if before and after else "one side has no measurements"
    elif sure.method == "pooled noise":
        formula = f"Phi((mean before - mean at the start - {_EPS}) / (sd * sqrt(2))): a side was measured once"
        terms = None
        states = left.repeats(told.run)
        note = f"sd = {left.noise_sd(told.run):.4g}, of {len(states)} states that were measured repeatedly"
    value = left.confidence_value(sure) if sure else None
    return step("confidence", value, formula, terms, note=note, table="dips")


def _episode_steps(e: Episode, crossed: list[Observed]) -> list[Step]:
    p, d, b = term(e.before), term(e.start), term(e.reached)
    regained = e.recovery is not Recovery.NONE
    discounts = [discount(max(0, at.candidates - 1)) for at in crossed]
    steps = [
        step("before", e.before, "p_e: the score before the fall", table="dips"),
        step("start", e.start, "d_e: the first fallen score"),
        step("low", e.low, "v_e: the last score of the falling segment", table="dips"),
        step("depth", e.depth, "p_e - v_e", f"{p} - {term(e.low)}", table="dips"),
        step(
            "recovered_to",
            e.reached if regained else None,
            "b_e: p_e after a full return, else the score that was reached",
            note="" if regained else "nothing was regained: b_e = d_e",
            table="dips",
        ),
        step("length", e.length, "L_e = max(1, j - i) transitions", f"max(1, {len(crossed)})", table="dips"),
        step(
            "rho",
            e.recovered,
            "rho_e = (b_e - d_e) / (p_e - d_e), clipped to 0 to 1",
            clipped(f"({b} - {d}) / ({p} - {d})"),
            table="dips",
        ),
        step("D", e.discount, "D_e = mean of d(u)", mean_of(discounts), note="" if regained else "no transition"),
    ]
    if e.discount is None:
        note = "nothing was regained"
        return [*steps, step("credit", e.credit, "q_e = 0", note=note, table="dips")]
    terms = f"{term(e.recovered)} / {e.length} * {term(e.discount)}"
    return [*steps, step("credit", e.credit, "q_e = rho_e / L_e * D_e", terms, table="dips")]
