"""A log among several that cannot be read costs itself: the others are read, and it is told at the end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from log_seeds import Seed, seeds

from loopscope.imports import Options, import_logs
from loopscope.transcripts import claude_session, codex, formats, kimi
from loopscope.transcripts.canonical import Completeness, NoteKind, Transcript
from loopscope.transcripts.errors import TranscriptError

READERS: dict[str, Any] = {"claude-code": claude_session, "codex": codex, "kimi-code": kimi}


def seed(format: str) -> Seed:
    return next(found for found in seeds() if found.format == format)


def failing(monkeypatch: pytest.MonkeyPatch, format: str, *broken: Path) -> None:
    """Let the disk fail while these files are read."""
    real: Callable[..., Iterator[Any]] = READERS[format].lines

    def lines(path: Path, *given: Any) -> Iterator[Any]:
        if path in broken:
            raise TranscriptError(path, "cannot be read (I/O error)", "check the disk")
        return real(path, *given)

    monkeypatch.setattr(READERS[format], "lines", lines)


def place(folder: Path, format: str, name: str) -> Path:
    """Where a format has the main log of a session."""
    return {
        "claude-code": folder / f"-app/{name}.jsonl",
        "codex": folder / f"rollout-{name}.jsonl",
        "kimi-code": folder / f"w/{name}/agents/main/wire.jsonl",
    }[format]


@pytest.mark.parametrize("format", READERS)
def test_sessions_around_a_broken_one_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str) -> None:
    logs = [place(tmp_path / "logs", format, name) for name in "abcd"]
    for number, log in enumerate(logs):
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(seed(format).data.replace(b'"id": "a"', f'"id": "a{number}"'.encode()))
    if format == "codex":
        for number, log in enumerate(logs):
            rows = [json.loads(line) for line in log.read_bytes().splitlines()]
            rows[0]["payload"]["id"] = f"session-{number}"
            log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    failing(monkeypatch, format, logs[1], logs[2])
    found: list[Transcript] = []
    with pytest.raises(TranscriptError, match=r"I/O error\) \(and 1 more\); check the disk"):
        found.extend(formats.read(tmp_path / "logs", format))
    assert len(found) == 2


def subagents(folder: Path, format: str) -> tuple[Path, Path]:
    """(a session with a subagent, the subagent's log)."""
    main = place(folder, format, "a")
    inner = {
        "claude-code": main.with_suffix("") / "subagents/agent-g.jsonl",
        "codex": folder / "rollout-b.jsonl",
        "kimi-code": folder / "w/a/agents/agent-0/wire.jsonl",
    }[format]
    sown = seed(format)
    for path, data in ((main, sown.data), (inner, sown.others[0][1])):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Without compaction, whose tokens are in no log of Claude Code's.
        path.write_bytes(data.replace(b'"compact_boundary"', b'"other"'))
    return main, inner


@pytest.mark.parametrize("format", READERS)
def test_usage_is_complete_where_every_subagents_log_is_read(tmp_path: Path, format: str) -> None:
    subagents(tmp_path, format)
    [found] = formats.read(tmp_path, format)
    assert (found.usage.completeness, found.usage.missing) == (Completeness.COMPLETE, ())


@pytest.mark.parametrize("format", READERS)
def test_a_subagents_log_that_cannot_be_read_leaves_usage_partial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    _, inner = subagents(tmp_path, format)
    failing(monkeypatch, format, inner)
    [found] = formats.read(tmp_path, format)
    assert (found.usage.completeness, found.usage.missing) == (Completeness.PARTIAL, ("1 subagents",))
    assert found.notes_of(NoteKind.SKIPPED)


@pytest.mark.parametrize("format", READERS)
def test_a_subagents_log_that_is_not_there_leaves_usage_partial(tmp_path: Path, format: str) -> None:
    _, inner = subagents(tmp_path, format)
    inner.unlink()
    [found] = formats.read(tmp_path, format)
    assert (found.usage.completeness, found.usage.missing) == (Completeness.PARTIAL, ("1 subagents",))
    assert [note.count for note in found.notes_of(NoteKind.DANGLING)] == [1]


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data + b'{"type": "assis\n{}\n'])
def test_a_line_that_is_cut_off_or_damaged_leaves_usage_partial(
    tmp_path: Path, format: str, damage: Callable[[bytes], bytes]
) -> None:
    main, _ = subagents(tmp_path, format)
    main.write_bytes(damage(main.read_bytes()))
    [found] = formats.read(tmp_path, format)
    missing = ("1 lines that are cut off, damaged or too long",)
    assert (found.usage.completeness, found.usage.missing) == (Completeness.PARTIAL, missing)


@pytest.mark.parametrize("format", READERS)
def test_a_line_of_another_program_loses_nothing(tmp_path: Path, format: str) -> None:
    main, _ = subagents(tmp_path, format)
    main.write_bytes(main.read_bytes() + b"npm warn deprecated\n[1, 2]\n")
    [found] = formats.read(tmp_path, format)
    assert found.usage.completeness is Completeness.COMPLETE
    assert [note.count for note in found.notes_of(NoteKind.BROKEN)] == [2]


def test_a_subagents_log_that_cannot_be_read_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = place(tmp_path, "claude-code", "a")
    inner = main.with_suffix("") / "subagents/agent-x.jsonl"
    inner.parent.mkdir(parents=True)
    main.write_bytes(seed("claude-code").data)
    inner.write_bytes(seed("claude-code").data)
    failing(monkeypatch, "claude-code", inner)
    [found] = formats.read(main)
    assert [note.text for note in found.notes_of(NoteKind.SKIPPED)] == ["subagent logs that cannot be read"]


def test_import_takes_what_can_be_read_and_names_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = [place(tmp_path / "logs", "claude-code", name) for name in "ab"]
    for log in logs:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(seed("claude-code").data)
    failing(monkeypatch, "claude-code", logs[0])
    report = import_logs([tmp_path / "logs"], tmp_path / "study", Options(task="t"))
    assert (report.new, len(report.unread)) == (1, 1)
    assert "I/O error" in report.unread[0].reason
