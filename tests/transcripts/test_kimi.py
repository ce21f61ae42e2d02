"""Kimi Code's wire logs, made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_seeds import lines

from loopscope.imports import Options, import_logs
from loopscope.transcripts import formats
from loopscope.transcripts.canonical import MAIN, Completeness, MarkKind, NoteKind, Transcript

Json = Any


def counts(input: int, output: int) -> Json:
    return {"inputOther": input, "output": output, "inputCacheRead": 1, "inputCacheCreation": 0}


def record(input: int, output: int, model: str = "alias", scope: str = "turn") -> Json:
    return {"type": "usage.record", "model": model, "usage": counts(input, output), "usageScope": scope}


def request(model: str, alias: str = "alias", kind: str = "loop") -> Json:
    return {"type": "llm.request", "kind": kind, "model": model, "modelAlias": alias}


def step_end(input: int, output: int) -> Json:
    return {"type": "context.append_loop_event", "event": {"type": "step.end", "usage": counts(input, output)}}


def event(kind: str, **more: Json) -> Json:
    return {"type": "context.append_loop_event", "event": {"type": kind, **more}}


def read(folder: Path, *main: Json, **others: list[Json]) -> Transcript:
    for name, entries in {"main": list(main), **others}.items():
        path = folder / "agents" / name / "wire.jsonl"
        path.parent.mkdir(parents=True)
        path.write_bytes(lines({"type": "metadata", "protocol_version": "1.4"}, *entries))
    [transcript] = formats.read(folder)
    assert transcript.source.format == "kimi-code"
    return transcript


def test_an_alias_is_resolved_by_the_request_before(tmp_path: Path) -> None:
    usage = read(
        tmp_path,
        request("k2"),
        record(10, 1),
        request("k3"),
        record(20, 2),
        request("s", "small"),
        record(5, 1, "small"),
    ).usage
    assert [entry.model for entry in usage.entries] == ["k2", "k3", "s"]


def test_an_alias_that_nothing_resolves_is_noted(tmp_path: Path) -> None:
    transcript = read(tmp_path, record(10, 1))
    assert transcript.usage.entries[0].model == "alias"
    assert transcript.notes_of(NoteKind.USAGE)


def test_only_records_count_and_compaction_is_only_there(tmp_path: Path) -> None:
    compaction = [request("k2", kind="compaction"), record(900, 30, scope="session")]
    usage = read(tmp_path, request("k2"), step_end(10, 1), record(10, 1), *compaction).usage
    assert (usage.total.input_uncached, usage.total.output, usage.total.cache_read) == (910, 31, 2)


def test_exit_codes_and_subagents(tmp_path: Path) -> None:
    entries = [
        event("tool.call", toolCallId="c1", name="Bash", args={"command": "make"}),
        event(
            "tool.result", toolCallId="c1", result={"output": "no\nCommand failed with exit code: 2.", "isError": True}
        ),
        event("tool.call", toolCallId="c2", name="Agent", args={"prompt": "A"}),
        event("tool.result", toolCallId="c2", result={"output": [{"type": "text", "text": "agent_id: agent-0\nok"}]}),
        event("tool.call", toolCallId="c3", name="Bash", args={"command": "cat log"}),
        event("tool.result", toolCallId="c3", result={"output": "Command failed with exit code: 2. That was before."}),
    ]
    inner = [event("tool.call", toolCallId="c1", name="Bash", args={"command": "ls"})]
    transcript = read(tmp_path, *entries, **{"agent-0": inner})
    make, agent, cat = transcript.calls_of()
    assert make.result and (make.result.exit_code, make.result.is_error) == (2, True)
    assert cat.result and cat.result.exit_code is None
    assert [(m.index, m.thread, m.text) for m in transcript.marks_of(MarkKind.SUBAGENT_START)] == [
        (agent.index, MAIN, "agent-0")
    ]
    # The same call id in two threads is two calls.
    [listing] = transcript.calls_of("agent-0")
    assert listing.result is None


@pytest.mark.parametrize("given", ["agents/main/wire.jsonl", "agents/agent-0/wire.jsonl"])
def test_one_agents_log_stands_for_the_whole_session(tmp_path: Path, given: str) -> None:
    session = tmp_path / "session_0123456789"
    whole = read(session, request("k2"), record(10, 1), **{"agent-0": [request("k2"), record(5, 2)]})
    [found] = formats.read(session / given)
    assert found == whole
    assert (found.source.session_ids, found.usage.total.output) == (("session_0123456789",), 3)
    study = tmp_path / "study"
    imported = [import_logs([path], study, Options(task="t")) for path in (session, session / given)]
    assert [report.new for report in imported] == [1, 0]


def test_a_log_outside_of_a_session_is_read_by_itself(tmp_path: Path) -> None:
    agent = event("tool.call", toolCallId="c", name="Agent", args={})
    answer = event("tool.result", toolCallId="c", result={"output": "agent_id: agent-0\nok"})
    path = tmp_path / "wire.jsonl"
    path.write_bytes(lines({"type": "metadata", "protocol_version": "1.4"}, agent, answer, record(10, 1)))
    [found] = formats.read(path)
    assert (found.usage.completeness, found.usage.missing) == (Completeness.PARTIAL, ("1 subagents",))


def test_background_commands(tmp_path: Path) -> None:
    entries = [
        event("tool.call", toolCallId="c1", name="Bash", args={"command": "make", "run_in_background": True}),
        event("tool.result", toolCallId="c1", result={"output": "task_id: bash-1a\npid: 7\nstatus: running"}),
        event("tool.call", toolCallId="c2", name="TaskOutput", args={"task_id": "bash-1a"}),
    ]
    start, fetch = read(tmp_path, *entries).calls
    assert start.background == fetch.background == "bash-1a"
