"""Bars of numbers from 0 to 1, each with its interval as a line across, one row per agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from loopscope.report import format as fmt
from loopscope.report import palette as c
from loopscope.report.figures import AXIS, Figure, configured, inline

ROW = 46
"""Height of a row in pixels."""
type Ends = tuple[float, float] | None


@dataclass(frozen=True)
class Bar:
    """One row of a bar figure."""

    label: str
    value: float | None
    """Solid part, 0..1."""
    best: float | None = None
    """Whole length, where there is one."""
    note: str = ""
    """Instead of a number when there is none, and in the tooltip."""
    low: float | None = None
    """What the value may have been at least and at most, whatever is missing or was not seen."""
    high: float | None = None
    interval: Ends = None
    """Of the value; None where there is none."""
    best_interval: Ends = None
    """Of the best."""

    @property
    def has_range(self) -> bool:
        """Whether there is a value whose ends are told apart at three digits."""
        known = self.value is not None and self.low is not None and self.high is not None
        return known and (self.high or 0.0) - (self.low or 0.0) >= 5e-4


def bars(name: str, title: str, rows: Sequence[Bar], *, solid: str, total: str | None = None) -> Figure:
    """Horizontal bars on the whole range 0..1, one row per agent, its name above its bar.

    The line across a bar is the interval of its number; with `total` the upper one is that of the solid part. The
    dashed line below a bar goes from what the solid part is at least to what it is at most, whatever is missing.

    Args:
        name: stem of exported files.
        title: one sentence.
        rows: top to bottom.
        solid: what the solid part is, e.g. `avg@3`.
        total: what the whole length is, e.g. `best@3`; None when there is one value only.
    """
    values = [_row(i, row, solid, total) for i, row in enumerate(rows)]
    n = max(1, len(rows))
    y = alt.Scale(domain=[n, 0], nice=False, zero=False)
    x = alt.Scale(domain=[0, 1], nice=False, clamp=True)
    axis = alt.Axis(values=AXIS, format=".2~f", title=None, domain=False, grid=False, orient="bottom")
    tooltip = [alt.Tooltip("label:N", title="agent"), alt.Tooltip("tip:N", title="value")]

    def bar(field: str, color: str) -> Any:
        return (
            alt.Chart()
            .transform_filter(f"isValid(datum.{field})")
            .mark_rect(color=color)
            .encode(
                x=alt.X("zero:Q", scale=x, axis=axis),
                x2=f"{field}:Q",
                y=alt.Y("top:Q", scale=y, axis=None),
                y2="bottom:Q",
                tooltip=tooltip,
            )
        )

    def text(field: str, at: str, align: Literal["left", "right"], color: str, room: str) -> Any:
        mark = alt.MarkDef(
            type="text", align=align, baseline="middle", fontSize=13, color=color, limit=alt.ExprRef(room)
        )
        return alt.Chart(mark=mark).encode(
            x=alt.X(f"{at}:Q", scale=x, axis=axis), y=alt.Y("line:Q", scale=y, axis=None), text=f"{field}:N"
        )

    right = 112 if total else max((7 * len(str(row["shown"])) for row in values), default=90)
    layers = [bar("one", c.TRACK), bar("best", c.LIGHT), bar("value", c.SOLID)]
    if total is None:
        del layers[1]
    for which, there in (
        ("", any(row.interval for row in rows)),
        ("best_", any(row.best_interval for row in rows)),
    ):
        if there:
            layers += _whiskers(x, y, which)
    if any(row.has_range for row in rows):
        layers.append(_possible(x, y))
    layers += [
        text("label", "zero", "left", c.INK, f"max(60, width - {right})"),
        text("shown", "one", "right", c.MUTED, str(right)),
    ]
    chart = alt.layer(*layers, data=inline(values)).properties(width="container", height=ROW * n)
    return Figure(name, title, configured(chart))


def _whiskers(x: alt.Scale, y: alt.Scale, which: str) -> list[Any]:
    """An interval as a line with ends, on a ground of its own so that it is seen on any bar."""
    there = alt.Chart().transform_filter(f"isValid(datum.{which}from)")
    at = alt.Y(f"{which}at:Q", scale=y, axis=None)
    line = {"x": alt.X(f"{which}from:Q", scale=x), "x2": f"{which}to:Q", "y": at}
    ends = [
        there.mark_rule(color=c.INK, strokeWidth=1.5).encode(
            x=alt.X(f"{which}{end}:Q", scale=x), y=alt.Y(f"{which}above:Q", scale=y, axis=None), y2=f"{which}below:Q"
        )
        for end in ("from", "to")
    ]
    ground = there.mark_rule(color=c.SURFACE, strokeWidth=4).encode(**line)
    return [ground, there.mark_rule(color=c.INK, strokeWidth=1.5).encode(**line), *ends]


def _possible(x: alt.Scale, y: alt.Scale) -> Any:
    """What each value may have been, as a dashed line below its bar."""
    there = alt.Chart().transform_filter("isValid(datum.low)")
    return there.mark_rule(color=c.MUTED, strokeWidth=1.5, strokeDash=[3, 2]).encode(
        x=alt.X("low:Q", scale=x), x2="high:Q", y=alt.Y("under:Q", scale=y, axis=None)
    )


def _row(index: int, row: Bar, solid: str, total: str | None) -> dict[str, object]:
    if row.value is None and row.best is None:
        shown = tip = f"{fmt.DASH} {row.note}".strip()
    elif total is None:
        shown = fmt.score(row.value) + _spelled(row.interval)
        tip = f"{solid} {shown}"
    else:
        shown = f"{fmt.score(row.value)} \u00b7 {fmt.score(row.best)}"
        tip = (
            f"{solid} {fmt.score(row.value)}{_spelled(row.interval)}, "
            f"{total} {fmt.score(row.best)}{_spelled(row.best_interval)}"
        )
    if row.note and row.value is not None:
        tip += f" ({row.note})"
    more: dict[str, object] = {}
    if row.has_range:
        shown += "" if total else f" ({fmt.score(row.low)}\u2013{fmt.score(row.high)})"
        why = "is missing" if total else "was not seen"
        tip += f"; {fmt.score(row.low)} to {fmt.score(row.high)}, whatever {why}"
        more |= {"low": row.low, "high": row.high, "under": index + 0.92}
    more |= _whisker("", row.interval, index + (0.64 if total else 0.71))
    more |= _whisker("best_", row.best_interval, index + 0.78)
    return {
        **more,
        "label": row.label,
        "value": row.value,
        "best": row.best,
        "zero": 0,
        "one": 1,
        "line": index + 0.34,
        "top": index + 0.58,
        "bottom": index + 0.84,
        "shown": shown,
        "tip": tip,
    }


def _whisker(which: str, ends: Ends, at: float) -> dict[str, object]:
    if ends is None:
        return {}
    return {
        f"{which}from": ends[0],
        f"{which}to": ends[1],
        f"{which}at": at,
        f"{which}above": at - 0.06,
        f"{which}below": at + 0.06,
    }


def _spelled(ends: Ends) -> str:
    return "" if ends is None else f" [{fmt.score(ends[0], 2)}, {fmt.score(ends[1], 2)}]"
