"""What a run's transcript shows, from whichever log it left."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from loopscope.evidence.annotated import seen_in_steps
from loopscope.evidence.events import Seen
from loopscope.evidence.shellseen import seen_in_transcript
from loopscope.models import TaskFacts
from loopscope.models.evaluator import Evaluator
from loopscope.records import RunDir
from loopscope.transcripts import atif, formats, serial
from loopscope.transcripts.atif_steps import read_tool_steps
from loopscope.transcripts.canonical import Transcript
from loopscope.transcripts.errors import TranscriptError


@dataclass(frozen=True)
class RunLog:
    """A run's transcript as events."""

    seen: Seen
    annotated: bool
    """Its steps say of themselves what they are."""


def run_log(run: RunDir, facts: TaskFacts, evaluator: Evaluator | None) -> tuple[RunLog | None, tuple[str, ...]]:
    """(what the transcript shows, or None without a readable one; what could not be read, in words).

    An imported run has its canonical transcript. Else steps that say what they are come first, then the harness's own
    log, then the transcript that Harbor makes of it.
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
    native = run.path / "native"
    for path, format in ((native, None), (run.transcript, atif.NAME)):
        if not path.exists():
            continue
        try:
            found = list(formats.read(path, format))
        except TranscriptError as error:
            warnings.append(_not_read(run, error))
            continue
        # What could not be read before is no loss, now that another log of the run can.
        several = f"{path.name} holds {len(found)} sessions; the one with the most calls was read"
        most = max(found, key=lambda item: len(item.calls))
        return _told(most, facts, evaluator), (several,) if len(found) > 1 else ()
    if steps is not None:
        seen = replace(Seen(), tool_calls=len(steps))
        return RunLog(seen, True), tuple(warnings)
    return None, tuple(warnings)


def _not_read(run: RunDir, error: TranscriptError) -> str:
    """Without the place of the study: tables of equal studies are equal, wherever they lie."""
    return f"transcript not read: {error}".replace(f"{run.path}/", "")


def _told(transcript: Transcript, facts: TaskFacts, evaluator: Evaluator | None) -> RunLog:
    editable = facts.editable or (evaluator.editable if evaluator is not None else ())
    return RunLog(seen_in_transcript(transcript, editable, evaluator), False)
