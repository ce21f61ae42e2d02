"""The states of an artifact over a run, and what was measured, built and committed in which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from loopscope.evidence.artifact.contents import Files, initial
from loopscope.evidence.artifact.world import Snapshot, unflagged
from loopscope.models.value_types import value_type

Place = tuple[int, int]
"""Position of a call among the thread's calls, and order of a command within its script (-1 for other tools)."""


@value_type
class StateChange:
    """Something that put the artifact into a state, which may be one that it had before."""

    index: int
    """Of the message that called."""
    position: int
    order: int
    state: int
    """Number of the state, in the order of first appearance; 0 is how the run found it."""
    before: int
    files: tuple[str, ...]
    """Artifact files that changed."""
    reason: str
    returned: bool
    """The state had been there before."""
    exact: bool
    """Whether the contents that changed are known in full."""


@value_type
class StateOf:
    """The state that a build, commit or evaluation belongs to."""

    index: int
    position: int
    order: int
    state: int | None
    """None when nothing tells."""
    stale: bool
    """It is not the state that the files were in at that moment."""
    certain: bool
    reason: str


@value_type
class Timeline:
    """All of it, for one thread."""

    states: int
    """How many different states there were, the first included."""
    changes: tuple[StateChange, ...]
    commits: Mapping[Place, StateOf]
    builds: Mapping[Place, StateOf]
    evaluations: Mapping[Place, StateOf]
    variants: Mapping[int, int]
    """States that are files built with other flags than they say: each with the state of the files alone."""


@value_type
class RawChange:
    """A change before states have numbers."""

    index: int
    place: Place
    snapshot: Snapshot
    before: Snapshot
    files: tuple[str, ...]
    reason: str
    exact: bool


@value_type
class RawState:
    """A moment before states have numbers."""

    index: int
    place: Place
    snapshot: Snapshot | None
    present: Snapshot
    certain: bool
    reason: str


def number(
    changes: Iterable[RawChange],
    commits: Iterable[RawState],
    builds: Iterable[RawState],
    evaluations: Iterable[RawState],
    files: Files,
) -> Timeline:
    """Give the states numbers, now that it is known which versions are the same."""
    numbers: dict[Snapshot, int] = {(): 0}

    @cache
    def state(snapshot: Snapshot) -> int:
        same = ((name, files.canonical(id)) for name, id in snapshot)
        key = tuple((name, id) for name, id in same if id != files.canonical(initial(name).id))
        return numbers.setdefault(key, len(numbers))

    found: list[StateChange] = []
    for change in changes:
        before, known = state(change.before), len(numbers)
        after = state(change.snapshot)
        if after != before:
            found.append(
                StateChange(
                    change.index, *change.place, after, before, change.files, change.reason, after < known, change.exact
                )
            )

    variants: dict[int, int] = {}

    def belonging(moments: Iterable[RawState]) -> dict[Place, StateOf]:
        result = {}
        for item in moments:
            own = state(item.snapshot) if item.snapshot is not None else None
            bare = unflagged(item.snapshot) if item.snapshot is not None else None
            plain = own if bare is item.snapshot or bare is None else state(bare)
            stale = plain is not None and bare is not item.present and plain != state(item.present)
            if own is not None and plain is not None and own != plain:
                variants[own] = plain
            result[item.place] = StateOf(item.index, *item.place, own, stale, item.certain, item.reason)
        return result

    of_commits, of_builds, of_evaluations = belonging(commits), belonging(builds), belonging(evaluations)
    return Timeline(len(numbers), tuple(found), of_commits, of_builds, of_evaluations, variants)


def commit_changes(timeline: Timeline, places: Iterable[Place]) -> dict[Place, tuple[bool, bool]]:
    """For each commit whether its artifact differs from the one before, and whether it is that of an earlier one again.

    Args:
        timeline: of the thread.
        places: of the commits that happened, in order.
    """
    found: dict[Place, tuple[bool, bool]] = {}
    before: int | None = 0
    earlier: set[int] = {0}
    for place in places:
        moment = timeline.commits.get(place)
        if moment is None or moment.state is None:
            continue
        differs = moment.state != before
        found[place] = differs, differs and moment.state in earlier
        before = moment.state
        earlier.add(moment.state)
    return found
