"""Claude Code's session logs and streams, made by hand."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from log_seeds import lines

from loopscope.transcripts import claude_session, formats
from loopscope.transcripts.canonical import (
    MAIN,
    Completeness,
    MarkKind,
    MessageKind,
    NoteKind,
    Role,
    ToolKind,
    Transcript,
)
from loopscope.transcripts.glimpse import Glimpse

Json = Any


class Log:
    """Makes lines of a session."""

    def __init__(self) -> None:
        self.lines: list[Json] = []

    def line(self, kind: str, message: Json = None, **more: Json) -> Log:
        number = len(self.lines)
        made = {
            "type": kind,
            "uuid": f"u{number}",
            "parentUuid": None,
            "sessionId": "s",
            "timestamp": f"2026-01-01T00:00:{number:02}Z",
        }
        self.lines.append(made | ({"message": message} if message is not None else {}) | more)
        return self

    def response(self, name: str | None, block: Json, output: int, **more: Json) -> Log:
        usage = {
            "input_tokens": 10,
            "cache_read_input_tokens": 5,
            "cache_creation_input_tokens": 1,
            "output_tokens": output,
        }
        message = {"model": "m", "usage": usage, "content": [block]} | ({"id": name} if name else {})
        return self.line("assistant", message, **more)

    def read(self, folder: Path) -> Transcript:
        (folder / "s.jsonl").write_bytes(lines(*self.lines))
        [transcript] = formats.read(folder / "s.jsonl", "claude-code")
        return transcript


def block(text: str) -> Json:
    return {"type": "text", "text": text}


def use(name: str = "t1", tool: str = "Bash", **arguments: Json) -> Json:
    return {"type": "tool_use", "id": name, "name": tool, "input": arguments}


def result(name: str, content: Json, **more: Json) -> Json:
    return {"content": [{"type": "tool_result", "tool_use_id": name, "content": content, **more}]}


def test_of_a_growing_response_the_last_count_is_kept(tmp_path: Path) -> None:
    log = Log().response("m1", block("So."), 1).response("m1", use(), 8).response("m1", use("t2"), 30)
    usage = log.read(tmp_path).usage
    assert usage.total.output == 30
    assert len(usage.entries) == 1


def test_one_response_over_three_lines_is_counted_once(tmp_path: Path) -> None:
    log = Log().response("m1", {"type": "thinking", "thinking": "Hm."}, 7).response("m1", block("So."), 7)
    transcript = log.response("m1", use(), 7).response("m2", block("Done."), 2).read(tmp_path)
    total = transcript.usage.total
    assert (total.input_uncached, total.cache_read, total.cache_write, total.output) == (20, 10, 2, 9)
    assert [message.kind for message in transcript.messages] == [
        MessageKind.REASONING,
        MessageKind.PLAIN,
        MessageKind.PLAIN,
    ]


def test_without_a_request_id_the_message_id_serves(tmp_path: Path) -> None:
    log = Log().response("m1", block("So."), 7, requestId="r1").response("m1", use(), 7)
    assert log.read(tmp_path).usage.total.output == 7


def test_without_a_message_id_the_request_id_serves(tmp_path: Path) -> None:
    log = Log().response(None, block("So."), 7, requestId="r1").response(None, use(), 7, requestId="r1")
    assert log.response(None, block("More."), 4).read(tmp_path).usage.total.output == 11


def test_a_count_that_the_last_line_lacks_is_not_lost(tmp_path: Path) -> None:
    log = (
        Log()
        .response("m1", block("So."), 7)
        .line("assistant", {"id": "m1", "usage": {"output_tokens": 9}, "content": []})
    )
    total = log.read(tmp_path).usage.total
    assert (total.input_uncached, total.output) == (10, 9)


def test_resume_sentences_are_no_turns(tmp_path: Path) -> None:
    log = Log().line("user", {"content": "Do it."})
    log.line("user", {"content": [block("Continue from where you left off.")]}, isMeta=True)
    synthetic = {
        "id": "x",
        "model": "<synthetic>",
        "usage": {"output_tokens": 5},
        "content": [block("No response requested.")],
    }
    transcript = log.line("assistant", synthetic).line("user", {"content": "Go on."}).read(tmp_path)
    assert len(transcript.marks_of(MarkKind.TURN)) == 2
    assert len(transcript.marks_of(MarkKind.RESUME)) == 1
    assert [m.text for m in transcript.messages if m.kind is MessageKind.PLAIN] == ["Do it.", "Go on."]
    assert transcript.usage.total.output is None


def test_a_resume_sentence_without_any_flag_is_no_turn(tmp_path: Path) -> None:
    transcript = (
        Log()
        .line("user", {"content": "Do it."})
        .line("user", {"content": "Continue from where you left off."})
        .read(tmp_path)
    )
    assert [mark.kind for mark in transcript.marks] == [MarkKind.TURN, MarkKind.RESUME]
    assert [message.kind for message in transcript.messages] == [MessageKind.PLAIN, MessageKind.INJECTED]


def test_compaction_is_a_mark_and_a_summary_and_its_own_call_is_missing(tmp_path: Path) -> None:
    log = Log().response("m1", block("So."), 7)
    log.line("system", subtype="compact_boundary", compactMetadata={"trigger": "manual"})
    transcript = log.line("user", {"content": "All of it."}, isCompactSummary=True).read(tmp_path)
    assert [mark.text for mark in transcript.marks_of(MarkKind.COMPACTION)] == ["manual"]
    assert [m.text for m in transcript.messages if m.kind is MessageKind.COMPACTION] == ["All of it."]
    assert not transcript.marks_of(MarkKind.TURN)
    assert transcript.usage.completeness is Completeness.PARTIAL


def test_a_background_command_is_known_by_its_id(tmp_path: Path) -> None:
    log = Log().response("m1", use("t1", command="make bench", run_in_background=True), 1)
    log.line("user", result("t1", "Command running in background with ID: b7x. Output is being written to: /tmp/x"))
    log.response("m2", use("t2", "TaskOutput", task_id="b7x", block=True), 1)
    output = "<retrieval_status>success</retrieval_status>\n\n<task_id>b7x</task_id>\n\n<exit_code>2</exit_code>\n\n<output>\n1"
    log.line("user", result("t2", output))
    log.response("m3", use("t3", "KillShell", shell_id="b7x"), 1).line("user", result("t3", "ok"))
    start, fetch, stop = log.read(tmp_path).calls
    assert [call.background for call in (start, fetch, stop)] == ["b7x"] * 3
    assert [call.kind for call in (start, fetch, stop)] == [ToolKind.SHELL, ToolKind.SHELL_OUTPUT, ToolKind.SHELL_STOP]
    assert fetch.result and fetch.result.exit_code == 2
    assert start.result and start.result.exit_code is None


def test_a_word_about_background_in_an_output_is_no_background_command(tmp_path: Path) -> None:
    log = Log().response("m1", use("t1", command="cat notes"), 1)
    log.line("user", result("t1", "line one\nCommand running in background with ID: b7x."))
    [call] = log.read(tmp_path).calls
    assert call.background is None


def test_a_program_that_prints_an_exit_code_and_succeeds_did_not_fail(tmp_path: Path) -> None:
    log = Log().response("m1", use("t1", command="cat log"), 1)
    [call] = log.line("user", result("t1", "Exit code 3\nwas yesterday", is_error=False)).read(tmp_path).calls
    assert call.result and (call.result.exit_code, call.result.is_error) == (None, False)


def test_lines_that_a_resume_copied_are_read_once(tmp_path: Path) -> None:
    log = Log().line("user", {"content": "Do it."}).response("m1", use(command="ls"), 3)
    log.lines += log.lines[:2]
    transcript = log.read(tmp_path)
    assert len(transcript.calls) == 1 and len(transcript.messages) == 1
    assert transcript.notes_of(NoteKind.DUPLICATE)[0].count == 2


def test_subagents_of_older_versions_are_told_apart_within_the_main_file(tmp_path: Path) -> None:
    log = Log().response("m1", use("t1", "Task", prompt="A"), 1)
    log.line("user", {"content": "A"}, isSidechain=True, uuid="root-a").line(
        "user", {"content": "B"}, isSidechain=True, uuid="root-b"
    )
    log.response("m2", use("t2", command="a"), 1, isSidechain=True, uuid="a1", parentUuid="root-a")
    log.response("m3", use("t3", command="b"), 1, isSidechain=True, uuid="b1", parentUuid="root-b")
    log.line("user", result("t2", "ok"), isSidechain=True, uuid="a2", parentUuid="a1")
    transcript = log.read(tmp_path)
    assert transcript.threads == (MAIN, "sidechain-root-a", "sidechain-root-b")
    assert [call.command for call in transcript.calls_of("sidechain-root-a")] == ["a"]
    assert len(transcript.marks_of(MarkKind.SUBAGENT_START)) == 2
    assert not transcript.marks_of(MarkKind.TURN)


def test_subagents_beside_the_session_belong_to_the_one_they_name(tmp_path: Path) -> None:
    for agent, session in (("x", "s"), ("y", "another")):
        inner = Log().line("user", {"content": "A"}, isSidechain=True, agentId=agent, sessionId=session)
        inner.response(f"m-{agent}", use("t9", command=agent), 4, isSidechain=True, agentId=agent, sessionId=session)
        (tmp_path / f"agent-{agent}.jsonl").write_bytes(
            lines(*({**line, "uuid": agent + line["uuid"]} for line in inner.lines))
        )
    transcript = Log().line("user", {"content": "Do it."}).response("m1", use(command="ls"), 3).read(tmp_path)
    assert [(call.thread, call.command) for call in transcript.calls] == [(MAIN, "ls"), ("x", "x")]
    assert transcript.usage.total.output == 7
    assert len(list(formats.read(tmp_path))) == 1


def test_a_long_first_prompt_hides_no_format(tmp_path: Path) -> None:
    log = Log().line("user", {"content": "x" * 150_000}).response("m1", block("So."), 3)
    log.read(tmp_path)
    assert formats.detect(tmp_path / "s.jsonl") == "claude-code"


def test_a_response_without_counts_leaves_usage_partial(tmp_path: Path) -> None:
    log = Log().response("m1", use(command="ls"), 3)
    log.line("assistant", {"id": "m1", "model": "m", "content": [block("More of it.")]})
    assert log.read(tmp_path).usage.completeness is Completeness.COMPLETE
    log.line("assistant", {"id": "m2", "model": "m", "content": [block("So.")]})
    log.line("assistant", {"id": "m3", "model": "<synthetic>", "content": [block("API Error")]})
    usage = log.read(tmp_path).usage
    assert (usage.completeness, usage.missing) == (Completeness.PARTIAL, ("1 responses without counts",))


def test_subagents_beside_many_sessions_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        for name, side in ((f"{number}", False), (f"agent-{number}", True)):
            log = Log().line("user", {"content": "A"}, isSidechain=side, sessionId=f"s{number}", uuid=name)
            (tmp_path / f"{name}.jsonl").write_bytes(lines(*log.lines))
    opened = Counter[str]()

    class Counted(Glimpse):
        def __init__(self, path: Path) -> None:
            opened[path.name] += 1
            super().__init__(path)

    monkeypatch.setattr(claude_session, "Glimpse", Counted)
    found = list(claude_session.read(tmp_path))
    assert [transcript.source.files for transcript in found] == [
        {MAIN: f"{number}.jsonl", str(number): f"agent-{number}.jsonl"} for number in sorted(map(str, range(30)))
    ]
    assert max(count for name, count in opened.items() if name.startswith("agent-")) == 1


def test_an_interruption_is_marked(tmp_path: Path) -> None:
    log = Log().line("user", {"content": "Do it."}).line("user", {"content": [block("[Request interrupted by user]")]})
    transcript = log.read(tmp_path)
    assert len(transcript.marks_of(MarkKind.INTERRUPTION)) == 1 == len(transcript.marks_of(MarkKind.TURN))


# The event stream.


def init(session: str = "s") -> Json:
    return {"type": "system", "subtype": "init", "session_id": session, "model": "m", "cwd": "/app"}


def event(name: str, read: int, output: int = 1) -> Json:
    usage = {"input_tokens": read, "cache_read_input_tokens": 0, "output_tokens": output}
    return {"type": "assistant", "message": {"id": name, "model": "m", "usage": usage, "content": [block(name)]}}


def ended(read: int, output: int, cost: float | None = None, models: bool = True) -> Json:
    counts = {"inputTokens": read, "outputTokens": output, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0}
    usage = {"input_tokens": read, "output_tokens": output}
    return {"type": "result", "usage": usage, "modelUsage": {"m": counts} if models else {}, "total_cost_usd": cost}


def stream(folder: Path, *events: Json) -> Transcript:
    (folder / "stream.txt").write_bytes(lines(*events))
    [transcript] = formats.read(folder / "stream.txt")
    assert transcript.source.format == "claude-stream"
    return transcript


def test_the_result_event_counts_and_not_the_streamed_starts(tmp_path: Path) -> None:
    usage = stream(tmp_path, init(), event("m1", 100), event("m2", 120), ended(500, 77, 0.25)).usage
    assert (usage.total.input_uncached, usage.total.output) == (500, 77)
    assert (usage.completeness, usage.claimed_cost_usd) == (Completeness.COMPLETE, Decimal("0.25"))


def test_a_claimed_cost_far_from_the_tokens_is_kept_beside_them(tmp_path: Path) -> None:
    usage = stream(tmp_path, init(), event("m1", 10), ended(10, 2, 9999.5)).usage
    assert (usage.total.output, usage.claimed_cost_usd) == (2, Decimal("9999.5"))
    assert usage.total.cost_usd is None


def test_without_a_result_event_the_counts_are_partial(tmp_path: Path) -> None:
    usage = stream(tmp_path, init(), event("m1", 100), event("m1", 100, 9), event("m2", 120)).usage
    assert (usage.total.input_uncached, usage.total.output) == (220, 10)
    assert usage.completeness is Completeness.PARTIAL


def test_a_result_without_models_lacks_subagents(tmp_path: Path) -> None:
    usage = stream(tmp_path, init(), event("m1", 100), ended(100, 9, models=False)).usage
    assert usage.completeness is Completeness.PARTIAL and usage.total.output == 9


def test_invocations_one_after_the_other_are_added(tmp_path: Path) -> None:
    first, second = [init(), event("m1", 100), ended(130, 9, 0.5)], [init(), event("m2", 50), ended(60, 4, 0.25)]
    usage = stream(tmp_path, *first, *second).usage
    assert (usage.total.input_uncached, usage.total.output, usage.claimed_cost_usd) == (190, 13, Decimal("0.75"))


def test_turns_of_one_process_give_the_sum_so_far(tmp_path: Path) -> None:
    first, second = [init(), event("m1", 100), ended(100, 9, 0.5)], [init(), event("m2", 50), ended(150, 13, 0.75)]
    usage = stream(tmp_path, *first, *second).usage
    assert (usage.total.input_uncached, usage.total.output, usage.claimed_cost_usd) == (150, 13, Decimal("0.75"))


def test_subagents_of_a_stream_have_threads(tmp_path: Path) -> None:
    call = {"type": "assistant", "message": {"id": "m1", "content": [use("t1", "Agent", prompt="A")]}}
    started = {
        "type": "system",
        "subtype": "task_started",
        "task_id": "g",
        "tool_use_id": "t1",
        "task_type": "local_agent",
    }
    inner = {
        "type": "assistant",
        "message": {"id": "m2", "content": [use("t2", command="ls")]},
        "parent_tool_use_id": "t1",
    }
    transcript = stream(tmp_path, init(), call, started, inner)
    assert [call.command for call in transcript.calls_of("g")] == ["ls"]
    assert [(m.thread, m.text) for m in transcript.marks_of(MarkKind.SUBAGENT_START)] == [(MAIN, "g")]
    assert transcript.messages_of() == () and Role.USER not in {m.role for m in transcript.messages}
