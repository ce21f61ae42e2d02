"""Logs that the real CLIs wrote: every reader sees the run as it was scripted."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard

from loopscope.transcripts import formats
from loopscope.transcripts.canonical import (
    MAIN,
    Call,
    Completeness,
    MarkKind,
    MessageKind,
    NoteKind,
    Role,
    ToolKind,
    Transcript,
)

LOGS = Path(__file__).parents[1] / "fixtures/logs"
SAID = [
    "Writing the file.",
    "Committing round 1.",
    "Running a failing command.",
    "Editing.",
    "Committing round 2.",
    "Looking at the history.",
    "Two rounds are committed.",
    "Committing round 3.",
    "Three rounds are committed.",
]


@pytest.fixture(scope="module")
def opencode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("opencode")
    for path in (LOGS / "opencode").glob("*.zst"):
        data = zstandard.ZstdDecompressor().decompress(path.read_bytes(), max_output_size=1 << 26)
        (folder / path.stem).write_bytes(data)
    return folder


@pytest.fixture(scope="module")
def runs(opencode: Path) -> dict[str, Transcript]:
    paths = {name: LOGS / name for name in ("claude", "codex", "kimi")} | {"opencode": opencode}
    found = {}
    for name, path in paths.items():
        [found[name]] = formats.read(path)
    return found


FORMATS = {"claude": "claude-code", "codex": "codex", "kimi": "kimi-code", "opencode": "opencode-db"}
EACH = pytest.mark.parametrize("name", sorted(FORMATS))


def shells(transcript: Transcript, thread: str = MAIN) -> Iterator[Call]:
    return (call for call in transcript.calls_of(thread) if call.kind is ToolKind.SHELL)


@EACH
def test_the_format_is_found(name: str, runs: dict[str, Transcript]) -> None:
    source = runs[name].source
    assert source.format == FORMATS[name]
    assert source.agent_version or name == "kimi"
    assert source.cwd == "/app"
    assert source.session_ids


@EACH
def test_what_was_said_and_done_stands_in_order(name: str, runs: dict[str, Transcript]) -> None:
    said = [
        message.text
        for message in runs[name].messages_of()
        if message.role is Role.ASSISTANT and message.kind is MessageKind.PLAIN
    ]
    assert [text for text in said if text in SAID] == SAID
    commits = [call for call in shells(runs[name]) if "git commit" in (call.command or "")]
    hashes = [
        re.match(r"\[main [^\]]*?([0-9a-f]{7})\] round (\d)", call.result.text) for call in commits if call.result
    ]
    assert [found and found[2] for found in hashes] == ["1", "2", "3"]
    [log] = [call for call in shells(runs[name]) if call.command == "git log --oneline"]
    assert log.result and [found[1] for found in hashes[1::-1] if found] == re.findall(r"^\w{7}", log.result.text, re.M)


@EACH
def test_the_failing_command_failed(name: str, runs: dict[str, Transcript]) -> None:
    [call] = [call for call in shells(runs[name]) if call.command == "echo out; echo err >&2; exit 3"]
    assert call.result and (call.result.exit_code, call.result.is_error) == (3, True)
    assert "out" in call.result.text and "err" in call.result.text
    others = [call.result for call in shells(runs[name]) if call.result and "git" in (call.command or "")]
    # Success is stated by two of the four; nobody's silence is taken for it.
    assert {result.exit_code for result in others} == ({0} if name in ("codex", "opencode") else {None})
    assert not any(result.is_error for result in others)


@EACH
def test_files_are_written_and_edited(name: str, runs: dict[str, Transcript]) -> None:
    changes = [call for call in runs[name].calls_of() if call.kind in (ToolKind.WRITE, ToolKind.EDIT, ToolKind.PATCH)]
    if name == "codex":
        assert [call.kind for call in changes] == [ToolKind.PATCH] * 2
        assert "+VALUE = 2" in changes[1].arguments["input"]
    else:
        assert [(call.kind, call.path) for call in changes] == [
            (ToolKind.WRITE, "/app/solution.py"),
            (ToolKind.EDIT, "/app/solution.py"),
        ]


@EACH
def test_subagents_are_threads_of_their_own(name: str, runs: dict[str, Transcript]) -> None:
    transcript = runs[name]
    children = transcript.threads[1:]
    assert len(children) == (2 if name == "codex" else 1)
    starts = transcript.marks_of(MarkKind.SUBAGENT_START)
    agents = {call.index for call in transcript.calls_of() if call.kind is ToolKind.AGENT}
    assert sorted(mark.text for mark in starts) == sorted(children)
    assert {mark.index for mark in starts} == agents and all(mark.thread == MAIN for mark in starts)
    for child in children:
        [call] = shells(transcript, child)
        assert call.command == "ls | wc -l; exit 4" and call.result and call.result.exit_code == 4
        first = next(message for message in transcript.messages_of(child) if message.kind is MessageKind.PLAIN)
        assert (first.role, first.text) == (Role.USER, "SUBTASK: count the files")


@EACH
def test_compaction_and_resume_are_marked_and_no_turns(name: str, runs: dict[str, Transcript]) -> None:
    transcript = runs[name]
    [compaction] = transcript.marks_of(MarkKind.COMPACTION)
    [summary] = [message for message in transcript.messages if message.kind is MessageKind.COMPACTION]
    assert "Work so far." in summary.text and abs(summary.index - compaction.index) <= 1
    turns = [mark for mark in transcript.marks_of(MarkKind.TURN) if mark.thread == MAIN]
    assert len(turns) == 2 and turns[0].index < compaction.index < turns[1].index
    asked = [m.text.strip('"') for m in transcript.messages_of() if (m.role, m.kind) == (Role.USER, MessageKind.PLAIN)]
    assert asked == ["Improve solution.py in two rounds. Commit each.", "Make one more round."]


@EACH
def test_nothing_is_broken_unknown_or_out_of_time(name: str, runs: dict[str, Transcript]) -> None:
    kinds = {note.kind for note in runs[name].notes}
    assert kinds == ({NoteKind.SKIPPED} if name == "codex" else set())
    assert all(call.result for call in runs[name].calls)
    times = [call.time for call in runs[name].calls_of()]
    assert None not in times and times == sorted(time for time in times if time)


def test_claude_codes_session_lacks_the_compaction_call_and_its_streams_have_it(runs: dict[str, Transcript]) -> None:
    session = runs["claude"].usage
    streams = [next(formats.read(LOGS / "claude" / f"stream-{number}.jsonl")).usage for number in range(2)]
    assert (session.completeness, session.missing) == (Completeness.PARTIAL, ("1 compaction calls",))
    assert all(stream.completeness is Completeness.COMPLETE for stream in streams)
    # The call for the summary read 7 turns of cache; its counts are the script's.
    for count, hidden in (("input_uncached", 107), ("cache_read", 7000), ("cache_write", 10), ("output", 27)):
        streamed = sum(getattr(stream.total, count) for stream in streams)
        assert getattr(session.total, count) + hidden == streamed


def test_claude_codes_stream_names_the_same_calls(runs: dict[str, Transcript]) -> None:
    streamed = [
        call for number in range(2) for call in next(formats.read(LOGS / f"claude/stream-{number}.jsonl")).calls
    ]
    written = {call.id: (call.tool, call.command, call.thread, call.background) for call in runs["claude"].calls}
    assert {call.id: (call.tool, call.command, call.thread, call.background) for call in streamed} == written
    [late] = [call for call in runs["claude"].calls if call.background]
    [notice] = [m for m in runs["claude"].messages if m.text.startswith("<task-notification>")]
    assert f"<task-id>{late.background}</task-id>" in notice.text and notice.kind is MessageKind.INJECTED


def test_codex_counts_each_rollout_by_its_own_growth(runs: dict[str, Transcript]) -> None:
    last, repeated = {}, 0
    for path in (LOGS / "codex").rglob("rollout-*.jsonl"):
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        counts = [
            e["payload"]["info"]["total_token_usage"] for e in entries if e["payload"].get("type") == "token_count"
        ]
        last[entries[0]["payload"]["id"]] = counts[-1]
        repeated += sum(before == after for before, after in pairwise(counts))
    transcript = runs["codex"]
    main, fresh, forked = transcript.source.session_ids
    assert repeated >= 2, "compaction repeated no count: the recording shows nothing"
    by_thread = Counter[str]()
    for entry in transcript.usage.entries:
        by_thread[entry.thread] += (entry.input_uncached or 0) + (entry.cache_read or 0)
    assert by_thread[MAIN] == last[main]["input_tokens"]
    assert by_thread[fresh] == last[fresh]["input_tokens"] == 3200
    # The forked one began with its parent's counts.
    assert last[forked]["input_tokens"] > 3200 and by_thread[forked] == 3200
    assert transcript.usage.completeness is Completeness.COMPLETE


def test_opencodes_messages_add_up_to_its_session_table(opencode: Path, runs: dict[str, Transcript]) -> None:
    copy = opencode.with_name("looked-at")
    copy.mkdir()
    for path in opencode.glob("opencode.db*"):
        (copy / path.name).write_bytes(path.read_bytes())
    with sqlite3.connect(copy / "opencode.db") as connection:
        query = "select sum(tokens_input), sum(tokens_output + tokens_reasoning), sum(tokens_cache_read) from session"
        expected = connection.execute(query).fetchone()
    total = runs["opencode"].usage.total
    assert (total.input_uncached, total.output, total.cache_read) == expected
    assert runs["opencode"].usage.claimed_cost_usd is None


def test_an_export_lacks_the_subagent(runs: dict[str, Transcript]) -> None:
    [export] = formats.read(LOGS / "opencode/export.json")
    assert export.source.format == "opencode-export"
    assert [call.id for call in export.calls] == [call.id for call in runs["opencode"].calls_of()]
    assert export.usage.completeness is Completeness.PARTIAL and "1 subagents" in export.usage.missing


def test_kimis_usage_has_compaction_and_the_real_model(runs: dict[str, Transcript]) -> None:
    usage = runs["kimi"].usage
    wires = [json.loads(line) for path in (LOGS / "kimi").rglob("wire.jsonl") for line in path.read_text().splitlines()]
    steps = [w["event"]["usage"]["output"] for w in wires if w.get("event", {}).get("type") == "step.end"]
    records = [w["usage"]["output"] for w in wires if w["type"] == "usage.record"]
    assert usage.total.output == sum(records) > sum(steps)
    assert {entry.model for entry in usage.entries} == {"scripted-model"}
    assert {w["model"] for w in wires if w["type"] == "usage.record"} == {"__kimi_env_model__"}


def test_inspects_archive() -> None:
    one, two = formats.read(LOGS / "inspect/two_questions.eval")
    assert (one.source.task, one.source.trial, one.source.model) == ("two_questions", "one epoch 1", "mockllm/model")
    failing, commit, empty = one.calls
    assert failing.result and (failing.result.exit_code, failing.result.text) == (3, "err\n\nout\n")
    assert commit.command and commit.command.startswith("git init") and commit.result and commit.result.exit_code == 0
    assert empty.command is None and empty.result and empty.result.is_error
    assert one.usage.total.output == 28 and two.usage.total.output == 7
    assert one.messages[-1].text == "The answer is 42."
