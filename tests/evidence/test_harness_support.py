"""How the harnesses' own tools were used, counted alike for all of them."""

from __future__ import annotations

import pytest
from made_transcript import transcript

from loopscope.evidence.annotated import seen_in_steps
from loopscope.evidence.support import support
from loopscope.models.annotation import StepAnnotation, StepKind, StepStatus
from loopscope.transcripts.atif_steps import ToolStep
from loopscope.transcripts.canonical import MAIN, Call, Mark, MarkKind, Result
from loopscope.transcripts.tools import kind_of

PLANS = {
    "Claude Code": ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "EnterPlanMode", "ExitPlanMode"],
    "Codex": ["update_plan"],
    "OpenCode": ["todowrite", "todoread"],
    "Kimi Code": ["TodoList", "SetTodoList"],
}
OTHERS = ["Bash", "exec_command", "Task", "spawn_agent", "TaskOutput", "TaskStop", "Read", "apply_patch"]

STATUSES = {True: StepStatus.RUNTIME_FAILURE, False: StepStatus.OK}


def call(number: int, tool: str, *, failed: bool = False, **arguments: str) -> Call:
    result = Result(number + 1, "no" if failed else "ok", is_error=failed)
    return Call(number, MAIN, f"c{number}", tool, kind_of(tool), arguments, result)


@pytest.mark.parametrize("harness", sorted(PLANS))
def test_task_and_todo_tools_are_one_class(harness: str):
    made = [call(2 * number + 1, tool) for number, tool in enumerate([*PLANS[harness], *OTHERS])]
    found = support(transcript((), more=made))
    assert found.plan_calls == len(PLANS[harness])
    assert (found.failed_calls, found.failed_then_changed) == (0, 0)


def test_only_a_retry_of_the_same_tool_with_other_arguments_before_a_success_is_a_changed_one():
    first = call(1, "todowrite", failed=True, todos="a")
    for after, changed in (
        ([call(3, "todowrite", todos="b")], 1),
        ([call(3, "todowrite", todos="a")], 0),
        ([call(3, "bash", command="ls"), call(5, "todowrite", todos="b")], 0),
        ([call(3, "bash", failed=True, command="ls"), call(5, "todowrite", todos="b")], 1),
        ([call(3, "todowrite", failed=True, todos="b"), call(5, "todowrite", todos="c")], 2),
        ([], 0),
    ):
        found = support(transcript((), more=[first, *after]))
        assert found.failed_then_changed == changed
        assert found.failed_calls == 1 + sum(one.result is not None and one.result.is_error is True for one in after)


@pytest.mark.parametrize(
    ("pattern", "failed", "changed"),
    [
        ("a! a! b", 2, 2),
        ("a! a b", 1, 0),
        ("a! b! c! d", 3, 3),
        ("a! a! a!", 3, 0),
        ("a! b a", 1, 1),
    ],
)
def test_a_built_in_agents_steps_are_counted_as_calls_of_a_log_are(pattern: str, failed: int, changed: int):
    """A letter is a command, `!` a failure."""
    words = pattern.split()
    logged = support(
        transcript(
            (), more=[call(2 * at + 1, "bash", failed="!" in word, command=word[0]) for at, word in enumerate(words)]
        )
    )
    steps = [
        ToolStep(at, "bash", word[0], "", StepAnnotation(kind=StepKind.INSPECT, status=STATUSES["!" in word]))
        for at, word in enumerate(words)
    ]
    for found in (logged, seen_in_steps(steps).support):
        assert (found.failed_calls, found.failed_then_changed) == (failed, changed)


def test_a_reading_of_no_file_failed_though_a_page_export_does_not_mark_it():
    texts = ("File does not exist. Note: your current working directory is /w", "1\tFile does not exist.")
    made = [
        Call(at, MAIN, f"c{at}", "Read", kind_of("Read"), {"file_path": f"/w/{at}"}, Result(at + 1, text))
        for at, text in zip((1, 3), texts, strict=True)
    ]
    found = support(transcript((), more=made))
    assert (found.failed_calls, found.failed_then_changed) == (1, 1)


def test_compactions_and_resumes_are_counted_by_their_marks():
    marks = [Mark(1, MAIN, MarkKind.COMPACTION), Mark(3, MAIN, MarkKind.RESUME), Mark(5, MAIN, MarkKind.COMPACTION)]
    found = support(transcript((), marks=marks))
    assert (found.compactions, found.resumes, found.subagents, found.background) == (2, 1, 0, 0)
