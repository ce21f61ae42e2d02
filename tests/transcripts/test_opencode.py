"""OpenCode's database and export, made by hand."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from log_seeds import OPENCODE_RESPONSE, OPENCODE_TOOL, opencode_database

from loopscope.evidence.support import support
from loopscope.transcripts import formats, opencode_db
from loopscope.transcripts.canonical import MAIN, Completeness, MarkKind, NoteKind, Transcript
from loopscope.transcripts.errors import TranscriptError

Json = Any
ZERO = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}


def export(folder: Path, *messages: Json) -> Transcript:
    path = folder / "export.json"
    path.write_text(json.dumps({"info": {"id": "s", "projectID": "p"}, "messages": list(messages)}))
    [transcript] = formats.read(path)
    assert transcript.source.format == "opencode-export"
    return transcript


def response(tokens: Json, *parts: Json, **more: Json) -> Json:
    return {"info": OPENCODE_RESPONSE | {"tokens": tokens} | more, "parts": list(parts)}


def tokens(input: int, output: int, reasoning: int = 0, read: int = 0) -> Json:
    return {"input": input, "output": output, "reasoning": reasoning, "cache": {"read": read, "write": 0}}


def database(folder: Path, rows: Callable[[sqlite3.Connection], None]) -> Path:
    opencode_database(folder / "opencode.db", rows)
    return folder / "opencode.db"


def test_input_excludes_the_cache_and_output_excludes_reasoning(tmp_path: Path) -> None:
    usage = export(tmp_path, response(tokens(100, 7, 5, 900)), response(tokens(50, 3, 0, 1000))).usage
    total = usage.total
    assert (total.input_uncached, total.cache_read, total.output) == (150, 1900, 15)
    assert usage.claimed_cost_usd == Decimal("0.2")


def test_counts_that_are_all_zero_are_unknown_and_not_free(tmp_path: Path) -> None:
    text = {"type": "text", "text": "Hm."}
    usage = export(tmp_path, response(ZERO, text, cost=0), response(ZERO, text, cost=0)).usage
    assert usage.total.input_uncached is None and usage.total.output is None
    assert (usage.completeness, usage.claimed_cost_usd) == (Completeness.UNKNOWN, None)


def test_some_zero_counts_make_usage_partial(tmp_path: Path) -> None:
    usage = export(tmp_path, response(ZERO), response(tokens(50, 3))).usage
    assert usage.total.output == 3
    assert usage.completeness is Completeness.PARTIAL and usage.missing == ("1 responses whose counts are all zero",)


def test_messages_are_counted_and_finished_steps_not_again(tmp_path: Path) -> None:
    step = {"type": "step-finish", "tokens": tokens(50, 3), "cost": 0.1}
    assert export(tmp_path, response(tokens(50, 3), step, step)).usage.total.output == 3


def test_the_true_exit_code_is_in_the_part(tmp_path: Path) -> None:
    [call] = export(tmp_path, response(tokens(1, 1), OPENCODE_TOOL)).calls
    assert call.result and (call.result.exit_code, call.result.is_error) == (3, True)
    assert call.result.index == call.index == 0


def test_a_call_that_opencode_calls_invalid_is_a_failed_one_of_the_tool_that_was_meant(tmp_path: Path) -> None:
    told = {"tool": "bash", "error": "command: expected string"}
    state = {
        "status": "completed",
        "input": told,
        "output": "The arguments provided to the tool are invalid",
        "metadata": {},
    }
    invalid = OPENCODE_TOOL | {"tool": "invalid", "callID": "c0", "state": state}
    done = OPENCODE_TOOL | {"state": OPENCODE_TOOL["state"] | {"metadata": {"exit": 0}}}
    transcript = export(tmp_path, response(tokens(1, 1), invalid, done))
    first, second = transcript.calls
    assert (first.tool, first.kind, first.command) == ("bash", second.kind, None)
    assert first.result and (first.result.is_error, first.result.exit_code) == (True, None)
    assert (support(transcript).failed_calls, support(transcript).failed_then_changed) == (1, 1)
    # A tool of that name that somebody added.
    own = OPENCODE_TOOL | {"tool": "invalid", "state": state | {"input": {}}}
    [other] = export(tmp_path, response(tokens(1, 1), own)).calls
    assert other.tool == "invalid" and other.result and other.result.is_error is False


def test_a_call_that_did_not_end_has_no_result(tmp_path: Path) -> None:
    running = OPENCODE_TOOL | {"state": {"status": "running", "input": {"command": "make"}}}
    [call] = export(tmp_path, response(tokens(1, 1), running)).calls
    assert call.command == "make" and call.result is None


def test_children_are_threads_and_not_transcripts(tmp_path: Path) -> None:
    opencode_database(tmp_path / "opencode.db")
    [transcript] = formats.read(tmp_path)
    assert transcript.threads == (MAIN, "t")
    assert transcript.usage.total.output == 8


def test_sessions_that_are_each_others_parent_are_still_read(tmp_path: Path) -> None:
    def rows(connection: sqlite3.Connection) -> None:
        connection.execute(
            "insert into session values ('r', null, '/', '1', 1), ('s', 't', '/', '1', 2), ('t', 's', '/', '1', 3),"
            " ('u', 'u', '/', '1', 4), ('v', 'r', '/', '1', 5)"
        )
        for name in "rstuv":
            message = json.dumps(OPENCODE_RESPONSE)
            connection.execute("insert into message values (?, ?, 1, ?)", (f"m{name}", name, message))

    transcripts = list(formats.read(database(tmp_path, rows)))
    assert [found.source.session_ids for found in transcripts] == [("r", "v"), ("s",), ("t",), ("u",)]
    assert [len(found.usage.entries) for found in transcripts] == [2, 1, 1, 1]
    assert [len(found.notes_of(NoteKind.DANGLING)) for found in transcripts] == [0, 1, 1, 1]


def test_a_database_that_is_too_large_is_refused_before_it_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opencode_database(tmp_path / "opencode.db")
    monkeypatch.setattr(opencode_db, "_MAX_COPY", 1000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    written: list[Path] = []
    real = Path.open

    def opened(path: Path, mode: str = "r", *given: Any, **more: Any) -> Any:
        written.extend([path] if "w" in mode else [])
        return real(path, mode, *given, **more)

    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(TranscriptError, match="more than 1,000 bytes"):
        list(formats.read(tmp_path / "opencode.db"))
    assert written == []


def test_what_stands_only_in_the_write_ahead_log_is_read(tmp_path: Path) -> None:
    opencode_database(tmp_path / "opencode.db")
    writer = sqlite3.connect(tmp_path / "opencode.db")
    writer.execute("pragma journal_mode = wal")
    writer.execute("insert into message values ('late', 's', 9, ?)", (json.dumps(OPENCODE_RESPONSE),))
    writer.commit()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    [transcript] = formats.read(tmp_path)
    assert len(transcript.usage.entries) == 3
    # The reader left the directory as it was, while somebody still wrote there.
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    writer.close()


def test_the_database_overrules_stale_files_beside_it(tmp_path: Path) -> None:
    opencode_database(tmp_path / "opencode.db")
    (tmp_path / "storage/message/s").mkdir(parents=True)
    (tmp_path / "storage/message/s/old.json").write_text(json.dumps(OPENCODE_RESPONSE))
    [transcript] = formats.read(tmp_path)
    assert len(transcript.usage.entries) == 2
    assert transcript.notes_of(NoteKind.SKIPPED)


@pytest.mark.parametrize(
    "schema",
    [
        "create view message as with recursive n(i) as (select 1 union all select i + 1 from n) select i from n;",
        "create virtual table message using fts5(id, session_id, time_created, data);",
        "create table message (id text, session_id text, time_created integer);",
    ],
)
def test_a_schema_that_would_run_or_lacks_columns_is_refused(tmp_path: Path, schema: str) -> None:
    def rows(connection: sqlite3.Connection) -> None:
        connection.executescript(f"drop table message; {schema} insert into session values ('s', null, '/', '1', 1);")

    with pytest.raises(TranscriptError, match="message"):
        list(formats.read(database(tmp_path, rows), "opencode-db"))


def test_generated_columns_are_never_computed(tmp_path: Path) -> None:
    def rows(connection: sqlite3.Connection) -> None:
        endless = "replace(hex(zeroblob(30000000)), '0', 'abcdefgh')"
        connection.executescript(
            "drop table message;"
            f"create table message (id text, session_id text, time_created integer, data text generated always as ({endless}));"
            "insert into session values ('s', null, '/', '1', 1); insert into message values ('m', 's', 1);"
        )

    with pytest.raises(TranscriptError, match=r"no column message\.data"):
        list(formats.read(database(tmp_path, rows)))


def test_rows_around_a_damaged_page_are_read(tmp_path: Path) -> None:
    def rows(connection: sqlite3.Connection) -> None:
        connection.execute("insert into session values ('s', null, '/', '1', 1)")
        for number in range(40):
            connection.execute(
                "insert into message values (?, 's', ?, ?)", (f"m{number:02}", number, json.dumps(OPENCODE_RESPONSE))
            )
            part = json.dumps(OPENCODE_TOOL | {"callID": f"c{number}"})
            connection.execute("insert into part values (?, ?, 's', ?)", (f"p{number:02}", f"m{number:02}", part))

    path = database(tmp_path, rows)
    data = bytearray(path.read_bytes())
    half = len(data) // 2 // 512 * 512
    data[half : half + 1024] = b"\xff" * 1024
    path.write_bytes(data)
    [transcript] = formats.read(path)
    assert transcript.notes_of(NoteKind.BROKEN)
    read = {int(call.id[1:]) for call in transcript.calls}
    assert 0 in read and 39 in read and 10 < len(read) < 40


def test_compaction_is_marked_and_counted(tmp_path: Path) -> None:
    summary = response(tokens(9, 2), {"type": "text", "text": "Summary"}, summary=True)
    transcript = export(tmp_path, response(tokens(50, 3)), summary)
    assert [mark.index for mark in transcript.marks_of(MarkKind.COMPACTION)] == [1]
    assert transcript.usage.total.output == 5
