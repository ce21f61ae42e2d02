"""Codex rollouts, made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from log_seeds import lines

from loopscope.evidence.subagents import anchors
from loopscope.evidence.support import support
from loopscope.transcripts import formats
from loopscope.transcripts.canonical import MAIN, Completeness, MarkKind, MessageKind, NoteKind, Role, Transcript

Json = Any
PARENT = "01a00000-0000-7000-8000-000000000000"
CHILD = "01a00000-2000-7000-8000-000000000000"
OTHER_CHILD = "01a00000-2100-7000-8000-000000000000"
OLD_TURN = "01a00000-1000-7000-8000-000000000000"
NEW_TURN = "01a00000-3000-7000-8000-000000000000"


def line(kind: str, time: int = 1, **payload: Json) -> Json:
    return {"timestamp": f"2026-01-01T00:00:{time:02}Z", "type": kind, "payload": payload}


def meta(name: str = PARENT, parent: str | None = None, time: int = 1) -> Json:
    return line("session_meta", time, id=name, parent_thread_id=parent, cwd="/app", cli_version="1")


def tokens(read: int, output: int, cached: int = 0, last: int | None = None, time: int = 1) -> Json:
    total = {"input_tokens": read, "cached_input_tokens": cached, "output_tokens": output, "reasoning_output_tokens": 0}
    recent = total | {"input_tokens": read if last is None else last}
    return line("event_msg", time, type="token_count", info={"total_token_usage": total, "last_token_usage": recent})


def turn(name: str, time: int = 1) -> list[Json]:
    return [
        line("event_msg", time, type="task_started", turn_id=name),
        line("turn_context", time, turn_id=name, model="m"),
    ]


def item(kind: str, **more: Json) -> Json:
    return line("response_item", type=kind, **more)


def call(name: str, tool: str = "exec_command", **arguments: Json) -> Json:
    return item("function_call", name=tool, call_id=name, arguments=json.dumps(arguments))


def output(name: str, text: Json) -> Json:
    return item("function_call_output", call_id=name, output=text)


def said(role: str, text: str) -> Json:
    return item("message", role=role, content=[{"type": "output_text", "text": text}])


def read(folder: Path, **rollouts: list[Json]) -> list[Transcript]:
    for name, items in rollouts.items():
        (folder / f"rollout-{name}.jsonl").write_bytes(lines(*items))
    return list(formats.read(folder, "codex"))


def test_the_running_total_is_taken_and_last_usage_never_added(tmp_path: Path) -> None:
    counts = [
        tokens(100, 5, 40),
        tokens(300, 15, 90),
        tokens(300, 15, 90),
        tokens(300, 15, 90, last=0),
        tokens(450, 20, 95),
    ]
    [transcript] = read(tmp_path, a=[meta(), *turn(OLD_TURN), *counts])
    total = transcript.usage.total
    assert (total.input_uncached, total.cache_read, total.output) == (355, 95, 20)
    assert len(transcript.usage.entries) == 3
    assert not transcript.notes


def test_a_total_of_millions_against_a_small_window_is_no_error(tmp_path: Path) -> None:
    [transcript] = read(
        tmp_path, a=[meta(), tokens(9_000_000, 80_000, 8_500_000), tokens(19_000_000, 90_000, 18_000_000)]
    )
    assert transcript.usage.total.input_uncached == 1_000_000
    assert transcript.usage.completeness is Completeness.COMPLETE and not transcript.notes


def test_a_total_that_falls_is_counted_on_and_noted(tmp_path: Path) -> None:
    [transcript] = read(tmp_path, a=[meta(), tokens(100, 5), tokens(30, 2), tokens(50, 3)])
    assert (transcript.usage.total.input_uncached, transcript.usage.total.output) == (150, 8)
    assert transcript.notes_of(NoteKind.USAGE)


def test_a_child_without_replay_keeps_its_first_turn(tmp_path: Path) -> None:
    child = [meta(CHILD, PARENT), *turn(NEW_TURN), tokens(70, 4), tokens(150, 9)]
    [transcript] = read(tmp_path, a=[meta(), tokens(100, 5)], b=child)
    own = [entry for entry in transcript.usage.entries if entry.thread == CHILD]
    assert [entry.input_uncached for entry in own] == [70, 80]
    assert transcript.usage.total.output == 14


def test_a_child_that_replays_its_parent_is_not_counted_twice(tmp_path: Path) -> None:
    earlier = [*turn(OLD_TURN), call("c1", cmd="make"), output("c1", "ok"), tokens(100, 5), tokens(220, 11)]
    own = [*turn(NEW_TURN), call("c2", cmd="ls"), output("c2", "x"), tokens(250, 13)]
    [transcript] = read(tmp_path, a=[meta(), *earlier], b=[meta(CHILD, PARENT), meta(), *earlier, *own])
    assert transcript.usage.total.input_uncached == 250 and transcript.usage.total.output == 13
    assert [c.command for c in transcript.calls] == ["make", "ls"]
    assert [c.thread for c in transcript.calls] == [MAIN, CHILD]
    assert transcript.notes_of(NoteKind.SKIPPED)


def test_where_ids_do_not_sort_the_copy_ends_by_its_time(tmp_path: Path) -> None:
    copied = [*turn("turn-a", 5), tokens(100, 5, time=5)]
    child = [meta("child", "parent", 5), meta("parent", time=5), *copied, *turn("turn-b", 9), tokens(130, 6, time=9)]
    [transcript] = read(tmp_path, a=[meta("parent"), tokens(100, 5)], b=child)
    assert (transcript.usage.total.input_uncached, transcript.usage.total.output) == (130, 6)


def test_a_child_whose_parent_is_elsewhere_stands_alone_and_says_so(tmp_path: Path) -> None:
    [transcript] = read(tmp_path, b=[meta(CHILD, PARENT), tokens(70, 4)])
    assert transcript.notes_of(NoteKind.DANGLING)


def test_a_subagent_that_is_not_here_leaves_usage_partial(tmp_path: Path) -> None:
    spawn = [call("c1", "spawn_agent", message="A"), output("c1", json.dumps({"agent_id": CHILD}))]
    [transcript] = read(tmp_path, a=[meta(), *spawn, tokens(70, 4)])
    assert transcript.usage.completeness is Completeness.PARTIAL
    assert [mark.text for mark in transcript.marks_of(MarkKind.SUBAGENT_START)] == [CHILD]


def test_agents_that_are_started_at_once_are_told_apart_by_their_calls(tmp_path: Path) -> None:
    calls = [call("c1", "spawn_agent", message="A"), call("c2", "spawn_agent", message="B")]
    answers = [output("c1", json.dumps({"agent_id": CHILD})), output("c2", json.dumps({"agent_id": OTHER_CHILD}))]
    children = {name: [meta(name, PARENT), tokens(1, 1), call("x", cmd="make")] for name in (CHILD, OTHER_CHILD)}
    [transcript] = read(tmp_path, a=[meta(), *calls, *answers, tokens(70, 4)], **children)
    assert [(mark.index, mark.text) for mark in transcript.marks_of(MarkKind.SUBAGENT_START)] == [
        (1, CHILD),
        (2, OTHER_CHILD),
    ]
    assert anchors(transcript, []) == {CHILD: 0, OTHER_CHILD: 1}
    assert transcript.usage.completeness is Completeness.COMPLETE


def test_a_subagent_of_a_subagent_that_is_not_here_leaves_usage_partial(tmp_path: Path) -> None:
    def spawn(child: str) -> list[Json]:
        return [call("c1", "spawn_agent", message="A"), output("c1", json.dumps({"agent_id": child}))]

    child = [meta(CHILD, PARENT), *spawn(OTHER_CHILD), tokens(7, 4)]
    [transcript] = read(tmp_path, a=[meta(), *spawn(CHILD), tokens(70, 4)], b=child)
    assert (transcript.usage.completeness, transcript.usage.missing) == (Completeness.PARTIAL, ("1 subagents",))


def test_sessions_that_name_each_other_as_parents_end(tmp_path: Path) -> None:
    found = read(tmp_path, a=[meta(PARENT, CHILD), tokens(1, 1)], b=[meta(CHILD, PARENT), tokens(1, 1)])
    assert sum(transcript.usage.total.output or 0 for transcript in found) == 2


def test_repeated_messages_and_the_replaced_history_are_no_messages(tmp_path: Path) -> None:
    history = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}]
    items = [
        line("event_msg", type="agent_message", message="Hello."),
        said("assistant", "Hello."),
        said("assistant", "The summary."),
        line("compacted", message="Here it is: The summary.", replacement_history=history),
    ]
    [transcript] = read(tmp_path, a=[meta(), *items])
    assert [(m.role, m.kind, m.text) for m in transcript.messages] == [
        (Role.ASSISTANT, MessageKind.PLAIN, "Hello."),
        (Role.USER, MessageKind.COMPACTION, "Here it is: The summary."),
    ]
    assert len(transcript.marks_of(MarkKind.COMPACTION)) == 1


def test_outputs_of_all_versions(tmp_path: Path) -> None:
    old = json.dumps({"output": "no\n", "metadata": {"exit_code": 2, "duration_seconds": 0.1}})
    cut = "Chunk ID: 1\nProcess exited with code 0\nTotal output lines: 9000\nOutput:\nlong"
    running = "Chunk ID: 1\nProcess running with session ID 4711\nOutput:\n"
    items = [
        call("c1", "shell", command=["bash", "-lc", "make -j"]),
        output("c1", old),
        call("c2", cmd="seq 9000"),
        output("c2", cut),
        call("c3", cmd="sleep 100"),
        output("c3", running),
        call("c4", "write_stdin", session_id=4711, chars=""),
        output("c4", "Chunk ID: 2\nProcess exited with code 7\nOutput:\nlate"),
        call("c5", "shell", command=["ls", "-l", "a b"]),
        output("c5", {"content": "x", "success": False}),
    ]
    [transcript] = read(tmp_path, a=[meta(), *items])
    first, second, third, fourth, fifth = transcript.calls
    assert first.command == "make -j" and first.result and (first.result.exit_code, first.result.text) == (2, "no\n")
    assert second.result and second.result.cut and second.result.text == "long"
    assert third.background == fourth.background == "4711"
    assert third.result and third.result.exit_code is None
    assert fourth.result and (fourth.result.exit_code, fourth.result.text) == (7, "late")
    assert fifth.command == "ls -l 'a b'" and fifth.result and fifth.result.is_error is True


def test_arguments_that_are_no_json_are_none(tmp_path: Path) -> None:
    broken = item("function_call", name="exec_command", call_id="c1", arguments='{"cmd": "ls')
    [transcript] = read(tmp_path, a=[meta(), broken, output("c1", "failed to parse function arguments")])
    [only] = transcript.calls
    assert only.command is None and only.arguments == {} and only.result and only.result.is_error is True


def test_calls_that_could_not_be_made_failed_and_what_only_prints_such_words_did_not(tmp_path: Path) -> None:
    printed = "Chunk ID: 1\nProcess exited with code 0\nOutput:\nunsupported call: mmap"
    [transcript] = read(tmp_path, a=[
        meta(), call("c1", "bash", cmd="ls"), output("c1", "unsupported call: bash"),
        call("c2", "update_plan", steps=1), output("c2", "failed to parse function arguments: missing field `plan`"),
        call("c3", "update_plan", plan=[]), output("c3", "Plan updated"),
        call("c4", cmd="./run"), output("c4", printed),
    ])  # fmt: skip
    assert [found.result and found.result.is_error for found in transcript.calls] == [True, True, None, False]
    used = support(transcript)
    assert (used.failed_calls, used.failed_then_changed, used.plan_calls) == (2, 1, 2)
