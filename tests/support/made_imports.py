"""Studies of imported runs, made of page exports whose steps a test names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from log_seeds import answer, page, said
from made_calls import edit
from made_transcript import EVALUATOR, FILE, TASK, Made, bench, build, commit

from loopscope.imports import Options, import_logs


def page_of(path: Path, steps: Iterable[Made], **about: Any) -> Path:
    """A page export of a run of the task `fast` that took these steps."""
    messages: list[Any] = [{"role": "user", "content": TASK}]
    for number, (tool, arguments, output) in enumerate(steps):
        messages += [said((f"c{number}", tool, arguments)), answer(f"c{number}", output or "")]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(page(*messages, **{"task": "fast", "category": "speed", "id": path.stem, **about}))
    return path


def trial_of(folder: Path, steps: Iterable[Made], reward: Any, **about: Any) -> Path:
    """A trial of Harbor's of such a run, whose verifier gave a reward (None: an exception, and no reward file)."""
    (folder / "agent").mkdir(parents=True)
    done = [
        {
            "step_id": number,
            "source": "agent",
            "message": "",
            "tool_calls": [{"tool_call_id": f"c{number}", "function_name": tool, "arguments": arguments}],
            "observation": {"results": [{"source_call_id": f"c{number}", "content": output or ""}]},
        }
        for number, (tool, arguments, output) in enumerate(steps, 2)
    ]
    document = {
        "schema_version": "ATIF-v1.7",
        "session_id": f"session of {folder.name}",
        "agent": {"name": "a", "version": "1", "model_name": "model"},
        "steps": [{"step_id": 1, "source": "user", "message": TASK}, *done],
    }
    (folder / "agent/trajectory.json").write_text(json.dumps(document))
    verdict = {"rewards": {"reward": reward}} if reward is not None else None
    failed = {"exception_type": "RewardFileNotFoundError"} if reward is None else None
    result = {"task_name": "fast", "verifier_result": verdict, "exception_info": failed, **about}
    (folder / "result.json").write_text(json.dumps(result))
    return folder


def rounds(*times: str) -> list[Made]:
    """One round for each time in ms: an edit, a build, an evaluation, a commit."""
    steps: list[Made] = []
    for number, time in enumerate(times):
        change = edit(FILE, f"v{number}\n", f"v{number + 1}\n")
        steps += [change, build(), bench(time), commit(f"change=step {number} -> {time} ms", f"abc{number:04x}")]
    return steps


def imported(study: Path, *logs: Path) -> Path:
    """The logs as runs of a study, with the evaluator of `fast`."""
    evaluator = study.parent / "fast.yaml"
    fields = EVALUATOR.model_dump(mode="json", exclude_defaults=True)
    evaluator.write_text(yaml.safe_dump(json.loads(json.dumps(fields))))
    report = import_logs(logs, study, Options(evaluators=(evaluator,)))
    assert not report.unread, report.unread
    return study
