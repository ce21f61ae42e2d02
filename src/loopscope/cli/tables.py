"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

if TYPE_CHECKING:  # its libraries take longer to load than most verbs to run
    from loopscope.analysis.build import Analysis

MISSING = "—"
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
    """avg@k, best@k and the process measures by agent, best first."""
    from loopscope.analysis.tables import OVERALL

    outcome = [row for row in analysis.frames["outcome"].to_dicts() if row["category"] == OVERALL]
    process = {
        (row["agent"], row["measure"]): row
        for row in analysis.frames["process"].to_dicts()
        if row["category"] == OVERALL
    }
    outcome.sort(key=lambda row: (-(row["avg_at_k"] if row["avg_at_k"] is not None else -1), row["agent"]))
    k = analysis.summary.k
    heads = ["agent", f"avg@{k}", f"best@{k}", "framing C1", "execution C2", "feedback C3", "scored", "missing"]
    rows = []
    for row in outcome:
        measures = [process.get((row["agent"], name)) for name in ("c1", "c2", "c3")]
        rows.append(
            [
                row["agent"],
                *(_number(row[name], row["n_reconstructed"] + row["n_reported"]) for name in ("avg_at_k", "best_at_k")),
                *(_number(m["value"], m["n_reconstructed"] + m["n_reported"]) if m else MISSING for m in measures),
                str(row["n_runs"]),
                str(row["n_missing"]),
            ]
        )
    table = plain_table(heads, rows, numbers=True)
    if any(cell.startswith(UNOFFICIAL) for row in rows for cell in row[1:]):
        table.caption = (
            f"{UNOFFICIAL} rests on scores of imported logs (reconstructed, reported), which are not official"
        )
        table.caption_justify = "left"
    return table


def _number(value: float | None, unofficial: int) -> str:
    return MISSING if value is None else f"{UNOFFICIAL if unofficial else ''}{value:.3f}"
