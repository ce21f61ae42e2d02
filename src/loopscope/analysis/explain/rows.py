"""Checkpoints as explanations name them, and what the transcript shows between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from loopscope.analysis.explain.told import BuildTold, CandidateTold, EvaluationTold
from loopscope.analysis.runs import CommitRow, RunAnalysis
from loopscope.models import BuildStatus, EvaluationStatus, Moment


@dataclass(frozen=True)
class Told:
    """A run, with what stands between its commits at hand."""

    run: RunAnalysis

    @cached_property
    def canonical(self) -> list[tuple[int, CommitRow]]:
        """(position among all commits, checkpoint) of those that passed the gate; x_i is entry i - 1."""
        return [(at, row) for at, row in enumerate(self.run.rows) if row.canonical_index is not None]

    @staticmethod
    def name(row: CommitRow) -> str:
        """`x_3` for the third canonical checkpoint."""
        return f"x_{row.canonical_index + 1}" if row.canonical_index is not None else row.sha

    def positions(self, position: int) -> range:
        """The commits whose segments a window joins: its own, and those of removed ones directly before it."""
        first = position
        while first > 0 and not self.run.rows[first - 1].evidence.canonical:
            first -= 1
        return range(first, position + 1)

    @cached_property
    def builds(self) -> dict[int | None, list[BuildTold]]:
        """By the commit whose segment they are in; None behind the last."""
        found: dict[int | None, list[BuildTold]] = {}
        for number, seen in enumerate(self.run.evidence.builds):
            found.setdefault(seen.checkpoint, []).append(BuildTold(number=number, seen=seen))
        return found

    @cached_property
    def evaluations(self) -> dict[int | None, list[EvaluationTold]]:
        """By the commit whose segment they are in; None behind the last."""
        found: dict[int | None, list[EvaluationTold]] = {}
        for number, seen in enumerate(self.run.evidence.evaluations):
            found.setdefault(seen.checkpoint, []).append(EvaluationTold(number=number, seen=seen))
        return found

    def builds_of(self, position: int) -> tuple[BuildTold, ...]:
        """All builds in the window of a commit."""
        return tuple(build for at in self.positions(position) for build in self.builds.get(at, ()))

    def failures_of(self, position: int) -> tuple[BuildTold, ...]:
        """Those that n counts."""
        return tuple(told for told in self.builds_of(position) if is_failure(told))

    def evaluations_of(self, position: int) -> tuple[EvaluationTold, ...]:
        """All evaluations in the window of a commit."""
        return tuple(told for at in self.positions(position) for told in self.evaluations.get(at, ()))

    def candidates_of(self, position: int) -> tuple[CandidateTold, ...]:
        """The distinct pairs of state and command in the window of a commit, in order of their first run."""
        pairs: dict[tuple[str, str], list[Moment]] = {}
        for told in self.evaluations_of(position):
            seen = told.seen
            if seen.counted and seen.state is not None and seen.status is not EvaluationStatus.ENVIRONMENT_FAILURE:
                pairs.setdefault((seen.state, seen.command), []).append(seen.at)
        return tuple(
            CandidateTold(state=state, command=command, at=tuple(at)) for (state, command), at in pairs.items()
        )


def is_failure(told: BuildTold) -> bool:
    """A build that n counts."""
    return told.seen.counted and told.seen.status is BuildStatus.CODE_FAILURE
