"""Record `tests/fixtures/logs/inspect`: an Inspect evaluation of two samples with a model whose answers are fixed.

    python record_inspect.py OUT

For a Python that has `inspect-ai`; nothing of loopscope needs it. tests/fixtures/logs/README.md says where it is run.
"""

from __future__ import annotations

import sys
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash

USAGE = ModelUsage(input_tokens=100, output_tokens=7, total_tokens=137, input_tokens_cache_read=30)


def call(arguments: dict[str, Any], text: str = "") -> ModelOutput:
    output = ModelOutput.for_tool_call("mockllm/model", "bash", arguments, content=text)
    output.usage = USAGE
    return output


def said(text: str) -> ModelOutput:
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = USAGE
    return output


outputs = [
    call({"command": "echo out; echo err >&2; exit 3"}, "Running a failing command."),
    call(
        {
            "command": "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; git log --oneline"
        }
    ),
    call({}),
    said("The answer is 42."),
    said("The answer is 41."),
]
task = Task(
    name="two_questions",
    dataset=[Sample(id="one", input="Do it.", target="42"), Sample(id="two", input="Again.", target="42")],
    solver=[use_tools(bash()), generate()],
    scorer=includes(),
    sandbox="local",
)
[log] = eval(
    task, model=get_model("mockllm/model", custom_outputs=outputs), log_dir=sys.argv[1], display="none", max_samples=1
)
print(log.status)
