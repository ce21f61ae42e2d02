"""Read Claude Code's session logs: `<session>.jsonl`, subagents in `<session>/subagents/agent-*.jsonl`.

Each block of a response is a line of its own with the response's id and usage. Usage of the calls that make
compaction summaries is not in the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from loopscope.transcripts import usage
from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import MAIN, MarkKind, MessageKind, NoteKind, Role, Source, Transcript
from loopscope.transcripts.claude_blocks import (
    INTERRUPTED,
    RESUMED,
    SYNTHETIC,
    Responses,
    kind_of_user_text,
    take_assistant,
    take_results,
    user_text,
)
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import is_file, is_folder, listed, walked
from loopscope.transcripts.glimpse import Glimpse
from loopscope.transcripts.parsing import lines
from loopscope.transcripts.reader import SURE, read_each
from loopscope.transcripts.shapes import flag, moment, short, table, text, words

NAME = "claude-code"

_SILENT = words(
    "attachment last-prompt mode file-history-snapshot progress summary ai-title custom-title agent-name "
    "permission-mode queue-operation tag pr-link worktree-state"
)
"""Lines that hold nothing of what was said or done."""
_SUBAGENT = "agent-"
_MAX_SESSIONS = 10_000


def sniff(glimpse: Glimpse) -> float | None:
    """A session's file, or a directory with some (`projects`, or one of its folders)."""
    path = glimpse.path
    if glimpse.is_file:
        return SURE if path.suffix == ".jsonl" and _is_session(glimpse) else None
    return SURE if glimpse.is_folder and next(_sessions(path), None) else None


def read(path: Path) -> Iterator[Transcript]:
    """One transcript for each session.

    Raises:
        TranscriptError: there is none; or, after the others, one could not be read.
    """
    beside = _Beside()
    if is_file(path):
        yield _session(path, beside)
        return
    sessions = _sessions(path)
    first = next(sessions, None)
    if first is None:
        raise TranscriptError(
            path, "holds no session of Claude Code", "give a session's .jsonl or the folder around it"
        )
    yield from read_each(chain((first,), sessions), lambda session: _session(session, beside))


def _sessions(folder: Path) -> Iterator[Path]:
    for number, path in enumerate(walked(folder, depth=4)):
        if number >= _MAX_SESSIONS:
            return
        subagent = path.parent.name == "subagents" or path.name.startswith(_SUBAGENT)
        if path.suffix == ".jsonl" and not subagent and _is_session(Glimpse(path)):
            yield path


def _is_session(glimpse: Glimpse) -> bool:
    return any(
        "sessionId" in line and ("parentUuid" in line or line.get("type") in ("queue-operation", "summary", "mode"))
        for line in glimpse.lines
    )


def _session(path: Path, beside: _Beside) -> Transcript:
    reader = _Session()
    reader.take(path, MAIN)
    inner = path.with_suffix("") / "subagents"
    for file in listed(inner) if is_folder(inner) else []:
        if file.suffix != ".jsonl" or not file.name.startswith(_SUBAGENT):
            continue
        if is_file(file):
            reader.take(file, _agent(file), relative=f"{path.stem}/subagents/{file.name}")
        else:
            reader.builder.note(NoteKind.SKIPPED, "subagent logs that are links or no files", loses="subagents")
    for file in beside.of(path, reader.sessions):
        reader.take(file, _agent(file), relative=file.name)
    return reader.finish(path)


class _Beside:
    """Subagents' logs beside the session's, where versions before 2.1 put them; each folder is looked through once."""

    def __init__(self) -> None:
        self._folders: dict[Path, dict[str, list[Path]]] = {}

    def of(self, path: Path, sessions: frozenset[str]) -> list[Path]:
        """Logs of the subagents of a session, in the order of their names.

        Args:
            path: the session's log.
            sessions: ids that it names.
        """
        if path.parent not in self._folders:
            self._folders[path.parent] = _by_session(path.parent)
        named = self._folders[path.parent]
        return sorted(file for session in sessions for file in named.get(session, []) if file != path)


def _by_session(folder: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for file in listed(folder):
        if file.suffix == ".jsonl" and file.name.startswith(_SUBAGENT) and is_file(file):
            first = next(iter(Glimpse(file).lines), {})
            session = short(first.get("sessionId"))
            if first.get("isSidechain") and session:
                found.setdefault(session, []).append(file)
    return found


def _agent(file: Path) -> str:
    return file.stem.removeprefix(_SUBAGENT)


class _Session:
    """A session in the making: the main file, then its subagents'."""

    def __init__(self) -> None:
        self.builder = Builder()
        self._responses = Responses()
        self._seen: set[str] = set()
        self._roots: dict[str, str] = {}
        self._about: dict[str, str] = {}
        self._ids: dict[str, None] = {}
        self._files: dict[str, str] = {}
        self._started = {MAIN}
        self._compactions = 0

    def take(self, path: Path, thread: str, relative: str | None = None) -> None:
        self._files[thread] = relative or path.name
        try:
            for index, line in lines(path, self.builder):
                self._line(index, line, thread)
        except TranscriptError:
            if thread == MAIN:
                raise
            self.builder.note(NoteKind.SKIPPED, "subagent logs that cannot be read", loses="subagents")

    @property
    def sessions(self) -> frozenset[str]:
        """Ids of sessions that the main file names."""
        return frozenset(self._ids)

    def finish(self, path: Path) -> Transcript:
        missing = [f"{self._compactions} compaction calls"] if self._compactions else []
        self.builder.absent(self._files, "subagents whose logs are not here")
        if uncounted := self._responses.uncounted:
            text = "responses without counts"
            self.builder.note(NoteKind.USAGE, text, count=uncounted, loses=text)
        source = Source(
            format=NAME,
            format_version=self._about.get("version"),
            agent="claude-code",
            agent_version=self._about.get("version"),
            model=self._about.get("model"),
            session_ids=tuple(self._ids) or (path.stem,),
            cwd=self._about.get("cwd"),
            files=self._files,
        )
        entries = self._responses.entries
        report = usage.report(entries, "usage of each response", missing=missing) if entries else usage.nothing()
        return self.builder.finish(source, report)

    def _line(self, index: int, line: Mapping[str, Any], thread: str) -> None:
        kind, uuid = line.get("type"), text(line.get("uuid"))
        if uuid:
            if uuid in self._seen:
                self.builder.note(NoteKind.DUPLICATE, "lines that repeat an id, passed over", index)
                return
            self._seen.add(uuid)
        thread = self._thread(line, thread, uuid)
        for key in ("version", "cwd"):
            if key not in self._about and (value := short(line.get(key), 4096)):
                self._about[key] = value
        if thread == MAIN and (session := short(line.get("sessionId"))):
            self._ids.setdefault(session)
        time = moment(line.get("timestamp"))
        match kind:
            case "assistant":
                self._assistant(index, line, thread, time)
            case "user":
                self._user(index, line, thread, time)
            case "system":
                self._system(index, line, thread, time)
            case "queue-operation" if str(line.get("content"))[:20].startswith("<task-notification>"):
                if line.get("operation") == "enqueue":
                    said = str(line["content"])
                    self.builder.say(index, Role.USER, said, kind=MessageKind.INJECTED, thread=thread, time=time)
            case str() if kind in _SILENT:
                pass
            case other:
                self.builder.note(NoteKind.UNKNOWN, f"lines of type {str(other)[:40]!a}", index)

    def _thread(self, line: Mapping[str, Any], thread: str, uuid: str | None) -> str:
        """Older versions write subagents into the main file: each hangs from its own root."""
        if thread != MAIN or not flag(line.get("isSidechain")):
            return thread
        if agent := short(line.get("agentId"), 100):
            return agent
        parent = text(line.get("parentUuid"))
        root = self._roots.get(parent, parent) if parent else (uuid or "sidechain")
        if uuid:
            self._roots[uuid] = root
        return f"sidechain-{root[:8]}"

    def _assistant(self, index: int, line: Mapping[str, Any], thread: str, time: float | None) -> None:
        message = table(line.get("message"))
        model = short(message.get("model"))
        if model and model != SYNTHETIC and thread == MAIN:
            self._about.setdefault("model", model)
        self._responses.take(line, message, index, thread, time)
        take_assistant(self.builder, message, index, thread, time)

    def _user(self, index: int, line: Mapping[str, Any], thread: str, time: float | None) -> None:
        content, more = table(line.get("message")).get("content"), line.get("toolUseResult")
        take_results(self.builder, content, more, index, thread, time)
        said = user_text(content)
        kind = kind_of_user_text(said)
        if flag(line.get("isCompactSummary")):
            kind = MessageKind.COMPACTION
        elif flag(line.get("isMeta")):
            kind = MessageKind.INJECTED
        self.builder.say(index, Role.USER, said, kind=kind, thread=thread, time=time)
        if said.startswith(INTERRUPTED):
            self.builder.mark(index, MarkKind.INTERRUPTION, thread=thread, time=time)
        elif kind is MessageKind.INJECTED and said.strip() == RESUMED:
            self.builder.mark(index, MarkKind.RESUME, thread=thread, time=time)
        elif kind is MessageKind.PLAIN and said:
            if thread in self._started:
                self.builder.mark(index, MarkKind.TURN, thread=thread, time=time)
            elif line.get("isSidechain") and not line.get("agentId"):
                self.builder.spawned(index, thread, time=time)
            self._started.add(thread)

    def _system(self, index: int, line: Mapping[str, Any], thread: str, time: float | None) -> None:
        if line.get("subtype") == "compact_boundary":
            self._compactions += 1
            about = table(line.get("compactMetadata"))
            trigger = short(about.get("trigger")) or ""
            self.builder.mark(index, MarkKind.COMPACTION, trigger, thread=thread, time=time)
