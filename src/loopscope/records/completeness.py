"""Which states of a run still want a verification, by its record and its scores alone; nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loopscope.models import RunRecord, RunStatus, ScoringSpec, StateScore, VerificationStatus
from loopscope.records.store import FINAL

_NOT_REPEATED = frozenset({VerificationStatus.TIMEOUT, VerificationStatus.UNREPLAYABLE})


def wanting(
    record: RunRecord, scores: Mapping[str, StateScore], scoring: ScoringSpec, *, timed: bool, has_workspace: bool
) -> Iterator[tuple[str, str]]:
    """(state, what it lacks) for every state of a run whose scoring is not at its end.

    Args:
        record: of the run.
        scores: by state.
        scoring: how often states are verified, and how many of a run's.
        timed: whether the task's verifier measures time.
        has_workspace: whether the rollout left a workspace; without one no state can be verified.
    """
    if record.status is RunStatus.ENVIRONMENT_ERROR or not has_workspace:
        return
    repeats = scoring.repeats_timed if timed else scoring.repeats
    states = dict.fromkeys(commit.state for commit in record.commits)
    for state in (*states, FINAL):
        if (score := scores.get(state)) and (lack := _lack(score, repeats)):
            yield state, lack
    unscored = [state for state in states if state not in scores]
    most = scoring.max_checkpoints
    spared = 0 if most is None else max(0, len(states) - most)
    if len(unscored) > spared:
        yield from ((state, "has no score") for state in unscored)
    if FINAL not in scores:
        yield FINAL, "has no score"


def _lack(score: StateScore, repeats: int) -> str | None:
    last = score.verifications[-1].status if score.verifications else VerificationStatus.ERROR
    if last is VerificationStatus.ERROR:
        return "was not verified: the environment failed"
    settled = sum(v.status is not VerificationStatus.ERROR for v in score.verifications)
    if settled < repeats and last not in _NOT_REPEATED:
        return f"was verified {settled} of {repeats} times"
    return None
