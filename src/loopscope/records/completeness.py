"""Which states of a run still want a verification, by its record and its scores alone; nothing is run.

Engine, status, verify and gc all go by `settles`, `is_enough` and `is_given_up`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from loopscope.models import RunRecord, RunStatus, ScoringSpec, StateScore, TaskInfo, VerificationStatus
from loopscope.records.store import FINAL

_NOT_REPEATED = frozenset({VerificationStatus.TIMEOUT, VerificationStatus.UNREPLAYABLE})
"""What hangs costs its whole deadline each time, and a state that cannot be replayed stays so."""

MAX_ERRORS = 10
"""When the environment failed so many verifications of a state in a row, no start tries by itself again."""
GIVEN_UP = "given_up"
"""How such a state ended, beside the statuses of verifications."""
WAS_GIVEN_UP = f"was given up: the environment failed its verification {MAX_ERRORS} times in a row"
"""What it lacks."""


def is_given_up(statuses: Sequence[VerificationStatus]) -> bool:
    """Whether the environment failed all of the last `MAX_ERRORS` verifications of a state."""
    return list(statuses[-MAX_ERRORS:]) == [VerificationStatus.ERROR] * MAX_ERRORS


def end_without_reward(statuses: Sequence[VerificationStatus]) -> str:
    """How a state without a reward ended: the status of its last verification, or `GIVEN_UP`."""
    return GIVEN_UP if is_given_up(statuses) else statuses[-1].value


def settles(status: VerificationStatus, limit_sec: float, deadline_sec: float) -> bool:
    """Whether a verification that ended so under the deadline `limit_sec` counts under the present one.

    What the environment failed, or a shorter deadline ended, is done again.
    """
    if status is VerificationStatus.TIMEOUT:
        return limit_sec >= deadline_sec
    return status is not VerificationStatus.ERROR


def is_enough(settled: Sequence[VerificationStatus], repeats: int) -> bool:
    """Whether a state with these verifications that count, in their order, needs no more of them."""
    return len(settled) >= repeats or (bool(settled) and settled[-1] in _NOT_REPEATED)


def wanting(
    record: RunRecord, scores: Mapping[str, StateScore], scoring: ScoringSpec, task: TaskInfo, *, has_workspace: bool
) -> Iterator[tuple[str, str]]:
    """(state, what it lacks) for every state of a run whose scoring is not at its end.

    Args:
        record: of the run.
        scores: by state.
        scoring: how often states are verified, and how many of a run's.
        task: the run's.
        has_workspace: whether the rollout left a workspace; without one no state can be verified.
    """
    if record.status is RunStatus.ENVIRONMENT_ERROR or not has_workspace:
        return
    repeats, deadline = scoring.repeats_of(task), scoring.deadline_of(task)
    states = dict.fromkeys(commit.state for commit in record.commits)
    for state in (*states, FINAL):
        if (score := scores.get(state)) and (lack := _lack(score, repeats, deadline)):
            yield state, lack
    unscored = [state for state in states if state not in scores]
    most = scoring.max_checkpoints
    spared = 0 if most is None else max(0, len(states) - most)
    if len(unscored) > spared:
        yield from ((state, "has no score") for state in unscored)
    if FINAL not in scores:
        yield FINAL, "has no score"


def _lack(score: StateScore, repeats: int, deadline_sec: float) -> str | None:
    done = score.verifications
    settled = [v.status for v in done if settles(v.status, v.verifier_timeout_sec, deadline_sec)]
    if is_enough(settled, repeats):
        return None
    if is_given_up([v.status for v in done]):
        return WAS_GIVEN_UP
    if done and done[-1].status is VerificationStatus.TIMEOUT:
        return "met a deadline that has grown since"
    if not done or done[-1].status is VerificationStatus.ERROR:
        return "was not verified: the environment failed"
    return f"was verified {len(settled)} of {repeats} times"
