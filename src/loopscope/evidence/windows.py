"""What an agent did between commits: builds, code failures, distinct candidates, from the steps of its transcript."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from loopscope.models.annotation import StepKind, StepStatus
from loopscope.transcripts.atif import ToolStep


@dataclass
class Window:
    """The transcript segment that ends with one commit."""

    builds: int = 0
    build_failures: int = 0
    env_failures: int = 0
    candidates: set[tuple[str, str]] = field(default_factory=set)
    """Distinct (state, evaluation command) pairs."""
    evaluated_before_commit: bool = False
    """The state that was committed had been evaluated by then, in this window or earlier."""

    def join(self, other: Window) -> Window:
        """The segment of both; `other` is the later one."""
        return Window(
            self.builds + other.builds,
            self.build_failures + other.build_failures,
            self.env_failures + other.env_failures,
            self.candidates | other.candidates,
            other.evaluated_before_commit,
        )


def windows(steps: Iterable[ToolStep], known: frozenset[str]) -> dict[str, Window]:
    """Windows by commit sha, for the commits that the transcript names and the repository holds (`known`).

    Only annotated steps count. The steps after the last commit belong to no window.
    """
    found: dict[str, Window] = {}
    current, evaluated = Window(), set[str]()
    for step in steps:
        note = step.annotation
        if note is None:
            continue
        if note.status is StepStatus.ENV_FAILURE:
            current.env_failures += 1
        elif note.kind is StepKind.BUILD or note.status is StepStatus.CODE_FAILURE:
            # An evaluation that builds by itself and fails to is a failed build.
            current.builds += 1
            current.build_failures += note.status is StepStatus.CODE_FAILURE
        elif note.kind is StepKind.EVALUATE and note.state:
            current.candidates.add((note.state, step.command))
            evaluated.add(note.state)
        elif note.kind is StepKind.COMMIT and note.commit in known and note.commit is not None:
            current.evaluated_before_commit = note.state in evaluated
            found[note.commit] = current
            current = Window()
    return found
