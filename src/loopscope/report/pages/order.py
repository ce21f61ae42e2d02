"""Would the order of the agents stand, had less been looked at: fewer seeds, half of the tasks, no family of them."""

from __future__ import annotations

from dataclasses import dataclass

from loopscope.models.interval_rows import StabilityRow
from loopscope.report import format as fmt
from loopscope.report.inputs import StudyInputs
from loopscope.report.text import one_line


@dataclass(frozen=True)
class OrderLine:
    """The order by one number against that of a part."""

    number: str
    part: str
    """What was looked at, and how many such parts."""
    same_first: str
    same_order: str
    tau: str
    """Kendall's tau-b, with its lower 5 % point where several parts were drawn."""


def order_lines(inputs: StudyInputs) -> tuple[OrderLine, ...]:
    """One per row of `stability`; none where there is no order."""
    return tuple(_line(inputs, row) for row in inputs.stability)


def _line(inputs: StudyInputs, row: StabilityRow) -> OrderLine:
    name = {"avg_at_k": f"avg@{inputs.k}", "best_at_k": f"best@{inputs.k}"}.get(row.measure, row.measure)
    draws = f" ({row.draws:,} draws)" if row.draws > 1 else ""
    low = f", {_number(row.tau_low)} at the lower 5 %" if row.draws > 1 and row.tau_low is not None else ""
    return OrderLine(
        name,
        f"{one_line(row.what, 60)}{draws}",
        _share(row.same_first, row.draws),
        _share(row.same_order, row.draws),
        fmt.DASH if row.tau is None else f"{_number(row.tau)}{low}",
    )


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "\u2212")


def _share(value: float, draws: int) -> str:
    if draws == 1:
        return "yes" if value == 1 else "no"
    return f"{100 * value:.0f} %"
