"""Why a final score is missing."""

from __future__ import annotations

import pytest
from made_calls import bash, edit
from made_transcript import FILE, Made, bench, build, commit, evidence

from loopscope.models import Grade

INITIAL, FIRST = commit("initial state", "aaaaaa1", root=True), commit("round 1: x", "aaaaaa2")


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ((edit(FILE, "b", "c"),), "last changed in message 12, was not committed, and was not evaluated"),
        ((edit(FILE, "b", "c"), build(), bash("./bench", "hm")), "no evaluation of it gave a number that counts (message 16)"),
        ((edit(FILE, "b", "c"), build(), commit("round 2: y", "aaaaaa3")), "was committed (aaaaaa3), and was not evaluated"),
    ],
)  # fmt: skip
def test_a_final_score_that_is_missing_is_explained(made: tuple[Made, ...], reason: str) -> None:
    found = evidence(INITIAL, edit(FILE, "a", "b"), build(), bench("10"), FIRST, *made)
    assert (found.final, found.final_grade) == (None, Grade.MISSING)
    assert reason in found.final_reason
    assert "the last commit with a score, aaaaaa2 (message 10), is worth 0.5000" in found.final_reason
    assert evidence(INITIAL, evaluator=None).final_reason == "its task has no evaluator file with a reward formula"
