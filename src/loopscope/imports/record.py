"""The record of an imported run: what its log says, and nothing that it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from itertools import chain

from loopscope.imports.naming import harness_of
from loopscope.models import Imported, Problem, ReportedReward, RunRecord, RunStatus, Timings
from loopscope.records.store import run_id_of
from loopscope.transcripts.canonical import MAIN, MarkKind, Note, Transcript

ENVIRONMENT = "imported"
MOST_NOTES = 100
"""Of a reader's notes that a record repeats; the transcript has them all."""


@dataclass(frozen=True)
class Identity:
    """What a run is filed under."""

    study: str
    task: str
    category: str
    agent: str
    seed: int

    @property
    def run_id(self) -> str:
        """Name of its directory."""
        return run_id_of(self.task, self.agent, self.seed)


def make_record(transcript: Transcript, digest: str, log: str, identity: Identity) -> RunRecord:
    """The record of a transcript.

    Args:
        transcript: the log's.
        digest: of the packed transcript.
        log: name of what was read.
        identity: what the run is filed under.
    """
    times = list(_times(transcript))
    began, ended = (min(times), max(times)) if times else (None, None)
    total = round(ended - began, 6) if began is not None and ended is not None and ended > began else None
    return RunRecord(
        run_id=identity.run_id,
        study=identity.study,
        task=identity.task,
        task_hash=None,
        category=identity.category,
        agent=identity.agent,
        harness=harness_of(transcript.source),
        model=transcript.source.model,
        seed=identity.seed,
        status=transcript.ended.status if transcript.ended else RunStatus.UNKNOWN,
        started_at=_moment(began),
        finished_at=_moment(ended),
        timings=Timings(agent_sec=total if _in_one_go(transcript) else None, total_sec=total),
        budget_sec=None,
        environment=ENVIRONMENT,
        usage=transcript.usage.total,
        versions={"loopscope": _version()},
        imported=_imported(transcript, digest, log),
        problems=_problems(transcript),
    )


@cache
def _version() -> str:
    return version("loopscope")


def _imported(transcript: Transcript, digest: str, log: str) -> Imported:
    source, usage, reported = transcript.source, transcript.usage, transcript.reported
    notes = [_line(note) for note in transcript.notes]
    if len(notes) > MOST_NOTES:
        notes = [*notes[: MOST_NOTES - 1], f"{len(notes) - MOST_NOTES + 1} more notes, in the transcript"]
    return Imported(
        format=source.format,
        format_version=source.format_version,
        log=log,
        digest=digest,
        sessions=source.session_ids,
        usage_source=usage.source,
        usage_completeness=usage.completeness.value,
        claimed_cost_usd=usage.claimed_cost_usd,
        reported=ReportedReward(reward=reported.reward, where=reported.where) if reported else None,
        notes=tuple(notes),
    )


def _problems(transcript: Transcript) -> tuple[Problem, ...]:
    ended = transcript.ended
    if ended is None or ended.problem is None:
        return ()
    return (Problem(kind=ended.problem, stage=ended.stage, message=ended.message),)


def _line(note: Note) -> str:
    times = f", {note.count} times" if note.count > 1 else ""
    place = f" (first at {note.index})" if note.index is not None and note.count > 1 else ""
    place = place or (f" (at {note.index})" if note.index is not None else "")
    return f"{note.kind}: {note.text}{times}{place}"


def _times(transcript: Transcript) -> Iterator[float]:
    said = (message.time for message in transcript.messages)
    called = (call.time for call in transcript.calls)
    answered = (call.result.time for call in transcript.calls if call.result is not None)
    marked = (mark.time for mark in transcript.marks)
    yield from (time for time in chain(said, called, answered, marked) if time is not None)


def _in_one_go(transcript: Transcript) -> bool:
    """Whether all of the time was the agent's: nobody resumed it, or took a turn in between."""
    kinds = [mark.kind for mark in transcript.marks if mark.thread == MAIN]
    return MarkKind.RESUME not in kinds and kinds.count(MarkKind.TURN) <= 1


def _moment(seconds: float | None) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds is not None else None
