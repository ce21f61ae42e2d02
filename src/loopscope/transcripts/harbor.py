"""Read Harbor's directories: a job with its trials, or one trial.

Of a trial the agent's own session log is read where there is one, since it says most; else Harbor's `trajectory.json`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from loopscope.transcripts import atif, claude_session, claude_stream, codex, kimi, opencode_db
from loopscope.transcripts.canonical import Ended, Note, NoteKind, Reported, Transcript
from loopscope.transcripts.endings import ended_in_result
from loopscope.transcripts.errors import TranscriptError
from loopscope.transcripts.files import is_file, is_folder, listed, walked, whole
from loopscope.transcripts.glimpse import Glimpse
from loopscope.transcripts.parsing import parse
from loopscope.transcripts.reader import SURE, Reader
from loopscope.transcripts.rewards import reward_in, reward_in_result
from loopscope.transcripts.shapes import rows, short, table

NAME = "harbor"

_NATIVE: tuple[Reader, ...] = (claude_session, codex, kimi)
_MAX_RESULT = 64 << 20


def sniff(glimpse: Glimpse) -> float | None:
    """A trial (it has `agent` and a result or configuration), or a directory with trials."""
    path = glimpse.path
    if not glimpse.is_folder:
        return None
    return SURE if _is_trial(path) or any(map(_is_trial, listed(path))) else None


def read(path: Path) -> Iterator[Transcript]:
    """The transcripts of all trials, each with its task's and trial's name.

    Raises:
        TranscriptError: there is no trial, or none with a log; of a single trial also, after the others, that some of
            its sessions could not be read.
    """
    trials = [path] if _is_trial(path) else [folder for folder in listed(path) if _is_trial(folder)]
    if not trials:
        raise TranscriptError(path, "holds no trial of Harbor", "give a job's or a trial's directory")
    found = 0
    refused: TranscriptError | None = None
    for trial in trials:
        try:
            for transcript in _trial(trial):
                found += 1
                yield transcript
        except TranscriptError as error:
            refused = error
    if refused and trials == [path]:
        raise refused
    if not found:
        raise refused or TranscriptError(path, "has trials, but no agent left a log", "look into their agent/ folders")


def _is_trial(path: Path) -> bool:
    if not is_folder(path) or not (is_folder(path / "agent") or is_folder(path / "steps")):
        return False
    return any(is_file(path / name) for name in ("result.json", "config.json", "results.json", "lock.json"))


def _trial(trial: Path) -> Iterator[Transcript]:
    about = _result(trial)
    folders = [trial / "agent"] if is_folder(trial / "agent") else []
    folders += [step / "agent" for step in listed(trial / "steps") if is_folder(step / "agent")]
    for folder in folders:
        reported = _reported(trial, folder, about if len(folders) == 1 else {})
        ended = ended_in_result(about if folder.parent == trial else _step(about, folder.parent.name))
        found, broken = agent_log(folder)
        for transcript in found:
            yield _judged(_named(transcript, about, trial, folder), reported, ended, several=len(found) > 1)
        if broken:
            raise broken


def _reported(trial: Path, folder: Path, result: Mapping[str, Any]) -> Reported | None:
    """The reward of the trial, or of the step whose agent's folder it is, as Harbor's verifier left it there."""
    verifier = folder.parent / "verifier"
    return reward_in_result(result) or reward_in(verifier, str(verifier.relative_to(trial)))


def _step(result: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The result of one step of a trial."""
    steps = map(table, rows(result.get("step_results")))
    return next((step for step in steps if step.get("step_name") == name), {})


def _judged(transcript: Transcript, reported: Reported | None, ended: Ended | None, *, several: bool) -> Transcript:
    """The transcript with its trial's reward and end. Of several sessions nobody can say whose they are."""
    if not several:
        return replace(transcript, reported=reported, ended=ended)
    what = {"reward": reported, "end": ended}
    notes = (
        Note(NoteKind.SKIPPED, f"the trial's {name}, which is that of several sessions together")
        for name, value in what.items()
        if value is not None
    )
    return replace(transcript, notes=(*transcript.notes, *notes))


def agent_log(folder: Path) -> tuple[list[Transcript], TranscriptError | None]:
    """(the sessions of the best log of an agent's folder, what could not be read of it)."""
    first: TranscriptError | None = None
    for read in _candidates(folder):
        found, broken = [], None
        try:
            for transcript in read:
                found.append(transcript)
        except TranscriptError as error:
            broken = error
        if found:
            return found, broken
        first = first or broken
    return [], first


def _candidates(folder: Path) -> Iterator[Iterator[Transcript]]:
    for reader in _NATIVE:
        if reader.sniff(Glimpse(folder)):
            yield reader.read(folder)
    for path in walked(folder, depth=6):
        if path.suffix == ".db" and path.name.startswith("opencode") and opencode_db.sniff(Glimpse(path)):
            yield opencode_db.read(path)
    if is_file(folder / "trajectory.json"):
        yield atif.read(folder / "trajectory.json")
    for path in listed(folder):
        if path.suffix in (".txt", ".jsonl") and claude_stream.sniff(Glimpse(path)):
            yield claude_stream.read(path)


def _result(trial: Path) -> Mapping[str, Any]:
    for name in ("result.json", "results.json", "config.json"):
        if is_file(trial / name):
            try:
                parsed = parse(whole(trial / name, _MAX_RESULT))
            except TranscriptError:
                continue
            if parsed and isinstance(parsed.value, dict):
                return table(parsed.value)
    return {}


def _named(transcript: Transcript, about: Mapping[str, Any], trial: Path, folder: Path) -> Transcript:
    """The transcript with what Harbor knows of it."""
    agent = table(about.get("agent_info"))
    model = table(agent.get("model_info"))
    source = transcript.source
    prefix = str(folder.relative_to(trial))
    named = replace(
        source,
        agent=source.agent or short(agent.get("name")),
        agent_version=source.agent_version or short(agent.get("version")),
        model=source.model or short(model.get("name")),
        task=short(about.get("task_name")) or source.task,
        trial=short(about.get("trial_name")) or trial.name[:200],
        files={thread: f"{prefix}/{file}" for thread, file in source.files.items()},
    )
    notes = transcript.notes
    if not about:
        notes = (*notes, Note(NoteKind.DANGLING, "the trial has no readable result"))
    return replace(transcript, source=named, notes=notes)
