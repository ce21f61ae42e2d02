from __future__ import annotations

import pytest

from loopscope.agents.search.evaluation import judge, read_score
from loopscope.models.annotation import StepKind, StepStatus


@pytest.mark.parametrize(
    ("output", "lower", "text", "value"),
    [
        ("score: 1.5", False, "1.5", 1.5),
        ("warming up\nscore: 1\nscore: 2e-3\ndone", False, "2e-3", 0.002),
        ("Score = -3", True, "-3", 3.0),
        ("score: 4 (lower is better)", False, "4", -4.0),
        ("score: 4, higher is better", True, "4", 4.0),
        ('{"score": 2, "correctness": 1}', True, "2", -2.0),
        ('log {x}\n{"a": {"b": 1}}\n{"reward": 0.25, "correctness": true}', False, "0.25", 0.25),
        ('{\n  "score": 7\n}\n', False, "7", 7.0),
    ],
)
def test_scores(output: str, lower: bool, text: str, value: float) -> None:
    measured = read_score(output, lower)
    assert measured is not None
    assert (measured.text, measured.value) == (text, value)


@pytest.mark.parametrize(
    "output",
    [
        "",
        "score: nan",
        "score: inf",
        "score: none",
        '{"score": 1, "correctness": 0}',
        '{"score": null}',
        '{"score": true}',
        '{"score": "1"}',
        "{broken",
        "underscore: 3",
        "score: 1e999",
    ],
)
def test_no_score(output: str) -> None:
    assert read_score(output, False) is None


@pytest.mark.parametrize(
    ("kind", "code", "output", "status"),
    [
        (StepKind.BUILD, 0, "warning: error: in a name", StepStatus.OK),
        (StepKind.BUILD, 2, "x.c:3:1: error: expected ';'", StepStatus.CODE_FAILURE),
        (StepKind.BUILD, 2, "make: *** [Makefile:2: x] Error 1", StepStatus.CODE_FAILURE),
        (StepKind.BUILD, 2, "make: nvcc: No such file or directory\nmake: *** [x] Error 127", StepStatus.ENV_FAILURE),
        (StepKind.BUILD, 127, "bash: line 1: cmake: command not found", StepStatus.ENV_FAILURE),
        (StepKind.BUILD, 124, "", StepStatus.TIMEOUT),
        (StepKind.EVALUATE, 1, "SyntaxError: invalid syntax", StepStatus.CODE_FAILURE),
        (StepKind.EVALUATE, 1, "wrong answer", StepStatus.RUNTIME_FAILURE),
        (StepKind.EVALUATE, 1, "error: the table differs", StepStatus.RUNTIME_FAILURE),
        (StepKind.EVALUATE, 1, "gcc: error: unrecognized command-line option '-fno'", StepStatus.CODE_FAILURE),
        (StepKind.EVALUATE, 1, "solve.cu(43): error: x\ncollect2: error: ld returned 1", StepStatus.CODE_FAILURE),
        (StepKind.EVALUATE, 1, "./engine.go:4:2: undefined: x", StepStatus.CODE_FAILURE),
        (StepKind.EVALUATE, 139, "Segmentation fault", StepStatus.RUNTIME_FAILURE),
        (StepKind.EVALUATE, 1, "OSError: [Errno 28] No space left on device", StepStatus.ENV_FAILURE),
    ],
)
def test_how_a_command_ended(kind: StepKind, code: int, output: str, status: StepStatus) -> None:
    assert judge(kind, code, output) is status
