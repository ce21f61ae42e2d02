"""What an agent did between commits and on each state: builds, code failures, candidates. The one place that counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from loopscope.evidence.events import Place, Seen
from loopscope.models import BuildSeen, BuildStatus, EvaluationSeen, EvaluationStatus

_ENVIRONMENT = (BuildStatus.ENVIRONMENT_FAILURE, EvaluationStatus.ENVIRONMENT_FAILURE)


@dataclass
class Counts:
    """Builds and evaluations of some part of a run."""

    builds: int = 0
    """Build invocations, evaluations that are known to build among them."""
    build_failures: int = 0
    env_failures: int = 0
    perhaps_builds: bool = False
    """An evaluation is among them of which nothing shows whether it builds."""
    candidates: set[tuple[str, str]] = field(default_factory=set)
    """Distinct (state, evaluation command) pairs."""
    items: list[BuildSeen | EvaluationSeen] = field(default_factory=list)
    """What was counted."""

    @property
    def known_builds(self) -> int | None:
        """b; None where it may be more."""
        return None if self.perhaps_builds else self.builds

    def add(self, item: BuildSeen | EvaluationSeen) -> None:
        """Count one. A failure of the environment counts for nothing else."""
        self.items.append(item)
        if item.status in _ENVIRONMENT:
            self.env_failures += 1
        elif isinstance(item, BuildSeen):
            self.builds += item.counted
            self.build_failures += item.counted and item.status is BuildStatus.CODE_FAILURE
        else:
            self.perhaps_builds |= item.builds is None
            if item.counted and item.state is not None:
                self.candidates.add((item.state, item.command))

    def join(self, other: Counts) -> Counts:
        """The counts of both."""
        return Counts(
            self.builds + other.builds,
            self.build_failures + other.build_failures,
            self.env_failures + other.env_failures,
            self.perhaps_builds or other.perhaps_builds,
            self.candidates | other.candidates,
            self.items + other.items,
        )


@dataclass(frozen=True)
class Window:
    """The transcript segment that ends with one commit."""

    counts: Counts
    evaluated_before_commit: bool | None
    """The state that was committed had been evaluated by then, with whatever flags; None where it is not known."""
    by_state: Counts | None
    """All on the artifact that was committed, with whatever flags; None where the state is unknown."""


def windows(seen: Seen, boundaries: Mapping[int, str]) -> dict[str, Window]:
    """Windows by commit, for the commits that bound one.

    What follows the last boundary belongs to no window, but to its state; what a subagent did while nobody knows which
    window was open, likewise.

    Args:
        seen: the run.
        boundaries: positions among its commits, each with the name by which the window is wanted.
    """
    marks: list[tuple[Place, int, str]] = []
    for position, name in boundaries.items():
        place = seen.place(seen.commits[position].at)
        if place is not None:
            marks.append((place, position, name))
    marks.sort()
    items = sorted(_placed(seen), key=lambda pair: pair[0])
    states = _by_state(seen)
    found: dict[str, Window] = {}
    evaluated: set[str] = set()
    at = 0
    for place, position, name in marks:
        counts = Counts()
        while at < len(items) and items[at][0] < place:
            item = items[at][1]
            counts.add(item)
            if isinstance(item, EvaluationSeen) and item.counted and item.state is not None:
                evaluated.add(seen.variants.get(item.state, item.state))
            at += 1
        state = seen.commits[position].state
        before = state in evaluated if state is not None else None
        found[name] = Window(counts, before, states.get(state, Counts()) if state is not None else None)
    return found


def _placed(seen: Seen) -> Iterable[tuple[Place, BuildSeen | EvaluationSeen]]:
    for item in _items(seen):
        place = seen.place(item.at)
        if place is not None:
            yield place, item


def _by_state(seen: Seen) -> dict[str, Counts]:
    states: dict[str, Counts] = {}
    for item in _items(seen):
        if item.state is not None:
            states.setdefault(seen.variants.get(item.state, item.state), Counts()).add(item)
    return states


def _items(seen: Seen) -> list[BuildSeen | EvaluationSeen]:
    return [*seen.builds, *seen.evaluations]
