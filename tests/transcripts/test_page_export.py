"""Page exports: made by hand, and the public ones where they are at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_seeds import answer, page, said

from loopscope.transcripts import formats
from loopscope.transcripts.canonical import Completeness, MarkKind, MessageKind, NoteKind, ToolKind, Transcript

Json = Any
PUBLIC = Path(__file__).parents[3] / "shared/data/trajectories"


def read(folder: Path, *messages: Json, **about: Json) -> Transcript:
    (folder / "run.json").write_bytes(page(*messages, **about))
    [transcript] = formats.read(folder / "run.json")
    assert transcript.source.format == "page"
    return transcript


def bash(name: str, command: str | None = "ls", **more: Json) -> Json:
    return said((name, "Bash", ({} if command is None else {"command": command}) | more))


def test_what_the_file_says_of_itself(tmp_path: Path) -> None:
    source = read(tmp_path, {"role": "user", "content": "Do it."}).source
    assert (source.task, source.model, source.category, source.seed) == ("t", "model", "c", "seed-1")
    assert source.session_ids == ("r",) and source.agent is None


def test_a_call_id_used_again_pairs_with_the_most_recent_unanswered_call(tmp_path: Path) -> None:
    messages = [
        bash("c1", "first"),
        answer("c1", "1"),
        bash("c1", "second"),
        bash("c1", "third"),
        answer("c1", "3"),
        answer("c1", "2"),
    ]
    calls = read(tmp_path, *messages).calls
    assert [(call.command, call.result and call.result.text) for call in calls] == [
        ("first", "1"),
        ("second", "2"),
        ("third", "3"),
    ]


def test_parallel_results_come_late_and_reversed(tmp_path: Path) -> None:
    calls = said(("a", "Bash", {"command": "a"}), ("b", "Read", {"file_path": "/b"}), ("c", "Bash", {"command": "c"}))
    messages = [
        calls,
        answer("c", "C"),
        {"role": "assistant", "content": "Waiting."},
        answer("b", "B"),
        answer("a", "A"),
    ]
    found = read(tmp_path, *messages).calls
    assert [call.result and (call.result.text, call.result.index) for call in found] == [("A", 4), ("B", 3), ("C", 1)]
    assert [call.index for call in found] == [0, 0, 0]


def test_answers_to_nothing_are_noted(tmp_path: Path) -> None:
    transcript = read(tmp_path, answer("x", "?"), bash("c1"), answer("c1", "1"), answer("c1", "again"))
    assert [note.index for note in transcript.notes_of(NoteKind.DANGLING)] == [0]
    assert [note.index for note in transcript.notes_of(NoteKind.DUPLICATE)] == [3]
    assert transcript.calls[0].result and transcript.calls[0].result.text == "1"


def test_a_bash_call_without_a_command(tmp_path: Path) -> None:
    error = "<tool_use_error>InputValidationError: the required parameter `command` is missing</tool_use_error>"
    [call] = read(tmp_path, bash("c1", None, description="Quick check"), answer("c1", error)).calls
    assert (call.kind, call.command) == (ToolKind.SHELL, None)
    assert call.result and call.result.is_error is True and call.result.exit_code is None


def test_failure_is_stated_and_success_is_not(tmp_path: Path) -> None:
    bad, good, odd = read(
        tmp_path,
        bash("a"),
        answer("a", "Exit code 101\nFinished"),
        bash("b"),
        answer("b", "ok"),
        bash("c"),
        answer("c", "x\nExit code 1"),
    ).calls
    assert bad.result and (bad.result.exit_code, bad.result.is_error) == (101, True)
    assert good.result and (good.result.exit_code, good.result.is_error) == (None, None)
    assert odd.result and odd.result.exit_code is None


def test_compaction_summaries_are_no_turns(tmp_path: Path) -> None:
    summary = "This session is being continued from a previous conversation that ran out of context. The summary below"
    notice = "<task-notification>\n<task-id>x</task-id>"
    said_by_user = ({"role": "user", "content": text} for text in ("Do it.", summary, notice))
    transcript = read(tmp_path, *said_by_user)
    assert [m.kind for m in transcript.messages] == [MessageKind.PLAIN, MessageKind.COMPACTION, MessageKind.INJECTED]
    assert [m.index for m in transcript.marks_of(MarkKind.COMPACTION)] == [1]
    assert len(transcript.marks_of(MarkKind.TURN)) == 1


def test_background_commands_are_joined_by_the_id_in_the_result(tmp_path: Path) -> None:
    started = "Command running in background with ID: task-0007. Output is being written to: /tmp/x"
    late = "<retrieval_status>success</retrieval_status>\n\n<task_id>task-0007</task_id>\n\n<exit_code>0</exit_code>\n"
    messages = [bash("a", "make", run_in_background=True), answer("a", started)]
    messages += [said(("b", "TaskOutput", {"task_id": "task-0007", "block": True})), answer("b", late)]
    start, fetch = read(tmp_path, *messages).calls
    assert start.background == fetch.background == "task-0007"
    assert fetch.kind is ToolKind.SHELL_OUTPUT and fetch.result and fetch.result.exit_code == 0


def commit(name: str, sha: str) -> list[Json]:
    return [bash(name, f"git commit -m {name}"), answer(name, f"[main {sha}] {name}\n 1 file changed")]


def test_two_branches_written_one_after_the_other_are_found(tmp_path: Path) -> None:
    log = [bash("l", "git log --oneline -5"), answer("l", "1111112 other\n1111111 one\n")]
    transcript = read(tmp_path, *commit("one", "1111111"), *log, *commit("two", "1111113"), *commit("other", "1111112"))
    assert transcript.branched
    [mark] = transcript.marks_of(MarkKind.BRANCH)
    assert mark.index == 7
    assert transcript.notes_of(NoteKind.BRANCHES)[0].text.startswith("message 3 lists commit 1111112")


def test_a_log_of_what_was_made_before_is_no_branch(tmp_path: Path) -> None:
    log = [bash("l", "git log --oneline -5"), answer("l", "1111112 two\n1111111 one\nabadcafe\n")]
    assert not read(tmp_path, *commit("one", "1111111"), *commit("two", "1111112"), *log).branched


def test_the_format_holds_no_tokens(tmp_path: Path) -> None:
    usage = read(tmp_path, {"role": "user", "content": "Do it."}).usage
    assert (usage.completeness, usage.total.tokens, usage.entries) == (Completeness.UNKNOWN, None, ())


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public transcripts are not at hand")
def test_the_public_runs_are_read_whole() -> None:
    paths = sorted(PUBLIC.glob("*.json"))
    transcripts = [transcript for path in paths for transcript in formats.read(path)]
    assert len(transcripts) == len(paths) == 21
    assert sum(len(transcript.calls) for transcript in transcripts) == 5783
    # One call was never answered.
    assert sum(call.result is None for transcript in transcripts for call in transcript.calls) == 1
    assert not any(transcript.notes for transcript in transcripts)
    assert sum(len(transcript.marks_of(MarkKind.COMPACTION)) for transcript in transcripts) == 22
    unnamed = [call for t in transcripts for call in t.calls if call.kind is ToolKind.SHELL and call.command is None]
    assert len(unnamed) == 2
    kinds = {call.kind for transcript in transcripts for call in transcript.calls if call.tool != "ScheduleWakeup"}
    assert ToolKind.OTHER not in kinds
    assert [(t.source.task, t.source.model) for t in transcripts if not t.source.task or not t.source.model] == []
    fetched = {call.background for t in transcripts for call in t.calls if call.kind is ToolKind.SHELL_OUTPUT}
    started = {call.background for t in transcripts for call in t.calls if call.kind is ToolKind.SHELL}
    assert fetched <= started
