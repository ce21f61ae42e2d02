"""Trainings that say what they saved, and solutions that are interpreted."""

from __future__ import annotations

from decimal import Decimal

import pytest
from made_calls import bash, edit
from made_transcript import Made, commit, evidence

from loopscope.models import CheckpointEvidence, Grade, RunEvidence
from loopscope.models.evaluator import Evaluator

MODEL = "/w/app/model.py"
TEXT = f"You may edit `{MODEL}` and `/w/app/train.py`."
TRAINED = Evaluator.model_validate(
    {
        "task": "trained",
        "metric": "PSNR",
        "direction": "maximize",
        "evaluations": [
            {"role": "score", "program": r"eval\.py", "value": r"psnr=(?P<value>[\d.]+)", "failed": "Traceback",
             "measures": "out.pt", "made_by": r"train\.py"},
            {"role": "score", "program": r"train\.py", "value": r"saved (?P<value>[\d.]+)", "saves": True,
             "failed": r"Traceback(?!(?:.*\n)*?BrokenPipeError)"},
        ],
        "reward": {"kind": "linear", "base": 10, "reference": 20},
    }
)  # fmt: skip
INITIAL, FIRST = commit("initial state", "aaaaaa1", root=True), commit("round 1: x", "aaaaaa2")
CHANGE = edit(MODEL, "a", "b")
CRASH = 'Traceback (most recent call last):\n  File "/w/app/train.py", line 3, in <module>\nRuntimeError: no triton\n'


def trained(*made: Made) -> RunEvidence:
    return evidence(INITIAL, CHANGE, FIRST, *made, evaluator=TRAINED, text=TEXT)


def after_training(output: str, *more: Made) -> CheckpointEvidence:
    return trained(bash("python3 train.py 2>&1", output), *more).checkpoints[1]


def test_a_training_is_worth_what_it_last_saved_and_its_score_is_inferred() -> None:
    found = trained(bash("python3 train.py", "saved 12.5\nsaved 15.0\nstep 900"))
    (one,) = found.evaluations
    assert (one.raw, one.rewards, one.certain, one.counted) == ((Decimal("15.0"),), (Decimal("0.5000"),), False, True)
    first = found.checkpoints[1]
    assert (first.grade, first.delivered) == (Grade.INFERRED, True)
    assert first.reconstructed is not None
    assert first.reconstructed.value == Decimal("0.5000")
    assert found.final is not None
    assert (found.final.value, found.final_grade, found.final_reason) == (Decimal("0.5000"), Grade.INFERRED, "")


def test_what_was_fetched_of_a_training_later_counts() -> None:
    log = bash("tail -2 log.txt", "saved 15.0\nsaved 16.0")
    found = trained(bash("python3 train.py > log.txt 2>&1 &", ""), bash("cat log.txt", "saved 12.5"), log)
    assert found.evaluations[0].raw == (Decimal("16.0"),)
    assert found.evaluations[0].result_message == 12


def test_an_evaluation_of_what_was_saved_comes_before_the_trainings_own_word() -> None:
    one = after_training("saved 15.0", bash("python3 eval.py", "psnr=14.0"))
    assert one.reconstructed is not None
    assert (one.reconstructed.value, one.grade) == (Decimal("0.4000"), Grade.CONFIRMED)
    assert one.candidates_by_state == 1
    both = trained(bash("python3 train.py && python3 eval.py", "saved 12.5\nsaved 15.0\npsnr=14.0"))
    assert [item.raw for item in both.evaluations] == [(Decimal("15.0"),), (Decimal("14.0"),)]
    assert [item.counted for item in both.evaluations] == [False, True]
    assert after_training("saved 15.0").candidates_by_state == 1
    silent = after_training("step 900")
    assert (silent.delivered, silent.candidates_by_state) == (None, 0)
    assert "shows nothing that is looked for" in silent.delivered_reason


def test_a_training_that_ends_in_a_traceback_failed_and_what_was_saved_before_is_no_zero() -> None:
    one = after_training(f"saved 12.5\n{CRASH}")
    assert (one.delivered, one.reconstructed, one.grade) == (False, None, Grade.MISSING)
    assert "its evaluation failed" in one.delivered_reason
    again = after_training(CRASH, bash("python3 train.py", "saved 15.0"), bash("python3 eval.py", "psnr=15.0"))
    assert again.delivered is True
    # An earlier traceback, of a worker that was started anew, does not end it; nor does a pipe that `head` closed.
    assert after_training(f"{CRASH}saved 15.0").delivered is True
    assert after_training(f"saved 12.5\n{CRASH.replace('RuntimeError', 'BrokenPipeError')}").delivered is True


@pytest.mark.parametrize(
    ("output", "delivered"), [("model.py OK", None), ("SyntaxError: invalid syntax", False)]
)  # fmt: skip
def test_who_looks_whether_a_script_can_be_parsed_has_delivered_no_less_than_who_does_not(
    output: str, delivered: bool | None
) -> None:
    check = bash("""python3 -c "import ast; ast.parse(open('model.py').read())" 2>&1""", output)
    one = evidence(INITIAL, CHANGE, check, FIRST, evaluator=TRAINED, text=TEXT).checkpoints[1]
    assert one.delivered is delivered
    assert evidence(INITIAL, CHANGE, FIRST, evaluator=TRAINED, text=TEXT).checkpoints[1].delivered is None
