"""Evaluations that broke in the solution itself."""

from __future__ import annotations

from made_calls import bash, edit
from made_transcript import commit, evidence

from loopscope.models import EvaluationStatus
from loopscope.models.evaluator import Evaluator

INITIAL, FIRST = commit("initial state", "aaaaaa1", root=True), commit("round 1: x", "aaaaaa2")


def test_a_script_that_broke_in_the_solution_failed() -> None:
    text = "You may edit `/w/app/wc.py`."
    head = 'Traceback (most recent call last):\n  File "/w/app/bench.py", line 2, in <module>\n    import wc\n'
    own = Evaluator.model_validate(
        {
            "task": "wc",
            "metric": "time",
            "direction": "minimize",
            "evaluations": [{"role": "score", "program": r"bench\.py", "value": r"ms=(?P<value>[\d.]+)"}],
            "reward": {"kind": "log", "base": 100, "reference": 10},
        }
    )

    def status(output: str) -> EvaluationStatus:
        made = INITIAL, edit("/w/app/wc.py", "a", "b"), bash("python bench.py --check", f"Exit code 1\n{output}"), FIRST
        found = evidence(*made, evaluator=own, text=text)
        assert found.checkpoints[1].delivered is (False if found.evaluations[0].counted else None)
        return found.evaluations[0].status

    broken = '  File "/w/app/wc.py", line 1\n    def (\nSyntaxError: invalid syntax\n'
    library = '  File "/usr/lib/python3.12/re.py", line 9, in compile\n'
    assert status(head + broken) is EvaluationStatus.FAILED
    inside = '  File "/w/app/wc.py", line 7, in count\n    return 1 / 0\n'
    assert status(f"{head}{inside}ZeroDivisionError: division by zero") is EvaluationStatus.FAILED
    assert status(f"{head}{inside}{library}ValueError: bad") is EvaluationStatus.FAILED
    # The evaluation's own fault, somebody who stopped it, and another program's traceback say nothing of the solution.
    assert status(f"{head}ImportError: no module named numpy") is EvaluationStatus.NO_RESULT
    assert status(f"{head}{inside}KeyboardInterrupt") is EvaluationStatus.NO_RESULT
    assert status(head.replace("bench", "try") + broken) is EvaluationStatus.NO_RESULT
