"""What a run's transcript shows, from whichever log it left."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from loopscope.evidence.annotated import seen_in_steps
from loopscope.evidence.events import Seen
from loopscope.evidence.inputs import lost_native
from loopscope.evidence.shellseen import seen_in_transcript
from loopscope.models import TaskFacts
from loopscope.models.evaluator import Evaluator
from loopscope.records import RunDir
from loopscope.transcripts import atif, formats, serial
from loopscope.transcripts.atif_steps import read_tool_steps
from loopscope.transcripts.canonical import Transcript
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.harbor import agent_log


@dataclass(frozen=True)
class RunLog:
    """A run's transcript as events."""

    seen: Seen
    annotated: bool
    """Its steps say of themselves what they are."""


def run_log(run: RunDir, facts: TaskFacts, evaluator: Evaluator | None) -> tuple[RunLog | None, tuple[str, ...]]:
    """(what the transcript shows, or None without a readable one; what could not be read, in words).

    An imported run has its canonical transcript. Else steps that say what they are come first, then the harness's own
    log, then the transcript that Harbor makes of it. Files of no known format beside them (plain output) are no loss.
    """
    warnings: list[str] = []
    if os.path.lexists(run.canonical):
        try:
            return _told(serial.load(run.canonical), facts, evaluator), ()
        except TranscriptError as error:
            return None, (_not_read(run, error),)
    steps = read_tool_steps(run.transcript)
    if steps and any(step.annotation is not None for step in steps):
        return RunLog(seen_in_steps(steps, evaluator), True), ()
    if is_lost(run):
        warnings.append("the agent's own log was removed before evidence was made of it: it is made without")
    for path, look in ((run.path / "native", agent_log), (run.transcript, _atif)):
        found, broken = look(path) if path.exists() else ([], None)
        warnings += [_not_read(run, broken)] if broken else []
        if not found:
            continue
        if len(found) > 1:
            warnings.append(f"{path.name} holds {len(found)} sessions; the one with the most calls was read")
        most = max(found, key=lambda item: len(item.calls))
        return _told(most, facts, evaluator), tuple(warnings)
    if steps is not None:
        seen = replace(Seen(), tool_calls=len(steps))
        return RunLog(seen, True), tuple(warnings)
    return None, tuple(warnings)


def is_lost(run: RunDir) -> bool:
    """Whether the log that a run's evidence would be read from was removed on purpose.

    Raises:
        RecordError: the manifest, or the note of what was removed, cannot be read.
    """
    if not lost_native(run) or os.path.lexists(run.canonical):
        return False
    return not any(step.annotation is not None for step in read_tool_steps(run.transcript) or ())


def _atif(path: Path) -> tuple[list[Transcript], TranscriptError | None]:
    try:
        return list(formats.read(path, atif.NAME)), None
    except TranscriptError as error:
        return [], error


def _not_read(run: RunDir, error: TranscriptError) -> str:
    """Without the place of the study: tables of equal studies are equal, wherever they lie."""
    return f"transcript not read: {error}".replace(f"{run.path}/", "")


def _told(transcript: Transcript, facts: TaskFacts, evaluator: Evaluator | None) -> RunLog:
    editable = facts.editable or (evaluator.editable if evaluator is not None else ())
    return RunLog(seen_in_transcript(transcript, editable, evaluator), False)
