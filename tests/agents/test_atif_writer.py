from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from harbor.models.trajectories import Trajectory
from pydantic import ValidationError

from loopscope.agents.atif import MAX_OUTPUT, Call, TranscriptWriter, artifact_state, clip
from loopscope.models.annotation import ANNOTATION_KEY, StepAnnotation, StepKind, StepStatus


def call(output: str = "fine", exit_code: int = 0, **annotation: object) -> Call:
    block = StepAnnotation.model_validate({"kind": "build", "status": "ok", **annotation})
    return Call("bash", {"command": "make"}, output, exit_code, datetime.now(UTC), block)


def read(path: Path) -> Trajectory:
    return Trajectory.model_validate_json(path.read_bytes())


def test_valid_from_the_first_moment_and_after_every_flush(tmp_path: Path) -> None:
    path = tmp_path / "agent" / "trajectory.json"
    writer = TranscriptWriter(path, "search", "1", "session", "do it")
    assert [s.source for s in read(path).steps] == ["user"]
    for number in range(3):
        writer.record(call(f"output {number}"))
    writer.record(call("boom", 2, status="code_failure"))
    writer.flush()
    trajectory = read(path)
    assert (trajectory.schema_version, trajectory.agent.name, trajectory.session_id) == (
        "ATIF-v1.7",
        "search",
        "session",
    )
    assert trajectory.final_metrics is not None
    assert trajectory.final_metrics.total_steps == len(trajectory.steps) == 5
    assert writer.calls == 4
    last = trajectory.steps[-1]
    assert last.llm_call_count == 0
    assert last.tool_calls is not None and last.observation is not None and last.extra is not None
    assert last.observation.results[0].content == "Exit code 2\nboom"
    assert last.observation.results[0].source_call_id == last.tool_calls[0].tool_call_id
    assert last.extra[ANNOTATION_KEY] == {"kind": "build", "status": "code_failure"}
    assert list(path.parent.iterdir()) == [path]


def test_bytes_that_are_no_text_and_floods_are_survived(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    writer = TranscriptWriter(path, "search", "1", None, "do \udcff it")
    writer.record(call("\x00 \udcff \u2028" + "y" * 10 * MAX_OUTPUT))
    writer.flush()
    content = read(path).steps[-1].observation.results[0].content  # type: ignore[union-attr]
    assert isinstance(content, str)
    assert len(content) < MAX_OUTPUT + 100
    assert "characters cut" in content


def test_clip_keeps_both_ends() -> None:
    assert clip("short") == "short"
    assert clip("a" * 50 + "b" * 50, 10).startswith("aaaaa\n...")
    assert clip("a" * 50 + "b" * 50, 10).endswith("...\nbbbbb")


def test_state_depends_on_names_and_bytes_alone() -> None:
    files = {"a": b"1", "b": b"23"}
    assert artifact_state(files) == artifact_state(dict(reversed(files.items())))
    others = [{"a": b"12", "b": b"3"}, {"a": b"1"}, {"c": b"1", "b": b"23"}, {"a": b"1", "b": b"23", "c": b""}, {}]
    assert len({artifact_state(f) for f in [files, *others]}) == 6


@pytest.mark.parametrize(
    "bad", [{"state": "xyz"}, {"commit": "abc"}, {"round": -1}, {"kind": "guess"}, {"status": "fine"}, {"extra": 1}]
)
def test_annotations_are_strict(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        StepAnnotation.model_validate({"kind": "build", "status": "ok", **bad})


def test_annotation_round_trip() -> None:
    block = StepAnnotation(
        kind=StepKind.COMMIT, status=StepStatus.OK, state="0" * 16, commit="a" * 40, score="1.50", round=3
    )
    text = json.dumps(block.model_dump(mode="json", exclude_none=True))
    assert StepAnnotation.model_validate_json(text) == block
