"""Harbor's job and trial directories."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard
from log_seeds import seeds

from loopscope.imports import import_logs
from loopscope.models import Problem, RunStatus
from loopscope.records import StudyStore
from loopscope.transcripts import formats
from loopscope.transcripts.canonical import Ended, NoteKind
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.serial import pack, unpack

LOGS = Path(__file__).parents[1] / "fixtures/logs"


def trial(job: Path, name: str, **more: Any) -> Path:
    folder = job / name
    (folder / "agent").mkdir(parents=True)
    (folder / "verifier").mkdir()
    result = {
        "task_name": f"task of {name}",
        "trial_name": name,
        "agent_info": {"name": "an-agent", "model_info": {"name": "m"}},
    }
    (folder / "result.json").write_text(json.dumps(result | more))
    return folder


def trajectory() -> bytes:
    data: bytes = next(seed.data for seed in seeds() if seed.format == "atif")
    return data


def test_the_agents_own_log_is_taken_before_harbors(tmp_path: Path) -> None:
    folder = trial(tmp_path / "job", "t__1")
    shutil.copytree(LOGS / "claude/projects", folder / "agent/sessions/projects")
    (folder / "agent/trajectory.json").write_bytes(trajectory())
    shutil.copy(LOGS / "claude/stream-0.jsonl", folder / "agent/claude-code.txt")
    [transcript] = formats.read(tmp_path / "job")
    source = transcript.source
    assert (source.format, source.task, source.trial) == ("claude-code", "task of t__1", "t__1")
    assert source.files["main"].startswith("agent/sessions/projects/-app/") or source.files["main"].startswith("agent/")
    assert len(transcript.calls) == 10


@pytest.mark.parametrize(("name", "format"), [("codex", "codex"), ("kimi", "kimi-code")])
def test_other_agents_sessions_are_found(tmp_path: Path, name: str, format: str) -> None:
    folder = trial(tmp_path / "job", "t__1")
    shutil.copytree(LOGS / name, folder / "agent", dirs_exist_ok=True)
    [transcript] = formats.read(folder)
    assert transcript.source.format == format


def test_opencodes_database_is_found_deep_within(tmp_path: Path) -> None:
    folder = trial(tmp_path / "job", "t__1")
    data = folder / "agent/opencode/xdg-data/opencode"
    data.mkdir(parents=True)
    for path in (LOGS / "opencode").glob("*.zst"):
        (data / path.stem).write_bytes(
            zstandard.ZstdDecompressor().decompress(path.read_bytes(), max_output_size=1 << 26)
        )
    [transcript] = formats.read(tmp_path / "job")
    assert transcript.source.format == "opencode-db" and transcript.source.task == "task of t__1"


def test_a_stream_is_the_last_resort(tmp_path: Path) -> None:
    folder = trial(tmp_path / "job", "t__1")
    shutil.copy(LOGS / "claude/stream-0.jsonl", folder / "agent/claude-code.txt")
    [transcript] = formats.read(tmp_path / "job")
    assert transcript.source.format == "claude-stream"


def test_a_job_gives_each_trial_and_passes_over_those_without_logs(tmp_path: Path) -> None:
    job = tmp_path / "job"
    for name in ("t__1", "t__2"):
        (trial(job, name) / "agent/trajectory.json").write_bytes(trajectory())
    trial(job, "t__3")
    (trial(job, "t__4") / "agent/trajectory.json").write_text("no json")
    (job / "result.json").write_text("{}")
    found = list(formats.read(job))
    assert [transcript.source.trial for transcript in found] == ["t__1", "t__2"]
    # What the log says of its agent stands before what Harbor says.
    assert {transcript.source.agent for transcript in found} == {"a"}


def test_steps_of_a_trial_are_read_each(tmp_path: Path) -> None:
    folder = trial(tmp_path / "job", "t__1")
    shutil.rmtree(folder / "agent")
    for step in ("one", "two"):
        (folder / "steps" / step / "agent").mkdir(parents=True)
        (folder / "steps" / step / "agent/trajectory.json").write_bytes(trajectory())
    assert len(list(formats.read(tmp_path / "job"))) == 2


def test_a_trial_without_a_readable_result_is_named_by_its_folder(tmp_path: Path) -> None:
    folder = trial(tmp_path / "job", "t__1")
    (folder / "result.json").write_text('{"cut off')
    (folder / "agent/trajectory.json").write_bytes(trajectory())
    [transcript] = formats.read(folder)
    assert transcript.source.trial == "t__1"
    assert any("no readable result" in note.text for note in transcript.notes_of(NoteKind.DANGLING))


def test_a_job_without_any_log_is_refused(tmp_path: Path) -> None:
    trial(tmp_path / "job", "t__1")
    with pytest.raises(TranscriptError, match="no agent left a log"):
        list(formats.read(tmp_path / "job"))


AGENT_ENDED = {"agent_execution": {"finished_at": "2026-01-01T00:00:00Z"}}


def exception(kind: str, message: str = "it\n  broke") -> Any:
    return {"exception_info": {"exception_type": kind, "exception_message": message, "exception_traceback": "..."}}


@pytest.mark.parametrize(
    ("result", "ended"),
    [
        ({"exception_info": None} | AGENT_ENDED, Ended(RunStatus.COMPLETED)),
        ({"exception_info": None}, None),
        (AGENT_ENDED, None),
        (exception("AgentTimeoutError") | AGENT_ENDED, Ended(RunStatus.DEADLINE)),
        (
            exception("NonZeroAgentExitCodeError") | AGENT_ENDED,
            Ended(RunStatus.AGENT_ERROR, "NonZeroAgentExitCodeError", "agent", "it broke"),
        ),
        (
            exception("RewardFileNotFoundError") | AGENT_ENDED,
            Ended(RunStatus.COMPLETED, "RewardFileNotFoundError", "scoring", "it broke"),
        ),
        (exception("CancelledError", ""), Ended(RunStatus.UNKNOWN, "CancelledError")),
        ({"exception_info": "odd"}, Ended(RunStatus.AGENT_ERROR, "exception")),
    ],
)
def test_how_a_trial_ended_is_what_its_result_says(tmp_path: Path, result: Any, ended: Ended | None) -> None:
    folder = trial(tmp_path / "job", "t__1", **result)
    (folder / "agent/trajectory.json").write_bytes(trajectory())
    [found] = formats.read(tmp_path / "job")
    assert found.ended == ended
    assert unpack(pack(found).data, folder) == found


def test_a_step_ended_as_its_own_result_says(tmp_path: Path) -> None:
    folder = trial(tmp_path, "t__1", exception_info=None, step_results=[{"step_name": "b"} | exception("ApiError")])
    (folder / "agent").rmdir()
    for name in ("a", "b"):
        (folder / "steps" / name / "agent").mkdir(parents=True)
        (folder / "steps" / name / "agent/trajectory.json").write_bytes(trajectory())
    first, second = formats.read(folder)
    assert first.ended is None and second.ended is not None
    assert (second.ended.status, second.ended.problem) == (RunStatus.AGENT_ERROR, "ApiError")


def test_a_record_says_how_an_imported_trial_ended(tmp_path: Path) -> None:
    folder = trial(tmp_path / "job", "t__1", **exception("ApiError"))
    (folder / "agent/trajectory.json").write_bytes(trajectory())
    report = import_logs([tmp_path / "job"], tmp_path / "study")
    record = StudyStore.open(tmp_path / "study").run(report.taken[0].run_id).record
    assert record.status is RunStatus.AGENT_ERROR
    assert record.problems == (Problem(kind="ApiError", stage="agent", message="it broke"),)
