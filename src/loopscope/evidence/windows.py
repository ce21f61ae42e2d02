"""What an agent did between commits and on each state: builds, code failures, candidates, from its transcript."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from loopscope.models.annotation import StepAnnotation, StepKind, StepStatus
from loopscope.transcripts.atif_steps import ToolStep

_COMPILER = r"(?:gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?|make|cmake|ninja|cargo|rustc|go build|javac|nvcc)"
_BUILDS = re.compile(rf"(?:^|[;&|(]\s*){_COMPILER}(?:\s|$)", re.M)
"""A command that starts a build tool, or an output that echoes one."""


@dataclass
class Counts:
    """Builds and evaluations of some steps."""

    builds: int = 0
    """Build steps, and evaluations that are known to build."""
    build_failures: int = 0
    env_failures: int = 0
    perhaps_builds: bool = False
    """An evaluation is among them of which nothing shows whether it builds."""
    candidates: set[tuple[str, str]] = field(default_factory=set)
    """Distinct (state, evaluation command) pairs."""

    @property
    def known_builds(self) -> int | None:
        """b; None where it may be more."""
        return None if self.perhaps_builds else self.builds

    def add(self, note: StepAnnotation, command: str, builds: bool | None) -> None:
        """Count one step. `builds`: whether the command is known to build (True) or not to (False)."""
        if note.status is StepStatus.ENV_FAILURE:
            self.env_failures += 1
            return
        failed = note.status is StepStatus.CODE_FAILURE
        evaluates = note.kind is StepKind.EVALUATE
        self.builds += note.kind is StepKind.BUILD or failed or (evaluates and builds is True)
        self.build_failures += failed
        self.perhaps_builds |= evaluates and not failed and builds is None
        if evaluates and note.state and not failed:
            self.candidates.add((note.state, command))

    def join(self, other: Counts) -> Counts:
        """The counts of both."""
        return Counts(
            self.builds + other.builds,
            self.build_failures + other.build_failures,
            self.env_failures + other.env_failures,
            self.perhaps_builds or other.perhaps_builds,
            self.candidates | other.candidates,
        )


@dataclass(frozen=True)
class Window:
    """The transcript segment that ends with one commit."""

    counts: Counts
    evaluated_before_commit: bool
    """The state that was committed had been evaluated by then, in this window or earlier."""
    by_state: Counts | None
    """All steps of the run on the artifact that was committed; None where the commit's state is unknown."""


def windows(steps: Sequence[ToolStep], known: frozenset[str]) -> dict[str, Window]:
    """Windows by commit sha, for the commits that the transcript names and the repository holds (`known`).

    Only annotated steps count. The steps after the last commit belong to no window, but to their state.
    """
    noted = [(step.command, step.annotation) for step in steps if step.annotation is not None]
    building = _building_commands(steps)
    found: dict[str, tuple[Counts, bool, str | None]] = {}
    states: dict[str, Counts] = {}
    current, evaluated = Counts(), set[str]()
    for command, note in noted:
        builds = building.get(command)
        current.add(note, command, builds)
        if note.state:
            states.setdefault(note.state, Counts()).add(note, command, builds)
        if note.status is StepStatus.ENV_FAILURE or note.status is StepStatus.CODE_FAILURE:
            continue
        if note.kind is StepKind.EVALUATE and note.state:
            evaluated.add(note.state)
        elif note.kind is StepKind.COMMIT and note.commit in known and note.commit is not None:
            found[note.commit] = (current, note.state in evaluated, note.state)
            current = Counts()
    return {
        sha: Window(counts, before, states.get(state) if state else None)
        for sha, (counts, before, state) in found.items()
    }


def _building_commands(steps: Sequence[ToolStep]) -> dict[str, bool]:
    """Evaluation commands by whether they build; those of which nothing shows it are absent.

    A command builds if it starts a build tool, echoes one, or has once failed to compile. Where the run builds in steps
    of their own, its other evaluations do not.
    """
    evaluations: dict[str, bool] = {}
    separate = False
    for step in steps:
        note = step.annotation
        if note is None:
            continue
        separate |= note.kind is StepKind.BUILD
        if note.kind is StepKind.EVALUATE:
            shown = (
                note.status is StepStatus.CODE_FAILURE or _BUILDS.search(step.command) or _BUILDS.search(step.output)
            )
            evaluations[step.command] = evaluations.get(step.command, False) or bool(shown)
    return {command: builds for command, builds in evaluations.items() if builds or separate}
