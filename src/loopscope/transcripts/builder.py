"""Collect what a reader finds, pair results with calls, and make the transcript."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from loopscope.transcripts import outcomes
from loopscope.transcripts.canonical import (
    MAIN,
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
    UsageReport,
)
from loopscope.transcripts.shapes import EMPTY
from loopscope.transcripts.tools import background_of, command_of, kind_of, path_of

MAX_TEXT = 256 << 10
"""Characters kept of one text: three quarters from its head, one from its tail."""
MAX_KEPT = 256 << 20
"""Characters kept of one transcript before texts are shortened much more."""
LITTLE = 2 << 10
MAX_ENTRIES = 2_000_000
MAX_NOTES = 1000
CLOCK_SLACK = 1.0
"""Seconds that times may go back without a word: parallel tools finish in any order."""

_WITH_PATH = frozenset({ToolKind.READ, ToolKind.EDIT, ToolKind.WRITE})
_OF_BACKGROUND = frozenset({ToolKind.SHELL_OUTPUT, ToolKind.SHELL_STOP})


@dataclass(slots=True)
class Draft:
    """A call that may still be answered."""

    asked: Call
    """As it was made, without an answer."""
    result: Result | None = None
    background: str | None = None

    def call(self) -> Call:
        """The call as it stands."""
        asked = self.asked
        return Call(  # as `replace` makes it, in a fifth of its time
            index=asked.index,
            thread=asked.thread,
            id=asked.id,
            tool=asked.tool,
            kind=asked.kind,
            arguments=asked.arguments,
            command=asked.command,
            path=asked.path,
            result=self.result,
            background=self.background,
            time=asked.time,
        )


class Builder:
    """One transcript in the making.

    A result belongs to the most recent unanswered call of its id in its thread, since some harnesses use ids again.
    Only a call's first answer counts.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.marks: list[Mark] = []
        self._calls: list[Draft] = []
        self._unanswered: dict[tuple[str, str], list[Draft]] = {}
        self._answered: set[tuple[str, str]] = set()
        self._notes: dict[tuple[NoteKind, str], Note] = {}
        self._lost: Counter[str] = Counter()
        """What is known to be left out, tokens and all; in words, with how many of it."""
        self._clock: dict[str, float] = {}
        self._steps_back: Counter[str] = Counter()
        self._children: set[str] = {MAIN}
        self._kept = 0
        self._entries = 0

    def say(
        self,
        index: int,
        role: Role,
        text: str,
        *,
        kind: MessageKind = MessageKind.PLAIN,
        thread: str = MAIN,
        time: float | None = None,
    ) -> None:
        """Add a message; an empty text says nothing."""
        if text and self._room():
            self.messages.append(Message(index, thread, role, kind, self._bounded(text)[0], time))
        if time is not None:
            self._tick(thread, time)

    def call(
        self,
        index: int,
        call_id: str,
        tool: str,
        arguments: object,
        *,
        thread: str = MAIN,
        time: float | None = None,
        kind: ToolKind | None = None,
    ) -> Draft | None:
        """Add a call; None where there is no room for more. Arguments that are no object are as good as none."""
        if not self._room():
            return None
        kind = kind or kind_of(tool)
        given: Mapping[str, Any] = arguments if isinstance(arguments, dict) else EMPTY
        asked = Call(
            index=index,
            thread=thread,
            id=call_id,
            tool=tool[:200],
            kind=kind,
            arguments=given,
            command=command_of(given) if kind is ToolKind.SHELL else None,
            path=path_of(given) if kind in _WITH_PATH else None,
            time=time,
        )
        call = Draft(asked, background=background_of(given) if kind in _OF_BACKGROUND else None)
        self._unanswered.setdefault((thread, call_id), []).append(call)
        self._calls.append(call)
        if time is not None:
            self._tick(thread, time)
        return call

    def result(
        self,
        index: int,
        call_id: str,
        text: str,
        *,
        thread: str = MAIN,
        is_error: bool | None = None,
        exit_code: int | None = None,
        cut: bool = False,
        background: str | None = None,
        time: float | None = None,
    ) -> Call | None:
        """Answer a call; the call, None where none waits for it.

        What the harness writes into the text (exit code, background id) is read from there.
        """
        key = (thread, call_id)
        waiting = self._unanswered.get(key)
        if time is not None:
            self._tick(thread, time)
        if not waiting:
            self._unexpected(key, index)
            return None
        call = waiting.pop()
        self._answered.add(key)
        shell = call.asked.kind is ToolKind.SHELL
        if exit_code is None and shell and is_error is not False:
            exit_code = outcomes.stated_exit_code(text)
        elif exit_code is None and call.asked.kind is ToolKind.SHELL_OUTPUT:
            exit_code = outcomes.task_exit_code(text)
        if is_error is None and text.startswith("<tool_use_error>"):
            is_error = True
        elif is_error is None and shell and exit_code is not None:
            is_error = exit_code != 0
        kept, shortened = self._bounded(text)
        call.result = Result(index, kept, is_error, exit_code, cut or shortened or outcomes.is_cut(kept), time)
        if shell and background is None:
            background = outcomes.background_id(text)
        call.background = background or call.background
        return call.asked

    def mark(
        self, index: int, kind: MarkKind, text: str = "", *, thread: str = MAIN, time: float | None = None
    ) -> None:
        """Add a mark."""
        if self._room():
            self.marks.append(Mark(index, thread, kind, text[:LITTLE], time))

    def spawned(self, index: int, child: str, *, thread: str = MAIN, time: float | None = None) -> None:
        """Mark where a subagent starts, in the thread that starts it; once for each."""
        if child not in self._children:
            self._children.add(child)
            self.mark(index, MarkKind.SUBAGENT_START, child, thread=thread, time=time)

    def note(
        self, kind: NoteKind, text: str, index: int | None = None, count: int = 1, loses: str | None = None
    ) -> None:
        """Add a note; the same one again only counts up, and keeps its first place.

        Args:
            kind: of the note.
            text: what is said.
            index: of the line or message.
            count: how many things it speaks of.
            loses: what is left out with it that has tokens, in words that follow a number: usage is partial then.
        """
        if loses:
            self._lost[loses] += count
        key = (kind, text)
        known = self._notes.get(key)
        if known:
            self._notes[key] = replace(known, count=known.count + count)
        elif len(self._notes) < MAX_NOTES:
            self._notes[key] = Note(kind, text, index, count)

    def absent(self, present: Iterable[str], text: str) -> None:
        """Note the subagents that were started, and of which there is nothing.

        Args:
            present: threads whose logs were there, if only to fail.
            text: of the note.
        """
        absent = self._children.difference(present, (c.asked.thread for c in self._calls), self._threads_that_speak())
        if lost := absent - {MAIN}:
            self.note(NoteKind.DANGLING, text, count=len(lost), loses="subagents")

    @property
    def calls(self) -> list[Draft]:
        """The calls so far."""
        return self._calls

    def finish(self, source: Source, usage: UsageReport) -> Transcript:
        """The transcript, threads one after the other."""
        for thread, times in self._steps_back.items():
            self.note(NoteKind.CLOCK, f"times go back in thread {thread[:100]}", count=times)
        threads = dict.fromkeys([MAIN, *(call.asked.thread for call in self._calls), *self._threads_that_speak()])
        several = len(threads) > 1
        for thread in threads:
            self.spawned(0, thread, thread=thread)
        place = {thread: number for number, thread in enumerate(threads)}
        drafts = sorted(self._calls, key=lambda c: place[c.asked.thread]) if several else self._calls
        return Transcript(
            source=source,
            messages=tuple(sorted(self.messages, key=lambda m: place[m.thread]) if several else self.messages),
            calls=tuple(draft.call() for draft in drafts),
            marks=tuple(self.marks),
            usage=self._without_lost(usage),
            notes=tuple(self._notes.values()),
        )

    def _threads_that_speak(self) -> Iterable[str]:
        return (message.thread for message in self.messages)

    def _without_lost(self, usage: UsageReport) -> UsageReport:
        """Usage that says what is left out of it. Of a log that gives no total all is unknown, whatever is lost."""
        if not self._lost or usage.completeness is Completeness.UNKNOWN:
            return usage
        lost = (f"{count} {what}" for what, count in self._lost.items())
        return replace(usage, completeness=Completeness.PARTIAL, missing=(*usage.missing, *lost))

    def _unexpected(self, key: tuple[str, str], index: int) -> None:
        if key in self._answered:
            self.note(NoteKind.DUPLICATE, "second answers to a call; the first one counts", index)
        else:
            self.note(NoteKind.DANGLING, "results without a call", index)

    def _room(self) -> bool:
        self._entries += 1
        if self._entries <= MAX_ENTRIES:
            return True
        self.note(NoteKind.SHORTENED, f"more than {MAX_ENTRIES:,} entries; the rest is left out")
        return False

    def _bounded(self, text: str) -> tuple[str, bool]:
        limit = MAX_TEXT if self._kept < MAX_KEPT else LITTLE
        if len(text) <= limit:
            self._kept += len(text)
            return text, False
        self._kept += limit
        self.note(NoteKind.SHORTENED, "texts of which only head and tail are kept")
        head = limit * 3 // 4
        left_out = len(text) - limit
        return f"{text[:head]}\n[... {left_out} characters left out ...]\n{text[-(limit - head) :]}", True

    def _tick(self, thread: str, time: float) -> None:
        before = self._clock.get(thread)
        if before is not None and time < before - CLOCK_SLACK:
            self._steps_back[thread] += 1
        self._clock[thread] = time
