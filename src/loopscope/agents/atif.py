"""An agent's transcript in ATIF, on disk as the run goes on.

Every tool call is one step. The file is valid after each write (temporary file, fsync, rename), so a run that is killed
leaves the transcript up to its last write. Steps are serialised once; a write joins them, and writing never takes more
than about a twentieth of the run, however long the run.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from harbor.models.trajectories import (
    Agent,
    FinalMetrics,
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
)

from loopscope.models.annotation import ANNOTATION_KEY, StepAnnotation
from loopscope.records.durable import write_bytes

MAX_OUTPUT = 30_000
"""Characters of a result that are kept, as the CLIs do; the middle is cut."""
_WRITE_SHARE = 0.05


@dataclass(frozen=True)
class Call:
    """One tool call and its result."""

    tool: str
    """`bash` or `edit`."""
    arguments: dict[str, Any]
    output: str
    exit_code: int
    started_at: datetime
    annotation: StepAnnotation
    note: str = ""
    """What the agent says before it acts."""


def artifact_state(files: Mapping[str, bytes]) -> str:
    """Name of a state of the artifact: sha256 over path and bytes of the editable files by path, first 16 hex digits.

    Each file enters as `path NUL length NUL bytes`; a missing file does not enter.
    """
    digest = hashlib.sha256()
    for path in sorted(files):
        data = files[path]
        digest.update(b"%s\0%d\0" % (path.encode(errors="surrogateescape"), len(data)) + data)
    return digest.hexdigest()[:16]


def clip(text: str, limit: int = MAX_OUTPUT) -> str:
    """The text with its middle cut out when it is longer than the limit."""
    text = _printable(text)
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n... [{len(text) - 2 * half} characters cut] ...\n{text[-half:]}"


class TranscriptWriter:
    """Collects steps and keeps `trajectory.json` up to date."""

    def __init__(self, path: Path, name: str, version: str, session_id: str | None, instruction: str) -> None:
        self._path = path
        self._head = Trajectory(
            schema_version="ATIF-v1.7",
            session_id=session_id,
            agent=Agent(name=name, version=version),
            steps=[Step(step_id=1, source="user", message="-")],
        ).to_json_dict()
        self._steps: list[bytes] = []
        self._not_before = 0.0
        self._dirty = False
        self._append(Step(step_id=1, timestamp=_stamp(), source="user", message=_printable(instruction)))
        self.flush()

    @property
    def calls(self) -> int:
        """Tool calls so far."""
        return len(self._steps) - 1

    def record(self, call: Call) -> None:
        """Append one call; the file follows at once unless writing has become costly."""
        number = len(self._steps) + 1
        call_id = f"call-{number}"
        arguments = {key: _printable(v) if isinstance(v, str) else v for key, v in call.arguments.items()}
        failed = call.exit_code != 0
        content = f"Exit code {call.exit_code}\n{call.output}" if failed else call.output
        self._append(
            Step(
                step_id=number,
                timestamp=_stamp(call.started_at),
                source="agent",
                message=_printable(call.note),
                llm_call_count=0,
                tool_calls=[ToolCall(tool_call_id=call_id, function_name=call.tool, arguments=arguments)],
                observation=Observation(results=[ObservationResult(source_call_id=call_id, content=clip(content))]),
                extra={ANNOTATION_KEY: call.annotation.model_dump(mode="json", exclude_none=True)},
            )
        )
        if time.monotonic() >= self._not_before:
            self.flush()

    def flush(self) -> None:
        """Write the file if anything is new. Call it once more when the run ends, however it ends."""
        if not self._dirty:
            return
        start = time.monotonic()
        metrics = FinalMetrics(
            total_prompt_tokens=0,
            total_completion_tokens=0,
            total_cached_tokens=0,
            total_cost_usd=0.0,
            total_steps=len(self._steps),
        )
        tail = {"final_metrics": metrics.model_dump(exclude_none=True)}
        head = orjson.dumps({k: v for k, v in self._head.items() if k != "steps"})
        write_bytes(
            self._path, head[:-1] + b',"steps":[\n' + b",\n".join(self._steps) + b"\n]," + orjson.dumps(tail)[1:]
        )
        self._dirty = False
        end = time.monotonic()
        self._not_before = end + (end - start) / _WRITE_SHARE

    def _append(self, step: Step) -> None:
        self._steps.append(orjson.dumps(step.model_dump(exclude_none=True, mode="json")))
        self._dirty = True


def _printable(text: str) -> str:
    """The text without what UTF-8 cannot hold (bytes of a name or an output that were no text)."""
    return text.encode(errors="replace").decode()


def _stamp(moment: datetime | None = None) -> str:
    return (moment or datetime.now(UTC)).isoformat()
