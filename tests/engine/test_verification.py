"""What a verification's job left, in our words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from harbor.models.trial.result import TrialResult

from loopscope.engine.jobs import TrialOutcome
from loopscope.engine.verification import _verification
from loopscope.engine.verifier import VERDICT_FILE, VerdictFile
from loopscope.models import VerificationStatus
from loopscope.records import write_model

VERDICT = VerdictFile(
    status=VerificationStatus.OK, verdict_reason=None, reward="0.5", metrics={}, output="", duration_sec=1.0
)


@pytest.mark.parametrize("damage", [b'{"status": "ok"}', b"", b"\xff\xfe"])
def test_a_verdict_that_cannot_be_read_back_is_an_error_and_not_the_end_of_the_study(tmp_path, damage):
    path = tmp_path / VERDICT_FILE
    outcome = TrialOutcome(tmp_path, TrialResult.model_construct(exception_info=None))
    write_model(path, VERDICT)
    assert str(_verification(outcome, datetime.now(UTC), 9, alone=True).reward) == "0.5"
    path.write_bytes(damage)
    found = _verification(outcome, datetime.now(UTC), 9, alone=True)
    assert (found.status, found.reward, found.alone) == (VerificationStatus.ERROR, None, True)
    assert found.reason.startswith(f"{VERDICT_FILE}: ")
    assert str(tmp_path) not in found.reason and found.reason.endswith("verified again at the next start")
