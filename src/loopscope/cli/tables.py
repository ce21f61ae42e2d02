"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

if TYPE_CHECKING:  # its libraries take longer to load than most verbs to run
    from loopscope.analysis.build import Analysis
    from loopscope.models.standing import Standing
    from loopscope.models.tables import OutcomeRow

MISSING = "—"
COMMON = "common "
UNOFFICIAL = "~"
"""Stands before a number that some score of an imported log is in."""


def counted(number: int, what: str) -> str:
    """`1 rollout`, `2 rollouts`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> Table:
    """A table without frames; with `numbers`, all but the first column are right-aligned."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if numbers and index else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def leaderboard(analysis: Analysis) -> Table:
    """avg@k, best@k and the process measures by agent; best first where the agents can be ranked."""
    from loopscope.analysis.tables import OVERALL
    from loopscope.models.standing import spelled_range, standing
    from loopscope.models.tables import OutcomeRow

    outcome = [OutcomeRow(**row) for row in analysis.frames["outcome"].to_dicts() if row["category"] == OVERALL]
    process = {
        (row["agent"], row["measure"]): row
        for name in ("process", "diagnostics")
        for row in analysis.frames[name].to_dicts()
        if row["category"] == OVERALL
    }
    compared = standing(outcome)
    outcome.sort(key=lambda row: _place(row, same_tasks=compared.same_tasks))
    counts = [row["k"] for row in analysis.frames["task_scores"].to_dicts()] or [analysis.summary.k]
    k = str(counts[0]) if min(counts) == max(counts) else "k"
    common = [f"{COMMON}avg@{k}"] if compared.by_common else []
    heads = ["agent", f"avg@{k}", f"best@{k}", *common, "framing C1", "execution C2", "feedback C3", "k", "scored"]
    rows = []
    for row in outcome:
        unofficial = row.n_reconstructed + row.n_reported
        scores = [row.avg_at_k, row.best_at_k, *([row.common_avg] if common else [])]
        rows.append(
            [
                row.agent,
                *(_number(score, unofficial) for score in scores),
                *(_measure(process, row.agent, name) for name in ("c1", "c2", "c3")),
                spelled_range(row.k_min, row.k),
                str(row.n_runs),
                str(row.n_missing),
            ]
        )
    table = plain_table([*heads, "missing"], rows, numbers=True)
    table.caption = "\n".join(_captions(rows, compared))
    table.caption_justify = "left"
    return table


def _place(row: OutcomeRow, *, same_tasks: bool) -> tuple[bool, float, str]:
    value = row.avg_at_k if same_tasks else row.common_avg
    return row.avg_at_k is None, -(value or 0.0), row.agent


def _measure(process: Mapping[tuple[str, str], Mapping[str, Any]], agent: str, name: str) -> str:
    """A process measure; of C2 also between what it must lie, where some of it was not seen."""
    row = process.get((agent, name))
    if row is None:
        return MISSING
    text = _number(row["value"], row["n_reconstructed"] + row["n_reported"])
    low, high = (process.get((agent, f"{name}_{end}"), {}).get("value") for end in ("low", "high"))
    if row["value"] is None or low is None or high is None or high - low < 5e-4:
        return text
    return f"{text} ({low:.3f} to {high:.3f})"


def _captions(rows: Sequence[Sequence[str]], compared: Standing) -> Iterator[str]:
    cells = [cell for row in rows for cell in row[1:]]
    if any(cell.startswith(UNOFFICIAL) for cell in cells):
        yield f"{UNOFFICIAL} rests on scores of imported logs (reconstructed, reported), which are not official"
    if any(" to " in cell for cell in cells):
        yield "(from to): what C2 may have been, whatever was not seen"
    if compared.by_common:
        yield f"{COMMON} over the tasks that all agents have scores on"
    if compared.note:
        yield compared.note


def _number(value: float | None, unofficial: int) -> str:
    return MISSING if value is None else f"{UNOFFICIAL if unofficial else ''}{value:.3f}"
