"""Whether the agents of one aggregate can be ranked, and which of them can be told apart.

Ranked: only by the same kind of scores on the same tasks. Told apart: only where a comparison found so; everything here
reads what `comparisons.parquet` says, and computes no statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from loopscope.models.interval_rows import ComparisonRow, Finding
from loopscope.models.study_rows import OVERALL, OutcomeRow

RANDOM = "random tasks"
"""The reading that is shown where none is named: the tasks stand for others like them."""
FIXED = "fixed tasks"
"""Just these tasks, other seeds."""
REVERSIBLE = "as far as scores are there; missing ones could reverse it"
"""What is said of a difference that the missing scores could undo."""
UNSEEN = "as far as it was seen; what was not could reverse it"
"""The same of C2, where some checkpoints could not be observed."""
C2 = "c2"
BY_TEST = "by the test alone: nothing differs that would tell how far it spreads"
"""What is said of a difference that was found although its interval holds 0."""
_SWAPPED = {Finding.FIRST_HIGHER: Finding.SECOND_HIGHER, Finding.SECOND_HIGHER: Finding.FIRST_HIGHER}


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
            f"Over the {_tasks(common)} that all of them share, averages are given apart; comparisons say who differs."
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


def chosen_pairs(
    rows: Iterable[ComparisonRow], measure: str = "avg_at_k", category: str = OVERALL, reading: str = RANDOM
) -> tuple[ComparisonRow, ...]:
    """The pairs of agents for one number in one category and reading."""
    return tuple(row for row in rows if (row.measure, row.category, row.reading) == (measure, category, reading))


def seen_from(row: ComparisonRow, agent: str) -> ComparisonRow:
    """The comparison with `agent` as the first of the two; `verdict` names both and stays."""
    if row.first == agent:
        return row
    return replace(
        row,
        first=row.second,
        second=row.first,
        difference=_less(row.difference),
        low=_less(row.high),
        high=_less(row.low),
        wins=row.losses,
        losses=row.wins,
        d_z=_less(row.d_z),
        superiority=_other(row.superiority),
        p_above=_other(row.p_above),
        missing_low=_less(row.missing_high),
        missing_high=_less(row.missing_low),
        outer_low=_less(row.outer_high),
        outer_high=_less(row.outer_low),
        finding=_SWAPPED.get(Finding(row.finding), Finding(row.finding)).value,
    )


def _less(value: float | None) -> float | None:
    return None if value is None else 0.0 - value


def _other(share: float | None) -> float | None:
    return None if share is None else 1 - share


def ordered_pairs(agents: Sequence[str], pairs: Iterable[ComparisonRow]) -> tuple[ComparisonRow, ...]:
    """Each pair seen from the agent that stands first in `agents`, in their order; unknown agents are left out."""
    at = {agent: index for index, agent in enumerate(agents)}
    seen = [
        seen_from(row, min(row.first, row.second, key=at.__getitem__))
        for row in pairs
        if row.first in at and row.second in at
    ]
    return tuple(sorted(seen, key=lambda row: (at[row.first], at[row.second])))


def reversible(row: ComparisonRow) -> bool:
    """Whether a difference was found that what is missing could undo or turn round."""
    return row.reversible


def by_test_alone(row: ComparisonRow) -> bool:
    """Whether a difference was found by the test alone: the interval, of nothing that differs, holds 0."""
    return row.finding in _SWAPPED and row.low is not None and row.high is not None and row.low <= 0 <= row.high


def holds(row: ComparisonRow) -> str:
    """With how much reserve a difference that was found is to be told; empty without any."""
    return "".join(
        f", {words}"
        for words, said in (
            (BY_TEST, by_test_alone(row)),
            (UNSEEN if row.measure == C2 else REVERSIBLE, reversible(row)),
        )
        if said
    )


def told_apart(row: ComparisonRow) -> bool:
    """Whether a difference was found that stands whatever the missing scores are."""
    return row.finding in _SWAPPED and not reversible(row)


def places(agents: Iterable[str], pairs: Iterable[ComparisonRow]) -> dict[str, tuple[int, int]]:
    """Best and worst place of each agent: only who was told apart and is higher stands above it, and so below."""
    names = tuple(agents)
    above, below = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for row in pairs:
        if row.first not in above or row.second not in above or not told_apart(row):
            continue
        high, low = (row.first, row.second) if row.finding == Finding.FIRST_HIGHER else (row.second, row.first)
        above[low] += 1
        below[high] += 1
    return {name: (1 + above[name], len(names) - below[name]) for name in names}


def not_below(first: str, agents: Iterable[str], pairs: Iterable[ComparisonRow]) -> tuple[str, ...]:
    """The agents that no comparison found lower than the first, whatever the missing scores are."""
    lower = {row.second for row in (seen_from(r, first) for r in pairs if first in (r.first, r.second))
             if row.finding == Finding.FIRST_HIGHER and told_apart(row)}  # fmt: skip
    return tuple(agent for agent in agents if agent != first and agent not in lower)


def just_these(pairs: Sequence[ComparisonRow], number: str, name: Callable[[str], str] = str, most: int = 3) -> str:
    """What the other reading says of each pair, with its numbers; of more than `most`, those at the end in sum.

    Args:
        pairs: for fixed tasks, seen from the agent that stands above.
        number: what was compared, as people call it.
        name: makes a label fit for the place where the sentence is shown.
        most: pairs that are told one by one.
    """
    pairs = [row for row in pairs if row.finding != Finding.NOTHING]
    if not pairs:
        return ""
    begin = "On just these tasks, with other seeds"
    if len(pairs) > 1 and all(row.finding == Finding.TOO_FEW for row in pairs):
        reasons = dict.fromkeys(too_few(row) for row in pairs)
        return f"{begin}, no pair could have been told apart: {'; '.join(reasons)}."
    said = [pair_words(row, number, name) for row in pairs[:most]]
    if rest := pairs[most:]:
        said.append(f"of {len(rest)} more pairs {sum(map(told_apart, rest))} can be told apart")
    return f"{begin}: {'; '.join(said)}."


def pair_words(row: ComparisonRow, number: str, name: Callable[[str], str] = str) -> str:
    """What a comparison says: `no evidence of a difference between A and B (avg@3: +0.03 [-0.05, 0.11], p 0.4, ...)`.

    Args:
        row: the comparison.
        number: what was compared, as people call it.
        name: makes a label fit for the place where the line is shown.
    """
    first, second = name(row.first), name(row.second)
    if row.finding == Finding.NOTHING or row.difference is None:
        return f"{first} and {second}: nothing to compare, no task has a number of both"
    facts = [f"{number}: {spelled_difference(row)}"]
    if row.finding != Finding.TOO_FEW and row.p_adjusted is not None:
        facts.append(spelled_p(row.p_adjusted))
    facts.append(_tasks(row.n_tasks))
    if possible := spelled_possible(row):
        facts.append(f"whatever is missing: {possible}")
    return f"{_found(row, first, second)} ({', '.join(facts)})"


def _found(row: ComparisonRow, first: str, second: str) -> str:
    if row.finding in _SWAPPED:
        verb = "higher" if row.finding == Finding.FIRST_HIGHER else "lower"
        return f"{first} is {verb} than {second}{holds(row)}"
    words = f"no evidence of a difference between {first} and {second}"
    return f"{words}; {too_few(row)}" if row.finding == Finding.TOO_FEW else words


def too_few(row: ComparisonRow) -> str:
    """Why nothing could be found, whatever the difference: as p is corrected, or as there is no interval."""
    if row.low is None or row.p_least is None:
        why, *_ = (row.guard or "nothing tells how far such numbers spread").split("; ")  # the interval's stands first
        return why
    what = "tasks" if row.reading == RANDOM else "seeds"
    among = f"with {row.family} comparisons " if row.family > 1 else ""
    least = min(1.0, max(row.family, 1) * row.p_least)
    return f"too few {what} for any result to be significant: {among}p cannot be below {least:.3g}"


def spelled_possible(row: ComparisonRow, show: Callable[[float], str] | None = None) -> str:
    """`[-0.19, 0.48]`: where the difference lies whatever the missing scores are; empty where none is missing."""
    if row.missing_low is None or row.missing_high is None:
        return ""
    return spelled_interval(row.missing_low, row.missing_high, show)


def spelled_difference(row: ComparisonRow) -> str:
    """`+0.03 [-0.05, 0.11]`."""
    if row.difference is None:
        return "none"
    return f"{_rounded(row.difference):+.2f} {spelled_interval(row.low, row.high)}"


def spelled_interval(low: float | None, high: float | None, show: Callable[[float], str] | None = None) -> str:
    """`[0.21, 0.38]`, or that there is none."""
    if low is None or high is None:
        return "[no interval]"
    spell = show or _two
    return f"[{spell(low)}, {spell(high)}]"


def spelled_p(p: float) -> str:
    """`p 0.04`."""
    return "p < 0.001" if p < 0.001 else f"p {p:.1g}" if p < 0.01 else f"p {p:.2g}"


def _two(value: float) -> str:
    return f"{_rounded(value):.2f}"


def _rounded(value: float) -> float:
    """To two digits, and no `-0`."""
    return round(value, 2) + 0.0
