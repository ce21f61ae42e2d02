"""Would an order stand: had less been looked at, or with the same models in another harness."""

from __future__ import annotations

from dataclasses import dataclass

from loopscope.models.interval_rows import StabilityRow
from loopscope.models.standing import spelled_interval
from loopscope.report import format as fmt
from loopscope.report.format import Cell
from loopscope.report.inputs import StudyInputs
from loopscope.report.pages.intervals import share
from loopscope.report.text import one_line


@dataclass(frozen=True)
class OrderLine:
    """One order against another."""

    number: str
    """What it is made by; of two harnesses also of what."""
    part: str
    """What was looked at, or which harnesses."""
    same_first: str
    same_order: str
    tau: Cell
    """Kendall's tau-b, with its 5 and 95 % points where several parts were drawn."""
    support: str
    """How many are in order, over how many tasks, of how many draws."""


def order_lines(inputs: StudyInputs) -> tuple[OrderLine, ...]:
    """The order of the agents against that of a part; none where there is no order."""
    return tuple(_line(inputs, row) for row in inputs.stability if row.ordered == "agents")


def harness_lines(inputs: StudyInputs) -> tuple[OrderLine, ...]:
    """The orders of every two harnesses that drive the same models; none where no two do."""
    return tuple(_line(inputs, row) for row in inputs.stability if row.ordered != "agents")


def _line(inputs: StudyInputs, row: StabilityRow) -> OrderLine:
    name = {"avg_at_k": f"avg@{inputs.k}", "best_at_k": f"best@{inputs.k}"}.get(row.measure, row.measure)
    draws = f", {row.draws:,} draws" if row.draws > 1 else ""
    tau = Cell(fmt.DASH, "one of them puts nothing in order")
    if row.tau is not None:
        drawn = row.draws > 1 and row.tau_low is not None
        tau = Cell(share(row.tau), span=spelled_interval(row.tau_low, row.tau_high, share) if drawn else "one alone")
    return OrderLine(
        name if row.ordered == "agents" else f"{row.ordered} by {name}",
        one_line(row.what, 160),
        _share(row.same_first, row.draws),
        _share(row.same_order, row.draws),
        tau,
        f"{row.n_ordered} {row.ordered}, {fmt.plural(row.n_tasks, 'task')}{draws}",
    )


def _share(value: float | None, draws: int) -> str:
    if value is None:
        return fmt.DASH
    if draws == 1:
        return "yes" if value == 1 else "no"
    return f"{100 * value:.0f} %"
