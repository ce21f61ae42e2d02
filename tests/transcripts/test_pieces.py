"""Large objects read piece by piece say what they say when they are read as a whole."""

from __future__ import annotations

import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_seeds import answer, page, said, seeds

from loopscope.transcripts import builder, documents, formats, page_export, pieces
from loopscope.transcripts.canonical import NoteKind, Transcript
from loopscope.transcripts.errors import TranscriptError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(['"', "\\", '\\"]}', "{[", "é"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
PAGE = page(
    {"role": "user", "content": 'Say "}]" and \\ then \u2028.'},
    said(("c1", "Bash", {"command": 'echo "[{\\"'})),
    answer("c1", "Exit code 3\n\\"),
    {"role": "user", "content": "x" * 5000},
    task="t", seed="seed-2",
)  # fmt: skip


@given(about=st.dictionaries(st.text(max_size=5), VALUES, max_size=3), elements=st.lists(VALUES, max_size=5))
@pytest.mark.parametrize("indent", [None, 1])
def test_pieces_are_the_members_and_elements(about: dict[str, Any], elements: list[Any], indent: int | None) -> None:
    about.pop("messages", None)
    data = json.dumps({**about, "messages": elements, "last": 1.5}, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "CHUNK", 7)
        found = list(pieces.pieces(io.BytesIO(data), "messages"))
    assert [json.loads(piece.data) for piece in found if piece.element] == elements
    assert {json.loads(f'"{p.key}"'): json.loads(p.data) for p in found if not p.element} == {**about, "last": 1.5}


def both(path: Path, data: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[Transcript, Transcript]:
    """(as a whole, in pieces)."""
    path.write_bytes(data)
    [whole] = page_export.read(path)
    monkeypatch.setattr(documents, "LARGE", 0)
    monkeypatch.setattr(pieces, "CHUNK", 64)
    [found] = page_export.read(path)
    return whole, found


def test_a_large_export_is_read_as_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, found = both(tmp_path / "a.json", b"\xef\xbb\xbf" + PAGE, monkeypatch)
    assert found.calls == whole.calls
    assert (found.messages, found.source, found.usage) == (whole.messages, whole.source, whole.usage)


def test_of_a_large_export_that_is_cut_off_what_stands_before_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, found = both(tmp_path / "a.json", PAGE[:-2000], monkeypatch)
    assert (found.messages, found.calls, found.notes) == (whole.messages, whole.calls, whole.notes)
    assert found.notes_of(NoteKind.TRUNCATED)


def test_a_broken_message_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LARGE", 0)
    path = tmp_path / "a.json"
    path.write_bytes(b'{"messages": [{"role" "user"}, {"role": "user", "content": "Go."}]}')
    [found] = page_export.read(path)
    assert [message.text for message in found.messages] == ["Go."]
    assert found.notes_of(NoteKind.BROKEN)


@pytest.mark.parametrize("data", [b"", b"[1]", b'{"id": 1}', b'{"messages": 3}', b'{"messages', b"{]"])
def test_a_large_file_without_messages_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(documents, "LARGE", 0)
    (tmp_path / "a.json").write_bytes(data)
    with pytest.raises(TranscriptError, match="no list `messages`"):
        list(page_export.read(tmp_path / "a.json"))


def test_a_piece_beyond_all_bounds_ends_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "CHUNK", 16)
    monkeypatch.setattr(pieces, "MAX_PIECE", 100)
    found = pieces.pieces(io.BytesIO(b'{"messages": ["a", "' + b"b" * 1000 + b'"]}'), "messages")
    assert next(found).data == b'"a"'
    with pytest.raises(pieces.DamagedError):
        next(found)


@pytest.mark.parametrize("format", ["atif", "opencode-export"])
def test_other_formats_of_one_object_are_read_in_pieces_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    seed = next(seed for seed in seeds() if seed.format == format)
    log = seed.put(tmp_path, seed.data)
    # What it says of itself may stand behind its array.
    data = json.loads(log.read_bytes())
    array = data.pop("steps" if format == "atif" else "messages")
    log.write_text(json.dumps({("steps" if format == "atif" else "messages"): array, **data}))
    for text in (log.read_text(), log.read_text()[:-300]):
        log.write_text(text)
        monkeypatch.setattr(documents, "LARGE", 1 << 40)
        [whole] = formats.read(log, format)
        monkeypatch.setattr(documents, "LARGE", 0)
        monkeypatch.setattr(pieces, "CHUNK", 64)
        [found] = formats.read(log, format)
        assert found == whole
        assert found.messages


@pytest.mark.parametrize("format", ["atif", "opencode-export", "page"])
def test_a_large_file_is_never_held_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    """Sixty megabytes, of which a transcript keeps little: what is held at once stays far below."""
    monkeypatch.setattr(builder, "MAX_KEPT", 1 << 20)
    heads: dict[str, dict[str, Any]] = {
        "atif": {"schema_version": "ATIF-v1.8", "agent": {"name": "a"}},
        "opencode-export": {"info": {"id": "s", "projectID": "p"}},
        "page": {"synthetic": "m"},
    }
    long = "x" * 100_000
    element = {
        "atif": {"step_id": 1, "source": "agent", "message": long},
        "opencode-export": {"info": {"role": "assistant"}, "parts": [{"type": "text", "text": long}]},
        "page": {"role": "assistant", "content": long},
    }[format]
    array = "steps" if format == "atif" else "messages"
    path = tmp_path / "log.json"
    with path.open("w") as stream:
        stream.write(json.dumps(heads[format])[:-1] + f', "{array}": [')
        stream.write(", ".join([json.dumps(element)] * 600) + "]}")
    assert path.stat().st_size > documents.LARGE
    tracemalloc.start()
    try:
        [found] = formats.read(path, format)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found.messages) == 600
    assert peak < 24 << 20
