"""Formats are found by themselves, and what cannot be read is refused in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from log_seeds import seeds

from loopscope.transcripts import files, formats
from loopscope.transcripts.canonical import ToolKind
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.tools import command_of, kind_of


def test_a_name_that_is_no_format(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(
        TranscriptError, match=r"x\.json: cannot be read as 'vcr', which is no format; take one of harbor,"
    ):
        list(formats.read(tmp_path / "x.json", "vcr"))


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"hello", b"\0" * 100, b'{"a": 1}\n' * 3])
def test_what_no_reader_knows(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    assert formats.detect(path) is None
    with pytest.raises(TranscriptError, match="in no format that is known"):
        list(formats.read(path))


@pytest.mark.parametrize("name", sorted(formats.READERS))
def test_every_reader_refuses_what_is_not_its_own(tmp_path: Path, name: str) -> None:
    nothing, folder, absent = tmp_path / "nothing", tmp_path / "folder", tmp_path / "absent"
    nothing.write_bytes(b"")
    folder.mkdir()
    for path in (nothing, folder, absent):
        with pytest.raises(TranscriptError):
            list(formats.read(path, name))


@pytest.mark.parametrize("name", sorted(formats.READERS))
def test_links_and_pipes_are_not_followed_or_waited_for(tmp_path: Path, name: str) -> None:
    seed = next(seed for seed in seeds() if seed.format == name)
    real = seed.put(tmp_path / "real", seed.data)
    link, pipe = tmp_path / "link.jsonl", tmp_path / "pipe.jsonl"
    link.symlink_to(real)
    os.mkfifo(pipe)
    for path in (link, pipe):
        assert formats.detect(path) is None
        with pytest.raises(TranscriptError):
            list(formats.read(path, name))


def test_links_and_pipes_within_a_directory_are_passed_over(tmp_path: Path) -> None:
    by_name = {seed.format: seed for seed in seeds()}
    logs = tmp_path / "logs"
    by_name["codex"].put(logs, by_name["codex"].data)
    alone = len(list(formats.read(logs)))
    (logs / "rollout-z.jsonl").symlink_to(logs / "all/rollout-a.jsonl")
    (logs / "all/up").symlink_to(logs)
    os.mkfifo(logs / "rollout-pipe.jsonl")
    assert formats.detect(logs) == "codex"
    assert len(list(formats.read(logs))) == alone


def test_nothing_is_opened_through_a_link_even_if_it_was_a_file_before(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(TranscriptError, match="cannot be opened"), files.opened(tmp_path / "link"):
        pass
    with pytest.raises(TranscriptError, match="no regular file"), files.opened(tmp_path):
        pass


def test_what_grows_beyond_the_bound_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x" * 100)
    assert len(files.whole(tmp_path / "log", 100)) == 100
    with pytest.raises(TranscriptError, match="holds 100 bytes, more than 99"):
        files.whole(tmp_path / "log", 99)


def test_subagent_logs_that_are_links_are_said(tmp_path: Path) -> None:
    seed = next(seed for seed in seeds() if seed.format == "claude-code")
    path = seed.put(tmp_path / "logs", seed.data)
    (tmp_path / "logs/s/subagents/agent-x.jsonl").symlink_to("/etc/passwd")
    [transcript] = formats.read(path)
    assert any("links" in note.text for note in transcript.notes)


def test_an_error_shows_hostile_names_harmlessly(tmp_path: Path) -> None:
    path = tmp_path / "a\nb\x1b[31m\udcff"
    path.write_bytes(b"")
    with pytest.raises(TranscriptError) as caught:
        list(formats.read(path))
    assert str(caught.value).isprintable() and str(caught.value).isascii()


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("Bash", ToolKind.SHELL),
        ("local_shell", ToolKind.SHELL),
        ("exec_command", ToolKind.SHELL),
        ("BashOutput", ToolKind.SHELL_OUTPUT),
        ("write_stdin", ToolKind.SHELL_OUTPUT),
        ("TaskStop", ToolKind.SHELL_STOP),
        ("ReadFile", ToolKind.READ),
        ("StrReplaceFile", ToolKind.EDIT),
        ("str_replace_file", ToolKind.EDIT),
        ("MultiEdit", ToolKind.EDIT),
        ("apply_patch", ToolKind.PATCH),
        ("todowrite", ToolKind.PLAN),
        ("SetTodoList", ToolKind.PLAN),
        ("update_plan", ToolKind.PLAN),
        ("TaskUpdate", ToolKind.PLAN),
        ("task", ToolKind.AGENT),
        ("spawn_agent", ToolKind.AGENT),
        ("glob", ToolKind.SEARCH),
        ("webfetch", ToolKind.WEB),
        ("mcp__github__search", ToolKind.OTHER),
    ],
)
def test_tools_of_all_harnesses(tool: str, kind: ToolKind) -> None:
    assert kind_of(tool) is kind


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ({"command": "ls -l"}, "ls -l"),
        ({"cmd": "ls"}, "ls"),
        ({"command": ["bash", "-lc", "ls | wc"]}, "ls | wc"),
        ({"command": ["git", "commit", "-m", "a b"]}, "git commit -m 'a b'"),
        ({"command": ["ls", 5]}, None),
        ({"command": 5}, None),
        ({}, None),
    ],
)
def test_commands(arguments: dict[str, object], command: str | None) -> None:
    assert command_of(arguments) == command
