"""Transcripts of a run made by hand, and what evidence says of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from made_calls import bash, calls

from loopscope.evidence.events import Seen
from loopscope.evidence.log_checkpoints import from_log
from loopscope.evidence.runlog import RunLog
from loopscope.evidence.shellseen import seen_in_transcript
from loopscope.models import RunEvidence
from loopscope.models.evaluator import Evaluator
from loopscope.records import RunDir
from loopscope.transcripts.canonical import (
    MAIN,
    Call,
    Mark,
    Message,
    MessageKind,
    Note,
    Role,
    Source,
    Transcript,
    UsageReport,
)

Made = tuple[str, dict[str, Any], str | None]
FILE = "/w/app/solve.c"
TASK = "Make it fast. You may edit `/w/app/solve.c`.\n"
EVALUATOR = Evaluator.model_validate(
    {
        "task": "fast",
        "timed": True,
        "metric": "time",
        "unit": "ms",
        "direction": "minimize",
        "evaluations": [
            {"role": "check", "program": "bench", "arguments": "--check", "value": r"check=(?P<value>\w+)", "failed": "check=bad"},
            {"role": "part", "program": "bench", "arguments": "--part", "value": r"ms=(?P<value>[\d.]+)"},
            {"role": "score", "program": "bench", "value": r"ms=(?P<value>[\d.]+)", "failed": "panic"},
        ],
        "reward": {"kind": "log", "base": 100, "reference": 10, "factor": 0.5},
        "claims": [{"pattern": r"(?:->|to) (?P<value>[\d.]+) ?ms"}],
    }
)  # fmt: skip
"""100 ms are worth 0, 10 ms 0.5, 1 ms 1."""


def commit(message: str, sha: str, *, root: bool = False) -> Made:
    branch = "master (root-commit)" if root else "master"
    return bash(f"git add -A && git commit -m '{message}'", f"[{branch} {sha}] {message}\n 1 file changed")


def build(output: str = "gcc -O2 solve.c -o bench") -> Made:
    return bash("make", output)


def bench(*times: str, options: str = "") -> Made:
    return bash(f"./bench {options}".strip(), "\n".join(f"ms={time}" for time in times))


def transcript(
    made: Iterable[Made], *, text: str = TASK, more: Iterable[Call] = (), marks: Iterable[Mark] = (), notes: Iterable[Note] = ()
) -> Transcript:  # fmt: skip
    thread = [replace(call, index=call.index + 1) for call in calls(made)]
    first = Message(0, MAIN, Role.USER, MessageKind.PLAIN, text)
    return Transcript(
        Source("page", task="fast", cwd="/w/app"), (first,), (*thread, *more), tuple(marks), UsageReport(), tuple(notes)
    )


def seen(*made: Made, evaluator: Evaluator | None = EVALUATOR, **more: Any) -> Seen:
    return seen_in_transcript(transcript(made, **more), (), evaluator)


def evidence(*made: Made, evaluator: Evaluator | None = EVALUATOR, **more: Any) -> RunEvidence:
    run = RunDir(Path("fast__a__s1"))
    return from_log(run, RunLog(seen(*made, evaluator=evaluator, **more), False), evaluator)
