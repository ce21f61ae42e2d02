"""Read Harbor's trajectory format, ATIF 1.0 to 1.8 and, as far as they agree with these, later ones.

Prompt tokens include what came from the cache. Steps marked as copied context were counted where they were copied
from. Subagents are embedded, or in files beside; so are continuations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from loopscope.transcripts import usage
from loopscope.transcripts.atif_usage import entry_of, prompt_tokens
from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import (
    MAIN,
    MarkKind,
    MessageKind,
    NoteKind,
    Role,
    Source,
    Transcript,
    UsageEntry,
    UsageReport,
)
from loopscope.transcripts.claude_blocks import kind_of_user_text
from loopscope.transcripts.documents import Document, read_document
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import is_file
from loopscope.transcripts.glimpse import Glimpse
from loopscope.transcripts.reader import LIKELY, SURE
from loopscope.transcripts.shapes import code, count, flag, joined, moment, money, rows, short, table, text

NAME = "atif"
NEWEST = (1, 8)
_VERSION = re.compile(r"ATIF-v(\d{1,4})\.(\d{1,4})", re.ASCII)
_MAX_FILES = 200
_MEMBERS = (
    "schema_version",
    "session_id",
    "agent",
    "final_metrics",
    "continued_trajectory_ref",
    "subagent_trajectories",
)
"""What is taken of a trajectory besides its steps."""
_ADVICE = "check that it is an ATIF trajectory"
_ROLES = {"user": Role.USER, "system": Role.SYSTEM, "agent": Role.ASSISTANT}


def sniff(glimpse: Glimpse) -> float | None:
    """An object with a `schema_version` of ATIF, or at least with an agent and steps."""
    start = glimpse.document
    if b'"ATIF-v' in start:
        return SURE
    return LIKELY if b'"steps"' in start and b'"agent"' in start and b'"step_id"' in start else None


def read(path: Path) -> Iterator[Transcript]:
    """The one transcript of a file, with its continuations and subagents.

    Raises:
        TranscriptError: it cannot be read, or holds no steps.
    """
    builder = Builder()
    document = read_document(path, "steps", _MEMBERS, builder, _ADVICE)
    trajectory = _Trajectory(builder, path.parent, {path.name})
    trajectory.take(document, MAIN)
    data = document.members
    agent = table(data.get("agent"))
    source = Source(
        format=NAME,
        format_version=short(data.get("schema_version")),
        agent=short(agent.get("name")),
        agent_version=short(agent.get("version")),
        model=short(agent.get("model_name")) or trajectory.model,
        session_ids=tuple(filter(None, [short(data.get("session_id"))])),
        cwd=short(table(agent.get("extra")).get("cwd"), 4096),
    )
    yield builder.finish(source, trajectory.usage())


class _Trajectory:
    """Takes trajectories into a builder: the root, its continuations and its subagents."""

    def __init__(self, builder: Builder, folder: Path, seen: set[str]) -> None:
        self._builder = builder
        self._folder = folder
        self._seen = seen
        self._entries: list[UsageEntry] = []
        self._uncounted = 0
        self._by_totals = False
        self._started: set[str] = set()
        self._cost: Decimal | None = None
        self.model: str | None = None

    def take(self, document: Document, root_thread: str) -> None:
        """Take a trajectory, and the subagents that it leads to."""
        waiting = [(document, root_thread)]
        names = {root_thread}
        while waiting:
            trajectory, thread = waiting.pop(0)
            references = self._chain(trajectory, thread)
            embedded = {
                short(table(child).get("trajectory_id")): child
                for child in rows(trajectory.members.get("subagent_trajectories"))
            }
            for name, child in embedded.items():
                if isinstance(child, dict):
                    embedded_child = Document(child, rows(child.get("steps")))
                    waiting.append((embedded_child, _fresh(name or f"subagent-{len(names)}", names)))
                else:
                    self._builder.note(NoteKind.BROKEN, "subagents that are no object", loses="subagents")
            for reference in references:
                name, file = short(reference.get("trajectory_id")), text(reference.get("trajectory_path"))
                if name in embedded:
                    continue
                beside = self._beside(file, "subagents") if file else None
                if beside is not None:
                    waiting.append((beside, _fresh(name or str(file)[:100], names)))
                elif not file:
                    self._builder.note(NoteKind.DANGLING, "subagents that are not here", loses="subagents")

    def usage(self) -> UsageReport:
        missing = [f"{self._uncounted} responses without counts"] if self._uncounted else []
        if not self._entries:
            return usage.nothing(missing=missing, claimed=self._cost)
        source = "final_metrics" if self._by_totals else "metrics of each step"
        return usage.report(self._entries, source, missing=missing, claimed=self._cost)

    def _chain(self, document: Document, thread: str) -> list[Mapping[str, Any]]:
        """A trajectory and what continues it, as one thread; its references to subagents."""
        references: list[Mapping[str, Any]] = []
        offset = 0
        entries: list[UsageEntry] = []
        totals: Mapping[str, Any] = {}
        following: Document | None = document
        while following is not None:
            here = following.members
            self._version(here)
            model = short(table(here.get("agent")).get("model_name"))
            self.model = self.model or model
            for step in following.elements:
                if isinstance(step, dict):
                    references += self._step(offset, step, thread, model, entries)
                else:
                    self._builder.note(NoteKind.BROKEN, "steps that are no object", offset, loses="steps")
                offset += 1
            totals = table(here.get("final_metrics")) or totals
            name = text(here.get("continued_trajectory_ref"))
            following = self._beside(name, "continuations") if name else None
            if following is not None:
                self._builder.mark(offset, MarkKind.RESUME, thread=thread)
        self._counted(entries, totals, thread)
        return references

    def _version(self, data: Mapping[str, Any]) -> None:
        version = data.get("schema_version")
        known = _VERSION.fullmatch(version) if isinstance(version, str) else None
        if known is None:
            self._builder.note(NoteKind.VERSION, "no version of ATIF is named; read as the newest known")
        elif (int(known[1]), int(known[2])) > NEWEST:
            self._builder.note(NoteKind.VERSION, f"{known[0]} is newer than ATIF-v1.8; what agrees with it is read")

    def _step(
        self, index: int, step: Mapping[str, Any], thread: str, model: str | None, entries: list[UsageEntry]
    ) -> list[Mapping[str, Any]]:
        if flag(step.get("is_copied_context")):
            return []
        time, source = moment(step.get("timestamp")), step.get("source")
        role = _ROLES.get(source) if isinstance(source, str) else None
        if role is None:
            self._builder.note(NoteKind.UNKNOWN, f"steps of source {str(source)[:40]!a}", index)
            role = Role.SYSTEM
        self._said(index, step, role, thread, time)
        for call in rows(step.get("tool_calls")):
            member = table(call)
            name = text(member.get("function_name"))
            if name is None:
                self._builder.note(NoteKind.BROKEN, "calls without a name", index)
                continue
            call_id = text(member.get("tool_call_id")) or ""
            self._builder.call(index, call_id, name, member.get("arguments"), thread=thread, time=time)
        if role is Role.ASSISTANT:
            self._metrics(index, step, thread, short(step.get("model_name")) or model, time, entries)
        return self._results(index, step, thread)

    def _said(self, index: int, step: Mapping[str, Any], role: Role, thread: str, time: float | None) -> None:
        thought = joined(step.get("reasoning_content"))
        self._builder.say(index, Role.ASSISTANT, thought, kind=MessageKind.REASONING, thread=thread, time=time)
        said = joined(step.get("message"))
        kind = kind_of_user_text(said) if role is Role.USER else MessageKind.PLAIN
        self._builder.say(index, role, said, kind=kind, thread=thread, time=time)
        if role is not Role.USER:
            return
        if kind is MessageKind.COMPACTION:
            self._builder.mark(index, MarkKind.COMPACTION, thread=thread, time=time)
        elif kind is MessageKind.PLAIN and said:
            if thread == MAIN or thread in self._started:
                self._builder.mark(index, MarkKind.TURN, thread=thread, time=time)
            self._started.add(thread)

    def _results(self, index: int, step: Mapping[str, Any], thread: str) -> list[Mapping[str, Any]]:
        references: list[Mapping[str, Any]] = []
        for result in rows(table(step.get("observation")).get("results")):
            member = table(result)
            references += [r for r in rows(member.get("subagent_trajectory_ref")) if isinstance(r, dict)]
            call_id, content, extra = (
                text(member.get("source_call_id")),
                joined(member.get("content")),
                table(member.get("extra")),
            )
            if call_id is None:
                kind = MessageKind.INJECTED
                self._builder.say(index, Role.SYSTEM, content, kind=kind, thread=thread)
                continue
            failed = flag(extra.get("tool_result_is_error"))
            self._builder.result(
                index,
                call_id,
                content,
                thread=thread,
                is_error=flag(extra.get("is_error")) if failed is None else failed,
                exit_code=next(
                    (c for k in ("exit_code", "return_code") if (c := code(extra.get(k))) is not None), None
                ),
            )
        return references

    def _metrics(
        self,
        index: int,
        step: Mapping[str, Any],
        thread: str,
        model: str | None,
        time: float | None,
        entries: list[UsageEntry],
    ) -> None:
        metrics = step.get("metrics")
        if not isinstance(metrics, dict):
            self._uncounted += step.get("llm_call_count") not in (0, None)
            return
        extra = table(metrics.get("extra"))
        written = count(extra.get("cache_creation_input_tokens"))
        entry = entry_of(
            index, thread, model, metrics, ("prompt_tokens", "completion_tokens", "cached_tokens"), written, time
        )
        if entry.output is None and entry.input_uncached is None:
            self._uncounted += 1
        else:
            entries.append(entry)

    def _counted(self, entries: list[UsageEntry], totals: Mapping[str, Any], thread: str) -> None:
        """Steps say when tokens went, totals how many: where they differ, the totals are taken."""
        written = count(table(totals.get("extra")).get("total_cache_creation_input_tokens"))
        names = ("total_prompt_tokens", "total_completion_tokens", "total_cached_tokens")
        whole = entry_of(None, thread, None, totals, names, written, None)
        if thread == MAIN:
            self._cost = money(totals.get("total_cost_usd"))
        summed = (prompt_tokens(entries), sum(entry.output or 0 for entry in entries))
        if whole.input_uncached is None or whole.output is None or (prompt_tokens([whole]), whole.output) == summed:
            self._entries += entries
            return
        if entries:
            self._builder.note(NoteKind.USAGE, "tokens of the steps do not add up to final_metrics, which are taken")
        self._by_totals = True
        self._entries.append(whole)

    def _beside(self, name: str, what: str) -> Document | None:
        """A trajectory in a file of the same directory; none elsewhere is opened."""
        if name in self._seen or len(self._seen) >= _MAX_FILES:
            unread = None if name in self._seen else what
            self._builder.note(NoteKind.DANGLING, f"{what} that were read already", loses=unread)
            return None
        self._seen.add(name)
        place = self._folder / name if "/" not in name and "\0" not in name and name not in (".", "..") else None
        if place is None or not is_file(place):
            self._builder.note(NoteKind.DANGLING, f"{what} that are not in files beside", loses=what)
            return None
        try:
            return read_document(place, "steps", _MEMBERS, self._builder, _ADVICE)
        except TranscriptError:
            self._builder.note(NoteKind.BROKEN, f"{what} that cannot be read", loses=what)
            return None


def _fresh(name: str, names: set[str]) -> str:
    """A thread's name that no other has."""
    fresh = name
    while fresh in names:
        fresh = f"{name}-{len(names)}"
    names.add(fresh)
    return fresh
