"""Runs that look like evaluations and fit no rule."""

from __future__ import annotations

import pytest
from made_calls import bash, edit
from made_transcript import EVALUATOR, FILE, Made, build, commit, evidence

INITIAL, FIRST = commit("initial state", "aaaaaa1", root=True), commit("round 1: x", "aaaaaa2")


@pytest.mark.parametrize(
    ("run", "seen", "delivered"),
    [
        (bash("./bench --fast", "took 12"), True, None),
        (bash("./solver", "took 12"), True, None),
        (bash("./bench --help", "usage"), False, False),
        (bash("perf stat ./solver", "took 12"), False, False),
        (bash("./other", "took 12"), False, False),
        (bash("make run", "./solver\nms=10"), True, None),
        (bash("make run", "./solver\nnothing"), False, False),
    ],
)
def test_a_run_of_the_tasks_own_program_that_fits_no_rule_leaves_open_what_was_delivered(
    run: Made, seen: bool, delivered: bool | None
) -> None:
    check_only = EVALUATOR.model_copy(
        update={
            "evaluations": tuple(item.model_copy(update={"arguments": "--known"}) for item in EVALUATOR.evaluations)
        }
    )
    change = edit(FILE, "a", "b")
    found = evidence(
        INITIAL, change, build("gcc -O2 solve.c -o solver\ngcc -O2 solve.c -o bench"), run, FIRST, evaluator=check_only
    )
    assert found.checkpoints[1].delivered is delivered
    assert any("looks like an evaluation, fits no rule" in text for text in found.warnings) is seen
    assert not found.evaluations
