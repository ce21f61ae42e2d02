"""What `--json` prints of a number: beside it the ends of its interval, and of how many rollouts it is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

type Rows = list[dict[str, Any]]

_OUTCOME = ("avg_at_k", "best_at_k", "common_avg", "common_best", "paired_avg", "paired_best")
_ENDS = ("low", "high", "missing_low", "missing_high", "outer_low", "outer_high")


def with_intervals(tables: Mapping[str, Rows], intervals: Sequence[Mapping[str, Any]]) -> dict[str, Rows]:
    """The tables with the ends, `k` and `guard` of the table `intervals` in rows of one number; those of random tasks.

    The ends are `low` and `high`; where something is missing also `missing_low`, `missing_high`, `outer_low` and
    `outer_high`, else None. A row of `outcome` holds six numbers: their fields are called `avg_at_k_low`,
    `best_at_k_guard` and so on. A number without an interval has None for both ends, and `guard` says why.
    """
    from loopscope.models.interval_rows import EVERYONE
    from loopscope.models.standing import RANDOM

    known = {(row["agent"], row["category"], row["measure"]): row for row in intervals if row["reading"] == RANDOM}
    found = dict(tables)
    found["outcome"] = [
        row
        | {
            f"{measure}_{end}": known.get((row["agent"], row["category"], measure), {}).get(end)
            for measure in _OUTCOME
            for end in (*_ENDS, "guard")
        }
        for row in tables["outcome"]
    ]
    for table, column in (("process", "measure"), ("diagnostics", "measure"), ("resources", "resource")):
        found[table] = [row | _ends(known.get((row["agent"], row["category"], row[column]))) for row in tables[table]]
    name = "process_by_category"
    found[name] = [row | _ends(known.get((EVERYONE, row["category"], row["measure"]))) for row in tables[name]]
    return found


def _ends(interval: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: None if interval is None else interval[name] for name in (*_ENDS, "k", "guard")}
