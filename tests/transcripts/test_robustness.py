"""Logs that were cut off, damaged, copied badly or made to hurt."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_seeds import Seed, answer, lines, page, said, seeds

from loopscope.transcripts import builder, formats, parsing, shapes
from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import MAIN, Completeness, NoteKind, Role, Transcript
from loopscope.transcripts.errors import TranscriptError

OF_LINES = ("claude-code", "claude-stream", "codex", "kimi-code")
OF_ONE_OBJECT = ("page", "opencode-export", "atif")


def seed_of(name: str) -> Seed:
    return next(seed for seed in seeds() if seed.format == name)


def read(seed: Seed, folder: Path, data: bytes) -> Transcript:
    return next(formats.read(seed.put(folder / "log", data), seed.format))


def kinds(transcript: Transcript) -> set[NoteKind]:
    return {note.kind for note in transcript.notes}


@pytest.mark.parametrize("name", OF_LINES)
def test_a_truncated_last_line_is_said_and_the_rest_read(name: str, tmp_path: Path) -> None:
    seed = seed_of(name)
    whole = read(seed, tmp_path, seed.data)
    cut = read(seed, tmp_path, seed.data[:-9])
    assert NoteKind.TRUNCATED in kinds(cut) and NoteKind.TRUNCATED not in kinds(whole)
    assert len(cut.calls_of()) == len(whole.calls_of()) >= 1


@pytest.mark.parametrize("name", OF_LINES)
def test_a_last_line_without_its_newline_is_whole(name: str, tmp_path: Path) -> None:
    seed = seed_of(name)
    assert read(seed, tmp_path, seed.data) == read(seed, tmp_path, seed.data.rstrip(b"\n"))


@pytest.mark.parametrize("name", OF_LINES)
def test_nuls_bad_utf8_and_stray_lines(name: str, tmp_path: Path) -> None:
    seed = seed_of(name)
    whole = read(seed, tmp_path, seed.data)
    rows = seed.data.splitlines()
    # A file system that lost power pads with NULs; a copy through the wrong encoding leaves bytes that are no UTF-8.
    rows[1] = b"\0" * 16 + rows[1]
    rows[2] = rows[2].replace(b'{"', b'{"\xff\xfe": 1, "', 1)
    rows[3:3] = [b"\0" * 100, b"", b"   ", b"npm warn deprecated", b"[1, 2]", b'"text"']
    broken = read(seed, tmp_path, b"\xef\xbb\xbf" + b"\n".join(rows) + b"\n")
    assert {NoteKind.REPAIRED, NoteKind.BROKEN} <= kinds(broken)
    assert [call.id for call in broken.calls] == [call.id for call in whole.calls]
    assert len(broken.messages) == len(whole.messages)
    [stray] = broken.notes_of(NoteKind.BROKEN)
    assert (stray.count, stray.index) == (3, 6)


@pytest.mark.parametrize("name", OF_ONE_OBJECT)
def test_of_an_object_that_was_cut_off_the_beginning_is_read(name: str, tmp_path: Path) -> None:
    seed = seed_of(name)
    array = b'"steps"' if name == "atif" else b'"messages"'
    after_first = b"]}, {" if name == "opencode-export" else b"}, {"
    end = seed.data.index(after_first, seed.data.index(array)) + 6
    cut = read(seed, tmp_path, seed.data[:end])
    assert NoteKind.TRUNCATED in kinds(cut)
    assert [message.text for message in cut.messages_of()] == ["Do it."]
    assert cut.usage.completeness is Completeness.UNKNOWN
    if name != "page":
        later = read(seed, tmp_path, seed.data[:-2])
        assert later.usage.completeness is Completeness.PARTIAL
        assert "1 parts that are cut off" in later.usage.missing


@pytest.mark.parametrize("name", OF_ONE_OBJECT)
def test_every_cut_gives_a_beginning_or_the_typed_error(name: str, tmp_path: Path) -> None:
    seed = seed_of(name)
    seen = set()
    for end in range(0, len(seed.data), 7):
        try:
            seen.add(len(read(seed, tmp_path, seed.data[:end]).messages))
        except TranscriptError:
            seen.add(-1)
    assert {-1, 1} <= seen and len(seen) >= 3


def test_salvage_keeps_what_stands_before_the_cut() -> None:
    text = json.dumps({"id": "r", "messages": [{"a": 1}, {"b": [1, {"c": "}]"}]}, {"d": 2}], "after": 1})
    for end in range(len(text)):
        found = parsing.salvaged(text[:end], "messages")
        assert (
            found.get("messages", []) == [{"a": 1}, {"b": [1, {"c": "}]"}]}, {"d": 2}][: len(found.get("messages", []))]
        )
    assert parsing.salvaged(text, "messages") == json.loads(text)
    assert len(parsing.salvaged(text[: text.index("after")], "messages")["messages"]) == 3


@pytest.mark.parametrize("name", OF_LINES)
def test_clocks_that_jump_back_are_noted(name: str, tmp_path: Path) -> None:
    seed = seed_of(name)
    rows = [json.loads(row) for row in seed.data.splitlines()]
    for number, row in enumerate(rows):
        back = number == len(rows) - 1
        row["timestamp"] = "2020-01-01T00:00:00Z" if back else f"2026-01-01T00:00:{number:02}Z"
        row["time"] = 1_500_000_000_000 if back else 1_700_000_000_000 + number * 1000
    if name == "claude-code":
        rows.append(rows[0] | {"uuid": "late", "timestamp": "2020-01-01T00:00:00Z"})
    if name == "claude-stream":
        rows.append(rows[1] | {"timestamp": "2020-01-01T00:00:00Z"})
    transcript = read(seed, tmp_path, lines(*rows))
    assert NoteKind.CLOCK in kinds(transcript)
    assert len(transcript.calls_of()) >= len(read(seed, tmp_path, seed.data).calls_of())


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("depth", [100, 1000, 100_000])
@pytest.mark.parametrize("name", [*OF_LINES, *OF_ONE_OBJECT])
def test_deep_nesting_breaks_nothing(name: str, depth: int, tmp_path: Path) -> None:
    seed = seed_of(name)
    data = seed.data.replace(b"{", b'{"deep": ' + nested(depth).encode() + b", ", 1)
    try:
        transcript = read(seed, tmp_path, data)
    except TranscriptError:
        assert name in OF_ONE_OBJECT and depth > 100
        return
    assert transcript.calls


@pytest.mark.parametrize(
    "number", ["1" + "0" * 30, "-1" + "0" * 400, "1" + "0" * 5000, "1e400", "-1e400", "NaN", "Infinity", "1.5", "true"]
)
def test_numbers_that_count_nothing(number: str, tmp_path: Path) -> None:
    seed = seed_of("claude-code")
    broken = seed.data.replace(b'"output_tokens": 4', b'"output_tokens": ' + number.encode())
    usage = read(replace(seed, others=()), tmp_path, broken).usage
    assert usage.total.input_uncached == 3
    assert usage.total.output is None


def test_duplicate_ids_everywhere_are_paired_in_turn(tmp_path: Path) -> None:
    messages = [said(*[("same", "Bash", {"command": str(n)}) for n in range(50)])] + [
        answer("same", str(n)) for n in range(60)
    ]
    (tmp_path / "run.json").write_bytes(page(*messages))
    [transcript] = formats.read(tmp_path / "run.json")
    assert sorted(int(call.result.text) for call in transcript.calls if call.result) == list(range(50))
    assert transcript.notes_of(NoteKind.DUPLICATE)[0].count == 10


def test_long_texts_keep_head_and_tail() -> None:
    made = Builder()
    made.call(0, "c", "Bash", {})
    made.result(1, "c", "a" * builder.MAX_TEXT + "b" * 1000)
    text, cut = made.calls[0].result.text, made.calls[0].result.cut  # type: ignore[union-attr]
    assert cut and text.startswith("aaa") and text.endswith("b" * 1000)
    assert "[... 1000 characters left out ...]" in text and len(text) < builder.MAX_TEXT + 100


def test_kept_text_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MAX_KEPT", 10_000)
    made = Builder()
    for index in range(100):
        made.say(index, Role.USER, "x" * 5000)
    assert sum(len(message.text) for message in made.messages) < 10_000 + 100 * (builder.LITTLE + 100)
    assert len(made.messages) == 100


def test_a_line_beyond_all_bounds_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "MAX_LINE", 1000)
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines({"a": 1}) + b'{"b": "' + b"x" * 5000 + b'"}\n' + lines({"c": 1}))
    made = Builder()
    assert list(parsing.lines(path, made)) == [(0, {"a": 1}), (2, {"c": 1})]


def test_notes_are_bounded_however_many_kinds_there_are(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    rows = [{"type": f"novelty-{number}", "sessionId": "s", "parentUuid": None} for number in range(5000)]
    path.write_bytes(
        lines({"type": "user", "message": {"content": "Do it."}, "sessionId": "s", "parentUuid": None}, *rows)
    )
    [transcript] = formats.read(path)
    assert len(transcript.notes) == builder.MAX_NOTES


def measured(path: Path, name: str) -> tuple[Transcript, int]:
    """The first transcript of a path, and the most memory that reading it took."""
    tracemalloc.start()
    try:
        return next(formats.read(path, name)), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.long
@pytest.mark.parametrize("name", OF_LINES)
def test_half_a_gigabyte_in_bounded_memory(name: str, tmp_path: Path) -> None:
    """Noise of half a gigabyte between the lines of a small log, some of it in one line."""
    seed = seed_of(name)
    path = seed.put(tmp_path / "log", seed.data)
    log = path if path.is_file() else next(iter(sorted(path.rglob("*.jsonl"))))
    first, *rest = log.read_bytes().splitlines(keepends=True)
    noise = json.dumps({"type": "progress", "sessionId": "s", "data": "x" * 1_000_000}).encode() + b"\n"
    with log.open("wb") as stream:
        stream.write(first)
        for _ in range(420):
            stream.write(noise)
        stream.write(b'{"type": "progress", "data": "' + b"y" * (80 << 20) + b'"}\n')
        stream.writelines(rest)
    assert log.stat().st_size > 500_000_000
    transcript, peak = measured(path, name)
    log.unlink()
    assert transcript.calls and NoteKind.SHORTENED in kinds(transcript)
    assert peak < 200 << 20


@pytest.mark.long
def test_half_a_gigabyte_of_results(tmp_path: Path) -> None:
    path = tmp_path / "stream.jsonl"
    with path.open("wb") as stream:
        stream.write(lines({"type": "system", "subtype": "init", "session_id": "s"}))
        for number in range(5200):
            call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "x"}}
            result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"{number} " + "z" * 100_000}
            stream.write(
                lines(
                    {"type": "assistant", "message": {"content": [call]}},
                    {"type": "user", "message": {"content": [result]}},
                )
            )
    assert path.stat().st_size > 500_000_000
    transcript, peak = measured(path, "claude-stream")
    path.unlink()
    assert len(transcript.calls) == 5200 and all(call.result for call in transcript.calls)
    assert peak < builder.MAX_KEPT + (100 << 20)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_shapes_take_any_value(value: Any) -> None:
    assert shapes.count(value) is None or 0 <= shapes.count(value) <= shapes.MAX_COUNT  # type: ignore[operator]
    assert shapes.money(value) is None or shapes.money(value) >= 0  # type: ignore[operator]
    assert shapes.moment(value) is None or 0 < abs(shapes.moment(value)) < 1e12  # type: ignore[arg-type]
    assert isinstance(shapes.joined(value), str)
    assert shapes.code(value) is None or isinstance(shapes.code(value), int)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=40))
def test_results_never_cross_ids_and_every_pair_is_the_nearest(steps: list[tuple[str, bool]]) -> None:
    made, waiting, expected = Builder(), dict[str, list[int]](), dict[int, int]()
    for index, (name, is_call) in enumerate(steps):
        if is_call:
            made.call(index, name, "Bash", {})
            waiting.setdefault(name, []).append(index)
        else:
            made.result(index, name, "x")
            if waiting.get(name):
                expected[waiting[name].pop()] = index
    assert {call.asked.index: call.result.index for call in made.calls if call.result} == expected
    assert all(call.asked.thread == MAIN for call in made.calls)
