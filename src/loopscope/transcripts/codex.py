"""Read Codex rollouts: `sessions/Y/M/D/rollout-*.jsonl`; every subagent has one of its own.

Tokens are a running total over the whole session, resumes too; input includes what was cached, output includes
reasoning. A subagent that was forked from its parent begins with a copy of the parent's events, counts included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from loopscope.transcripts import usage
from loopscope.transcripts.builder import Builder
from loopscope.transcripts.canonical import MAIN, NoteKind, Source, Transcript, UsageEntry
from loopscope.transcripts.codex_rollout import Rollout
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import is_file, walked
from loopscope.transcripts.glimpse import Glimpse
from loopscope.transcripts.parents import has_no_root
from loopscope.transcripts.parsing import lines
from loopscope.transcripts.reader import SURE, read_each
from loopscope.transcripts.shapes import short, table

NAME = "codex"


def sniff(glimpse: Glimpse) -> float | None:
    """A rollout, or a directory with some."""
    if glimpse.is_file:
        return SURE if glimpse.path.suffix == ".jsonl" and _ids(glimpse) else None
    return SURE if glimpse.is_folder and next(_rollouts(glimpse.path), None) else None


def read(path: Path) -> Iterator[Transcript]:
    """One transcript for each session that no other one started; subagents are threads of it.

    Raises:
        TranscriptError: there is none; or, after the others, one could not be read.
    """
    if is_file(path):
        yield _transcript(_Session(path, *(_ids(Glimpse(path)) or (_name(path), None))), path.parent)
        return
    roots = _trees(path)
    if not roots:
        raise TranscriptError(path, "holds no rollout of Codex", "give a rollout-*.jsonl or the sessions folder")
    yield from read_each(roots, lambda root: _transcript(root, path))


@dataclass
class _Session:
    path: Path
    id: str
    parent: str | None
    children: list[_Session] = field(default_factory=list)


def _rollouts(folder: Path) -> Iterator[tuple[Path, str, str | None]]:
    for path in walked(folder):
        if path.suffix == ".jsonl" and path.name.startswith("rollout-") and (found := _ids(Glimpse(path))):
            yield path, *found


def _ids(glimpse: Glimpse) -> tuple[str, str | None] | None:
    """Id of a rollout's session and of the session that started it."""
    for line in glimpse.lines[:5]:
        if line.get("type") == "session_meta":
            about = table(line.get("payload"))
            spawned = table(table(table(about.get("source")).get("subagent")).get("thread_spawn"))
            parent = short(about.get("parent_thread_id")) or short(spawned.get("parent_thread_id"))
            return short(about.get("id")) or _name(glimpse.path), parent
        if line.get("type") in ("response_item", "event_msg", "turn_context") and "payload" in line:
            return _name(glimpse.path), None
    return None


def _name(path: Path) -> str:
    return path.stem[-36:]


def _trees(folder: Path) -> list[_Session]:
    sessions: dict[str, _Session] = {}
    for path, name, parent in _rollouts(folder):
        # The same session twice, as copies of a folder have it: the first path stands.
        sessions.setdefault(name, _Session(path, name, parent))
    parents = {name: session.parent for name, session in sessions.items()}
    roots = []
    for session in sessions.values():
        parent_session = sessions.get(session.parent or "")
        if parent_session is None or has_no_root(session.id, parents):
            roots.append(session)
        else:
            parent_session.children.append(session)
    return roots


def _transcript(root: _Session, folder: Path) -> Transcript:
    builder = Builder()
    files: dict[str, str] = {}
    entries: list[UsageEntry] = []
    first: Rollout | None = None
    stack = [(root, MAIN)]
    while stack:
        session, thread = stack.pop(0)
        files[thread] = (
            str(session.path.relative_to(folder)) if session.path.is_relative_to(folder) else session.path.name
        )
        rollout = Rollout(builder, thread, session.id)
        try:
            for index, line in lines(session.path, builder):
                rollout.take(index, line)
        except TranscriptError:
            if thread == MAIN:
                raise
            builder.note(NoteKind.SKIPPED, "subagents' rollouts that cannot be read", loses="subagents")
        entries += rollout.entries
        first = first or rollout
        stack += [(child, child.id) for child in session.children]
    assert first is not None
    if root.parent:
        builder.note(NoteKind.DANGLING, f"started by session {root.parent[:60]}, which is not here")
    builder.absent(files, "subagents whose rollouts are not here")
    source = Source(
        format=NAME,
        format_version=first.about.get("version"),
        agent="codex",
        agent_version=first.about.get("version"),
        model=first.about.get("model"),
        session_ids=tuple(dict.fromkeys([root.id, *(name for name in files if name != MAIN)])),
        cwd=first.about.get("cwd"),
        files=files,
    )
    return builder.finish(source, usage.report(entries, "running total") if entries else usage.nothing())
