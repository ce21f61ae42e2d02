"""Which states want another verification: the one rule that engine, status, verify and gc go by."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from documents import specimen

from loopscope.models import (
    PreparedTask,
    RunRecord,
    ScoringSpec,
    StateScore,
    TaskInfo,
    Verification,
    VerificationStatus,
)
from loopscope.records import FINAL, read_model
from loopscope.records.completeness import WAS_GIVEN_UP, wanting

OK, TIMEOUT, ERROR = VerificationStatus.OK, VerificationStatus.TIMEOUT, VerificationStatus.ERROR


def task(*, timed: bool) -> TaskInfo:
    """A task whose verifications may take 10 seconds."""
    return read_model(specimen(PreparedTask, 2), PreparedTask).info.model_copy(update={"timed": timed})


def lack(*done: tuple[VerificationStatus, float], timed: bool = False, multiplier: float = 1.0) -> str | None:
    """What the final state lacks after verifications of (status, deadline)."""
    record = read_model(specimen(RunRecord, 2), RunRecord).model_copy(update={"commits": ()})
    verifications = tuple(
        Verification(status=status, started_at=datetime.now(UTC), duration_sec=1, verifier_timeout_sec=limit)
        for status, limit in done
    )
    score = StateScore(state=FINAL, run_id=record.run_id, verifier_hash="v", verifications=verifications)
    scoring = ScoringSpec(timeout_multiplier=multiplier)
    return dict(wanting(record, {FINAL: score}, scoring, task(timed=timed), has_workspace=True)).get(FINAL)


@pytest.mark.parametrize(
    ("done", "timed", "multiplier", "wanted"),
    [
        ([(OK, 10)], False, 1, None),
        ([(OK, 10)], True, 1, "was verified 1 of 3 times"),
        ([(OK, 10)] * 3, True, 1, None),
        ([(OK, 10), (ERROR, 10)], True, 1, "was not verified: the environment failed"),
        ([(ERROR, 10)] * 9, False, 1, "was not verified: the environment failed"),
        ([(OK, 10), *[(ERROR, 10)] * 10], True, 1, WAS_GIVEN_UP),
        ([(OK, 10), *[(ERROR, 10)] * 10], False, 1, None),
        ([(TIMEOUT, 10)], True, 1, None),
        ([(TIMEOUT, 10)], False, 2, "met a deadline that has grown since"),
        ([(OK, 10)], False, 2, None),
        ([], False, 1, "was not verified: the environment failed"),
    ],
)
def test_what_a_state_lacks(done, timed, multiplier, wanted):
    assert lack(*done, timed=timed, multiplier=multiplier) == wanted
