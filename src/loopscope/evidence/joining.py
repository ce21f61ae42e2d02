"""Windows and items by checkpoint: the segment of a commit that the gate removed joins the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, TypeVar

from loopscope.evidence.events import Seen
from loopscope.evidence.windows import Counts, Window
from loopscope.models import BuildSeen, EvaluationSeen

_Item = TypeVar("_Item", BuildSeen, EvaluationSeen)


class Counted(TypedDict, total=False):
    """The columns of `CheckpointEvidence` that count; none of them where nothing is joined to a checkpoint."""

    builds: int | None
    build_failures: int | None
    env_failures: int | None
    candidates: int | None
    evaluated_before_commit: bool | None
    builds_by_state: int | None
    build_failures_by_state: int | None
    candidates_by_state: int | None


@dataclass(frozen=True)
class Joined:
    """What a checkpoint's window holds."""

    window: Window
    counts: Counts
    """Its own segment and those of removed commits before it."""

    def fields(self) -> Counted:
        """The columns of `CheckpointEvidence` that count."""
        state = self.window.by_state
        return {
            "builds": self.counts.known_builds,
            "build_failures": self.counts.build_failures,
            "env_failures": self.counts.env_failures,
            "candidates": len(self.counts.candidates),
            "evaluated_before_commit": self.window.evaluated_before_commit,
            "builds_by_state": state.known_builds if state else None,
            "build_failures_by_state": state.build_failures if state else None,
            "candidates_by_state": len(state.candidates) if state else None,
        }


def join(windows: Mapping[str, Window], names: Sequence[str], kept: Sequence[bool]) -> list[Joined | None]:
    """What each checkpoint's window holds, in order; None for one that the transcript does not show."""
    found: list[Joined | None] = []
    carried = Counts()
    for name, keep in zip(names, kept, strict=True):
        window = windows.get(name)
        if window is None:
            found.append(None)
            continue
        counts = carried.join(window.counts)
        carried = Counts() if keep else counts
        found.append(Joined(window, counts))
    return found


def with_checkpoints(
    seen: Seen, joined: Sequence[Joined | None], kept: Sequence[bool]
) -> tuple[tuple[BuildSeen, ...], tuple[EvaluationSeen, ...]]:
    """Builds and evaluations with the position of the retained checkpoint whose window counts them."""
    position: dict[int, int] = {}
    for at, (part, keep) in enumerate(zip(joined, kept, strict=True)):
        if part is not None and keep:
            position.update((id(item), at) for item in part.counts.items)

    def placed(items: Sequence[_Item]) -> tuple[_Item, ...]:
        return tuple(
            item if (at := position.get(id(item))) is None else item.model_copy(update={"checkpoint": at})
            for item in items
        )

    return placed(seen.builds), placed(seen.evaluations)
