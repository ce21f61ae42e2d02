"""Harbor's trajectory format, made by hand."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from loopscope.transcripts import formats
from loopscope.transcripts.canonical import MAIN, Completeness, MarkKind, NoteKind, Transcript

Json = Any


def step(number: int, source: str = "agent", **more: Json) -> Json:
    return {"step_id": number, "source": source, "message": f"step {number}"} | more


def counted(prompt: int, completion: int, cached: int = 0, **extra: int) -> Json:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached, "extra": extra}


def called(name: str, output: str | None, **extra: Json) -> Json:
    results = [] if output is None else [{"source_call_id": name, "content": output, "extra": extra}]
    call = {"tool_call_id": name, "function_name": "Bash", "arguments": {"command": name}}
    return {"tool_calls": [call], "observation": {"results": results}}


def document(*steps: Json, version: str | None = "ATIF-v1.8", **more: Json) -> Json:
    head = {"session_id": "s", "agent": {"name": "a", "version": "2", "model_name": "m"}, "steps": list(steps)}
    return head | ({"schema_version": version} if version else {}) | more


def read(folder: Path, data: Json) -> Transcript:
    (folder / "trajectory.json").write_text(json.dumps(data))
    [transcript] = formats.read(folder / "trajectory.json")
    assert transcript.source.format == "atif"
    return transcript


@pytest.mark.parametrize("minor", range(9))
def test_all_known_versions(tmp_path: Path, minor: int) -> None:
    transcript = read(tmp_path, document(step(1, "user"), step(2, **called("ls", "x")), version=f"ATIF-v1.{minor}"))
    assert [call.command for call in transcript.calls] == ["ls"]
    assert transcript.notes == () and transcript.source.format_version == f"ATIF-v1.{minor}"


@pytest.mark.parametrize("version", ["ATIF-v1.9", "ATIF-v2.0", "1.8", None])
def test_other_versions_are_read_with_a_warning(tmp_path: Path, version: str | None) -> None:
    unknown = step(2, **called("ls", "x"), novelty={"deep": [1]})
    transcript = read(tmp_path, document(unknown, version=version, also_new=True))
    assert len(transcript.calls) == 1
    assert [note.kind for note in transcript.notes] == [NoteKind.VERSION]


def test_prompt_tokens_include_what_was_cached_and_written(tmp_path: Path) -> None:
    metrics = counted(1000, 30, 700, cache_creation_input_tokens=200)
    usage = read(tmp_path, document(step(1, metrics=metrics), step(2, metrics=counted(50, 5)))).usage
    total = usage.total
    assert (total.input_uncached, total.cache_read, total.cache_write, total.output) == (150, 700, 200, 35)
    assert usage.completeness is Completeness.COMPLETE


def test_copied_context_is_not_counted_again(tmp_path: Path) -> None:
    copied = step(1, metrics=counted(100, 5), is_copied_context=True, **called("old", "x"))
    transcript = read(tmp_path, document(copied, step(2, metrics=counted(50, 3), **called("new", "y"))))
    assert [(call.index, call.command) for call in transcript.calls] == [(1, "new")]
    assert transcript.usage.total.output == 3 and len(transcript.messages) == 1


def test_totals_that_differ_from_the_steps_are_taken_and_noted(tmp_path: Path) -> None:
    totals = {
        "total_prompt_tokens": 500,
        "total_completion_tokens": 40,
        "total_cached_tokens": 100,
        "total_cost_usd": 1.5,
    }
    transcript = read(tmp_path, document(step(1, metrics=counted(100, 5)), final_metrics=totals))
    usage = transcript.usage
    assert (usage.total.input_uncached, usage.total.cache_read, usage.total.output) == (400, 100, 40)
    assert usage.claimed_cost_usd == Decimal("1.5") and usage.source == "final_metrics"
    assert transcript.notes_of(NoteKind.USAGE)


def test_dangling_ids_are_noted_and_the_rest_is_read(tmp_path: Path) -> None:
    lost = {"results": [{"source_call_id": "nobody", "content": "?"}]}
    transcript = read(
        tmp_path, document(step(1, observation=lost), step(9, **called("ls", None)), step(9, **called("cat", "y")))
    )
    assert [call.result is not None for call in transcript.calls] == [False, True]
    assert transcript.notes_of(NoteKind.DANGLING)


def test_exit_codes_where_the_harness_adds_them(tmp_path: Path) -> None:
    stated = step(1, **called("make", "no", exit_code=2))
    failed = step(2, **called("cat", "no", tool_result_is_error=True))
    first, second = read(tmp_path, document(stated, failed)).calls
    assert first.result and (first.result.exit_code, first.result.is_error) == (2, True)
    assert second.result and (second.result.exit_code, second.result.is_error) == (None, True)


def test_embedded_subagents_and_those_in_files_beside(tmp_path: Path) -> None:
    references = [{"trajectory_id": "inner"}, {"trajectory_path": "sub.json"}, {"trajectory_path": "../outside.json"}]
    spawn = step(
        1, observation={"results": [{"content": "done", "subagent_trajectory_ref": references}]}, metrics=counted(9, 1)
    )
    inner = document(step(1, metrics=counted(9, 2), **called("inner", "x")), trajectory_id="inner")
    beside = document(step(1, metrics=counted(9, 4), **called("beside", "x")))
    (tmp_path / "sub.json").write_text(json.dumps(beside))
    (tmp_path.parent / "outside.json").write_text(json.dumps(beside))
    transcript = read(tmp_path, document(spawn, subagent_trajectories=[inner]))
    assert [(call.thread, call.command) for call in transcript.calls] == [("inner", "inner"), ("sub.json", "beside")]
    assert transcript.usage.total.output == 7
    assert len(transcript.marks_of(MarkKind.SUBAGENT_START)) == 2
    assert transcript.notes_of(NoteKind.DANGLING)


@pytest.mark.parametrize("reference", [{"session_id": "zz"}, {"trajectory_path": "not-here.json"}])
def test_a_subagent_that_is_not_here_leaves_usage_partial(tmp_path: Path, reference: Json) -> None:
    results = [{"source_call_id": "a", "content": "x", "subagent_trajectory_ref": [reference]}]
    usage = read(tmp_path, document(step(1, observation={"results": results}, metrics=counted(9, 1)))).usage
    assert (usage.completeness, usage.missing) == (Completeness.PARTIAL, ("1 subagents",))


def test_continuations_go_on_in_the_same_thread_and_end(tmp_path: Path) -> None:
    again = document(step(1, **called("second", "y")), continued_trajectory_ref="trajectory.json")
    (tmp_path / "next.json").write_text(json.dumps(again))
    transcript = read(tmp_path, document(step(1, **called("first", "x")), continued_trajectory_ref="next.json"))
    assert [(call.index, call.thread, call.command) for call in transcript.calls] == [
        (0, MAIN, "first"),
        (1, MAIN, "second"),
    ]
    assert [mark.index for mark in transcript.marks_of(MarkKind.RESUME)] == [1]


def test_responses_without_counts_make_usage_partial(tmp_path: Path) -> None:
    usage = read(tmp_path, document(step(1, metrics=counted(9, 1)), step(2, llm_call_count=1))).usage
    assert usage.completeness is Completeness.PARTIAL
