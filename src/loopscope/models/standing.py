"""Whether the agents of one aggregate can be ranked: only by the same kind of scores on the same tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from loopscope.models.study_rows import OutcomeRow


@dataclass(frozen=True)
class Standing:
    """What the averages of an aggregate may be compared by."""

    same_tasks: bool
    """Every agent that has a score has one on the same tasks."""
    same_kinds: bool
    """Their scores are of the same kinds: official, reconstructed, reported."""
    common: int
    """Tasks on which all of them have a score."""
    note: str
    """Why nobody is ranked, in sentences; empty where the averages can be compared."""

    @property
    def ranked(self) -> bool:
        """Whether one average above another says that its agent did better."""
        return self.same_tasks and self.same_kinds

    @property
    def by_common(self) -> bool:
        """Whether the averages over the common tasks are to be shown beside the others."""
        return not self.same_tasks and self.common > 0


def standing(rows: Iterable[OutcomeRow]) -> Standing:
    """Of the rows of one category; agents without a score are left out."""
    scored = [row for row in rows if row.avg_at_k is not None]
    kinds = {_kinds(row) for row in scored}
    same_tasks, same_kinds = all(row.n_tasks == row.n_common for row in scored), len(kinds) <= 1
    common = min((row.n_common for row in scored), default=0)
    notes = []
    if not same_tasks:
        counts = sorted({row.n_tasks for row in scored})
        each = f"{counts[0]} to {counts[-1]} tasks each" if len(counts) > 1 else _tasks(counts[0]) + " each"
        over = (
            f"Over the {_tasks(common)} that all of them share, the averages can be compared."
            if common
            else "No task is common to all of them."
        )
        notes.append(f"The agents have scores on different tasks ({each}), so nobody is ranked. {over}")
    if not same_kinds:
        named = ", ".join(sorted({kind for found in kinds for kind in found}))
        notes.append(f"Their scores are of different kinds ({named}): a difference may be one of the kind.")
    return Standing(same_tasks, same_kinds, common, " ".join(notes))


def _kinds(row: OutcomeRow) -> frozenset[str]:
    official = row.n_runs - row.n_reconstructed - row.n_reported
    counts = {"official": official, "reconstructed": row.n_reconstructed, "reported": row.n_reported}
    return frozenset(kind for kind, count in counts.items() if count > 0)


def _tasks(number: int) -> str:
    return f"{number} task" if number == 1 else f"{number} tasks"


def spelled_range(low: int, high: int) -> str:
    """`2`, or `1–3`."""
    return f"{low}" if low == high else f"{low}–{high}"
