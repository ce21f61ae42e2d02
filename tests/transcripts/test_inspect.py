"""Inspect's archives, made by hand."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path

import pytest
from log_seeds import archive, sample

from loopscope.transcripts import formats, inspect_archive
from loopscope.transcripts.canonical import MAIN, MarkKind, NoteKind, Transcript
from loopscope.transcripts.errors import TranscriptError

ONE = json.dumps(sample()).encode()


def read(folder: Path, data: bytes) -> list[Transcript]:
    (folder / "log.eval").write_bytes(data)
    found = list(formats.read(folder / "log.eval"))
    assert {transcript.source.format for transcript in found} == {"inspect"}
    return found


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_each_sample_is_a_transcript(tmp_path: Path, method: int) -> None:
    two = json.dumps(sample(id="two", epoch=2)).encode()
    found = read(tmp_path, archive({"one_epoch_1": ONE, "two_epoch_2": two}, {"status": "success"}, method))
    assert [(t.source.task, t.source.trial) for t in found] == [("t", "one epoch 1"), ("t", "two epoch 2")]


def test_exit_codes_attachments_and_agents_within(tmp_path: Path) -> None:
    [transcript] = read(tmp_path, archive({"one": ONE}, {"status": "success"}))
    call, inner = transcript.calls
    assert call.command == "exit 3" and call.result and (call.result.exit_code, call.result.text) == (3, "no")
    assert inner.thread == "sub-g" and inner.result and inner.result.text == "x"
    assert [mark.text for mark in transcript.marks_of(MarkKind.SUBAGENT_START)] == ["sub-g"]
    assert transcript.usage.total.output == 3 and transcript.threads == (MAIN, "sub-g")


def test_an_evaluation_that_did_not_end_is_read_from_its_journal(tmp_path: Path) -> None:
    [transcript] = read(tmp_path, archive({"one": ONE}))
    assert transcript.source.model == "m"
    assert transcript.notes_of(NoteKind.TRUNCATED)


def test_tokens_that_the_events_lack_come_from_the_sums(tmp_path: Path) -> None:
    data = sample(model_usage={"m": {"input_tokens": 50, "output_tokens": 30, "input_tokens_cache_read": 7}})
    [transcript] = read(tmp_path, archive({"one": json.dumps(data).encode()}))
    assert transcript.usage.source == "model_usage"
    assert (transcript.usage.total.output, transcript.usage.total.cache_read) == (30, 7)


def partly(folder: Path, data: bytes) -> tuple[list[Transcript], str]:
    """(what could be read, what is said of the rest)."""
    (folder / "log.eval").write_bytes(data)
    found: list[Transcript] = []
    with pytest.raises(TranscriptError) as error:
        for transcript in formats.read(folder / "log.eval"):
            found.append(transcript)
    return found, str(error.value)


def test_broken_samples_cost_themselves_and_are_told_at_the_end(tmp_path: Path) -> None:
    found, said = partly(
        tmp_path,
        archive({"bad": b"no json", "list": b"[1]", "cut": ONE[: len(ONE) // 2], "one": ONE}, {"status": "error"}),
    )
    assert "samples that cannot be read: 2 (first 'samples/bad.json' holds no JSON object)" in said
    assert [bool(transcript.notes_of(NoteKind.TRUNCATED)) for transcript in found] == [True, False]


def test_zip_bombs_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_archive, "MAX_ENTRY", 1 << 20)
    bomb = b'{"messages": [' + b" " * (3 << 20) + b"]}"
    assert len(zlib.compress(bomb)) < 10_000
    data = archive({"bomb": bomb, "one": ONE}, {"status": "success"}, zipfile.ZIP_DEFLATED)
    [transcript], said = partly(tmp_path, data)
    assert transcript.source.trial == "one epoch 1"
    assert "(first 'samples/bomb.json' holds more than 1,048,576 bytes)" in said


def test_an_archive_of_bombs_alone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_archive, "MAX_ENTRY", 1000)
    with pytest.raises(TranscriptError, match=r"no readable sample .*more than 1,000 bytes"):
        read(tmp_path, archive({"bomb": b" " * 5000}, None, zipfile.ZIP_DEFLATED))


def test_sizes_that_lie_are_not_believed(tmp_path: Path) -> None:
    data = archive({"one": ONE}, {"status": "success"})
    # The central directory claims four gigabytes for each entry.
    start = data.index(b"PK\x01\x02")
    lying = bytearray(data)
    while start >= 0:
        lying[start + 24 : start + 28] = b"\xfe\xff\xff\xff"
        start = data.find(b"PK\x01\x02", start + 4)
    [transcript] = read(tmp_path, bytes(lying))
    assert len(transcript.calls) == 2


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"PK\x03\x04" + b"\0" * 500, b"PK\x05\x06" + b"\xff" * 18])
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "log.eval").write_bytes(data)
    with pytest.raises(TranscriptError):
        list(formats.read(tmp_path / "log.eval", "inspect"))
