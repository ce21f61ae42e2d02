"""Where a score is from: the verifications of an official one, the evaluations of a reconstructed one."""

from __future__ import annotations

from decimal import Decimal

from loopscope.analysis.commits import Scored, ScoreSource
from loopscope.analysis.explain.figures import call, clipped, exactly, step, term
from loopscope.analysis.explain.told import EvaluationTold, ScoreTold, Step, VerificationTold
from loopscope.models import Reconstructed, ReportedReward, RunEvidence, StateScore, VerificationStatus
from loopscope.models.evaluator import Evaluator

MISSING = "missing"
_MEDIAN = "median of the rewards"


def score_told(
    scored: Scored,
    official: StateScore | None,
    made: Reconstructed | None,
    evidence: RunEvidence,
    evaluator: Evaluator | None,
    *,
    reported: ReportedReward | None = None,
    table: str,
    name: str = "score",
) -> ScoreTold:
    """The score that the measures took, with everything that it is made of.

    Args:
        scored: as the tables have it.
        official: what the task's verifier said of this state.
        made: what the transcript's evaluations of this state give.
        evidence: of the run.
        evaluator: says how a printed value becomes a reward; None where nobody does.
        reported: what the log itself states of this state.
        table: that holds the value.
        name: of its column.
    """
    evaluations = () if made is None else _evaluations(made, evidence)
    return ScoreTold(
        origin=scored.source.value if scored.source else MISSING,
        grade=scored.grade.value,
        step=_taken(scored, official, made, name, table),
        where=None if reported is None else reported.where,
        metric=scored.metric,
        file=None if official is None else f"runs/{evidence.run_id}/scores/{official.state}.json",
        verifier_run=official.run_id if official is not None and official.run_id != evidence.run_id else None,
        verifications=() if official is None else _verifications(official),
        reconstruction=None if made is None else _reconstruction(made, evaluations),
        evaluations=evaluations,
        rewards=tuple(_rewards(evaluations, evaluator)),
    )


def _taken(scored: Scored, official: StateScore | None, made: Reconstructed | None, name: str, table: str) -> Step:
    if scored.value is None:
        return step(name, None, note=_why_missing(official, made), table=table)
    if scored.source is ScoreSource.REPORTED:
        note = "by the task's verifier in the agent's own sandbox; not official"
        return step(name, scored.value, "the reward that the log states", note=note, table=table)
    terms = call("median", scored.rewards) if scored.rewards else None
    note = "" if scored.source is ScoreSource.OFFICIAL else "reconstructed from the transcript, not official"
    return step(name, scored.value, _MEDIAN, terms, note=note, table=table)


def _why_missing(official: StateScore | None, made: Reconstructed | None) -> str:
    if official is not None:
        bad = [v for v in official.verifications if v.status is not VerificationStatus.OK]
        reason = f" ({bad[0].reason})" if bad and bad[0].reason else ""
        said = f": {bad[0].status.value.replace('_', ' ')}{reason}" if bad else ""
        return f"no verification gave a reward{said}; missing, not 0"
    if made is not None:
        return "no verifier has seen this state, and a reconstructed score never stands for an official one; missing"
    return "no verifier has seen this state, and no evaluation of it in a transcript gives a reward; missing, not 0"


def _verifications(score: StateScore) -> tuple[VerificationTold, ...]:
    return tuple(VerificationTold(status=v.status.value, reward=v.reward, reason=v.reason) for v in score.verifications)


def _evaluations(made: Reconstructed, evidence: RunEvidence) -> tuple[EvaluationTold, ...]:
    return tuple(EvaluationTold(number=at, seen=evidence.evaluations[at]) for at in made.evaluations)


def _reconstruction(made: Reconstructed, evaluations: tuple[EvaluationTold, ...]) -> Step:
    rewards = sorted(reward for told in evaluations for reward in told.seen.rewards)
    terms = call("median", rewards) if rewards else None
    spread = f"; rewards from {exactly(made.low)} to {exactly(made.high)}" if made.low != made.high else ""
    return step("reconstructed", made.value, _MEDIAN, terms, note=made.reason + spread)


def _rewards(evaluations: tuple[EvaluationTold, ...], evaluator: Evaluator | None) -> list[Step]:
    """Each printed value once, through the task's formula."""
    if evaluator is None or evaluator.reward is None:
        return []
    found: dict[tuple[Decimal, Decimal], Step] = {}
    for told in evaluations:
        if len(told.seen.raw) == len(told.seen.rewards):  # else a failed check made a reward of 0 out of no value
            for pair in zip(told.seen.raw, told.seen.rewards, strict=True):
                found.setdefault(pair, _reward(*pair, evaluator))
    return list(found.values())


def _reward(raw: Decimal, reward: Decimal, evaluator: Evaluator) -> Step:
    unit = f" {evaluator.unit}" if evaluator.unit else ""
    name, formula, gate = f"reward of {exactly(raw)}{unit}", evaluator.reward, evaluator.gate
    bounds = [f"{word} {exactly(b)}" for word, b in (("below", gate.below), ("above", gate.above)) if b is not None]
    wanted = f"{' and '.join(bounds)}{unit}"
    if not gate.passes(raw):
        return step(name, reward, "0, for it does not pass the gate", note=f"must be {wanted}")
    if formula is None or formula.reward(raw) != reward:
        why = "0, for the solution is wrong: the evaluation or a check of the same state says so"
        return step(name, reward, "" if reward else why)
    base, reference, value = term(formula.base), term(formula.reference), term(raw)
    if formula.kind == "log":
        worded, put_in = "ln(base / value) / ln(base / reference)", f"ln({base} / {value}) / ln({base} / {reference})"
    else:
        worded = "(value - base) / (reference - base)"
        put_in = f"({value} - {base}) / ({reference} - {base})"
    terms = f"round({clipped(f'{term(formula.factor)} * {put_in}', formula.low, formula.high)}, {formula.decimals})"
    note = f"clipped to {exactly(formula.low)} to {exactly(formula.high)}"
    return step(
        name,
        reward,
        f"{exactly(formula.factor)} * {worded}",
        terms,
        note=f"{note}; passes the gate: {wanted}" if bounds else note,
    )
