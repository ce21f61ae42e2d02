"""Tool steps of an ATIF transcript with the annotations of built-in agents; read leniently, as `atif` does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from loopscope.models.annotation import ANNOTATION_KEY, StepAnnotation

MAX_TRANSCRIPT = 1 << 30


@dataclass(frozen=True)
class ToolStep:
    """One tool call of a transcript."""

    index: int
    """Position among the transcript's steps, from 0."""
    tool: str
    command: str
    """The shell command, for shell tools; else empty."""
    output: str
    annotation: StepAnnotation | None
    """What a built-in agent says about the call; None for others."""


def read_tool_steps(path: Path) -> tuple[ToolStep, ...] | None:
    """Tool calls in order; None when there is no readable transcript. Copied context is not counted again."""
    steps = _steps(path)
    return tuple(_tool_steps(steps)) if steps else None


def _tool_steps(steps: list[Any]) -> Iterator[ToolStep]:
    for index, step in enumerate(steps):
        if not isinstance(step, dict) or step.get("source") != "agent" or step.get("is_copied_context"):
            continue
        calls = step.get("tool_calls")
        if not isinstance(calls, list):
            continue
        annotation = _annotation(step)
        for call in calls:
            if isinstance(call, dict):
                arguments = call.get("arguments")
                command = arguments.get("command") if isinstance(arguments, dict) else None
                yield ToolStep(
                    index=index,
                    tool=str(call.get("function_name", "")),
                    command=command if isinstance(command, str) else "",
                    output=_output(step, call.get("tool_call_id")),
                    annotation=annotation if len(calls) == 1 else None,
                )


def _steps(path: Path) -> list[Any]:
    try:
        if path.stat().st_size > MAX_TRANSCRIPT:
            return []
        document = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return []
    steps = document.get("steps") if isinstance(document, dict) else None
    return steps if isinstance(steps, list) else []


def _annotation(step: dict[str, Any]) -> StepAnnotation | None:
    extra = step.get("extra")
    block = extra.get(ANNOTATION_KEY) if isinstance(extra, dict) else None
    if block is None:
        return None
    try:
        return StepAnnotation.model_validate(block)
    except ValidationError:
        return None


def _output(step: dict[str, Any], call_id: object) -> str:
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    for result in results if isinstance(results, list) else []:
        if isinstance(result, dict) and result.get("source_call_id") == call_id:
            content = result.get("content")
            return content if isinstance(content, str) else ""
    return ""
