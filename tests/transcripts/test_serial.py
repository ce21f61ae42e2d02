"""Transcripts as bytes: equal ones give equal bytes, all of them come back, and a damaged file is an error."""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from made_logs import PUBLIC

from loopscope.models.usage import Usage
from loopscope.transcripts import formats, serial
from loopscope.transcripts.canonical import (
    Call,
    Completeness,
    Mark,
    MarkKind,
    Message,
    MessageKind,
    Note,
    NoteKind,
    Result,
    Role,
    Source,
    ToolKind,
    Transcript,
    UsageEntry,
    UsageReport,
)
from loopscope.transcripts.errors import TranscriptError

HERE = Path("canonical.json.zst")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
COUNT = st.none() | st.integers(0, 1 << 53)
TIME = st.none() | st.floats(0, 3e10, allow_nan=False)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 80), 1 << 80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
RESULTS = st.builds(Result, st.integers(0, 99), TEXT, st.none() | st.booleans(), COUNT, st.booleans(), TIME)
CALLS = st.builds(
    Call,
    index=st.integers(0, 99),
    thread=TEXT,
    id=TEXT,
    tool=TEXT,
    kind=st.sampled_from(ToolKind),
    arguments=st.dictionaries(TEXT, JSON, max_size=3),
    result=st.none() | RESULTS,
    command=st.none() | TEXT,
    path=st.none() | TEXT,
    background=st.none() | TEXT,
    time=TIME,
)
USAGES = st.builds(
    UsageReport,
    entries=st.lists(
        st.builds(UsageEntry, COUNT, TEXT, st.none() | TEXT, COUNT, COUNT, COUNT, COUNT, COUNT, TIME), max_size=2
    ).map(tuple),
    total=st.builds(Usage, input_uncached=COUNT, output=COUNT, source=st.just("transcript")),
    source=TEXT,
    completeness=st.sampled_from(Completeness),
    missing=st.lists(TEXT, max_size=2).map(tuple),
    claimed_cost_usd=st.none() | st.decimals(0, 99, places=4),
)
TRANSCRIPTS = st.builds(
    Transcript,
    source=st.builds(
        Source, TEXT, session_ids=st.lists(TEXT, max_size=2).map(tuple), files=st.dictionaries(TEXT, TEXT)
    ),
    messages=st.lists(
        st.builds(Message, st.integers(0, 9), TEXT, st.sampled_from(Role), st.sampled_from(MessageKind), TEXT, TIME),
        max_size=3,
    ).map(tuple),
    calls=st.lists(CALLS, max_size=3).map(tuple),
    marks=st.lists(st.builds(Mark, st.integers(0, 9), TEXT, st.sampled_from(MarkKind), TEXT, TIME), max_size=2).map(
        tuple
    ),
    usage=USAGES,
    notes=st.lists(st.builds(Note, st.sampled_from(NoteKind), TEXT, COUNT, st.integers(1, 9)), max_size=2).map(tuple),
)
PLAIN = Transcript(Source("page"), (), (), (), UsageReport(), ())


@given(TRANSCRIPTS)
def test_what_is_packed_comes_back_and_packs_to_the_same_bytes(transcript: Transcript) -> None:
    packed = serial.pack(transcript)
    again = serial.unpack(packed.data, HERE)
    assert again == transcript
    assert serial.pack(again) == packed


def test_logs_of_every_kind_come_back(tmp_path: Path) -> None:
    logs = Path(__file__).parents[1] / "fixtures" / "logs"
    found = [t for name in ("claude", "codex", "kimi", "opencode/export.json", "inspect/two_questions.eval")
             for t in formats.read(logs / name)]  # fmt: skip
    assert len(found) == 6
    for number, transcript in enumerate(found):
        path = tmp_path / f"{number}.zst"
        path.write_bytes(serial.pack(transcript).data)
        assert serial.load(path) == transcript


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public transcripts are not here")
def test_a_public_transcript_comes_back() -> None:
    path = min(PUBLIC.glob("*.json"), key=lambda p: p.stat().st_size)
    [transcript] = formats.read(path)
    assert serial.unpack(serial.pack(transcript).data, HERE) == transcript


def test_what_json_cannot_hold_is_written_as_the_nearest_text() -> None:
    deep: dict[str, Any] = {"end": "here"}
    for _ in range(400):
        deep = {"a": deep}
    arguments = {"deep": deep, "half": "\ud800", "huge": 10**500, "none": float("nan")}
    call = Call(0, "main", "c", "Bash", ToolKind.SHELL, arguments)
    packed = serial.pack(replace(PLAIN, source=Source("page", files={"main": "caf\udce9.json"}), calls=(call,)))
    found = serial.unpack(packed.data, HERE)
    assert found.source.files == {"main": "caf?.json"}
    kept = found.calls[0].arguments
    assert (kept["half"], kept["huge"], kept["none"]) == ("?", 10**500, None)
    assert "[...]" in str(kept["deep"]) and "here" not in str(kept["deep"])
    assert serial.pack(found).digest == packed.digest


def damaged(change: Any) -> bytes:
    """A packed transcript whose document was changed by hand."""
    document = orjson.loads(zstandard.ZstdDecompressor().decompress(serial.pack(PLAIN).data))
    change(document)
    return zstandard.ZstdCompressor().compress(orjson.dumps(document))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["transcript"].update(more=1), "transcript.more"),
        (lambda d: d["transcript"].pop("calls"), "transcript.calls"),
        (lambda d: d["transcript"].update(messages=[[0]]), "transcript.messages.0"),
        (lambda d: d["transcript"]["source"].update(format=1), "transcript.source.format"),
        (lambda d: d.pop("version"), "version"),
        (lambda d: d.update(version=0), "version"),
    ],
)
def test_another_shape_is_refused_with_its_field(change: Any, said: str) -> None:
    with pytest.raises(TranscriptError, match=said.replace(".", r"\.")) as caught:
        serial.unpack(damaged(change), HERE)
    assert "\n" not in str(caught.value)


def test_a_later_version_asks_for_an_upgrade() -> None:
    with pytest.raises(TranscriptError, match=r"newer loopscope \(version 2\); upgrade"):
        serial.unpack(damaged(lambda d: d.update(version=2, transcript="other")), HERE)


@pytest.mark.parametrize("keep", [slice(0, 0), slice(0, 9), slice(0, -1), slice(1, None)])
def test_a_damaged_file_is_an_error(keep: slice) -> None:
    data = serial.pack(replace(PLAIN, notes=(Note(NoteKind.BROKEN, "x" * 500),))).data
    with pytest.raises(TranscriptError, match="cannot be unpacked"):
        serial.unpack(data[keep], HERE)
    with pytest.raises(TranscriptError, match="cannot be unpacked"):
        serial.unpack(data + b"x", HERE)


def test_a_file_that_grows_too_large_is_not_unpacked(tmp_path: Path) -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 20))
    assert len(bomb) < 1000
    with pytest.raises(TranscriptError, match="would unpack to 1,048,576 bytes, more than 65,536"):
        serial.unpack(bomb, HERE, limit=1 << 16)
    sizeless = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(1 << 20))
    with pytest.raises(TranscriptError, match="does not say how large"):
        serial.unpack(sizeless, HERE)
    os.symlink(tmp_path / "elsewhere", tmp_path / "link")
    with pytest.raises(TranscriptError, match="cannot be opened"):
        serial.load(tmp_path / "link")


def test_money_stays_exact() -> None:
    transcript = replace(PLAIN, usage=UsageReport(claimed_cost_usd=Decimal("0.10")))
    assert str(serial.unpack(serial.pack(transcript).data, HERE).usage.claimed_cost_usd) == "0.10"
