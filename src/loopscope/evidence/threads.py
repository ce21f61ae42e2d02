"""One thread of a transcript, read: its shell calls, and what they and the edits show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loopscope.evidence.artifact.budget import Budget
from loopscope.evidence.artifact.scope import ArtifactScope
from loopscope.evidence.artifact.states import Findings, track
from loopscope.evidence.artifact.timeline import Timeline
from loopscope.evidence.shell.builds import BuildFinding, find_builds
from loopscope.evidence.shell.calls import ShellCall, shell_calls
from loopscope.evidence.shell.commit_types import CommitFinding
from loopscope.evidence.shell.commits import find_commits
from loopscope.evidence.shell.evaluations import EvaluationFinding, find_evaluations
from loopscope.evidence.shell.rules import EvaluationRule
from loopscope.evidence.unfitted import find_unfitted
from loopscope.transcripts.canonical import Call, Transcript


@dataclass(frozen=True)
class Thread:
    """One thread, read."""

    name: str
    calls: Sequence[Call]
    shells: Sequence[ShellCall]
    commits: Sequence[CommitFinding]
    builds: Sequence[BuildFinding]
    evaluations: Sequence[EvaluationFinding]
    unfitted: Sequence[EvaluationFinding]
    """Runs that look like evaluations and fit no rule."""
    timeline: Timeline


def read_thread(
    transcript: Transcript, name: str, scope: ArtifactScope, rules: Sequence[EvaluationRule], budget: Budget
) -> Thread:
    """Read one thread. `rules` say what evaluates a solution; `budget` is the run's, which all its threads share."""
    calls = transcript.calls_of(name)
    shells = shell_calls(calls, transcript.source.cwd)
    commits = find_commits(shells)
    builds = find_builds(shells, scope)
    evaluations = find_evaluations(shells, rules, builds, scope)
    unfitted = find_unfitted(shells, rules, builds, evaluations)
    timeline = track(calls, shells, scope, Findings(commits, builds, [*evaluations, *unfitted], rules), budget)
    return Thread(name, calls, shells, commits, builds, evaluations, unfitted, timeline)


def state_name(state: int | None) -> str | None:
    """How a state is called in evidence."""
    return None if state is None else f"s{state}"
