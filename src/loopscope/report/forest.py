"""Differences between agents with their intervals, on one axis with 0 in its middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from loopscope.report import palette as c
from loopscope.report.bars import ROW
from loopscope.report.figures import Figure, configured, inline

AXIS = [-1, -0.5, 0, 0.5, 1]
"""Labelled differences: those of scores lie between -1 and 1, and the axis shows all of it."""


@dataclass(frozen=True)
class Contrast:
    """One pair of agents."""

    label: str
    value: float
    low: float | None
    high: float | None
    shown: str
    """The numbers, at the end of the row."""
    apart: bool
    """A difference was found."""
    tip: str


def forest(name: str, title: str, rows: Sequence[Contrast]) -> Figure:
    """One row per pair: a filled diamond where a difference was found, a hollow circle where none was."""
    values = [_row(i, row) for i, row in enumerate(rows)]
    n = max(1, len(rows))
    y = alt.Scale(domain=[n, 0], nice=False, zero=False)
    x = alt.Scale(domain=[-1, 1], nice=False, clamp=True)
    sign = "datum.value > 0 ? '+' + datum.label : datum.label"
    axis = alt.Axis(values=AXIS, format=".2~f", labelExpr=sign, title=None, domain=False, grid=False, orient="bottom")
    at = alt.Y("at:Q", scale=y, axis=None)
    tooltip = [alt.Tooltip("label:N", title="pair"), alt.Tooltip("tip:N", title="value")]
    track = alt.Chart().mark_rect(color=c.TRACK).encode(
        x=alt.X("least:Q", scale=x, axis=axis), x2="most:Q", y=alt.Y("top:Q", scale=y, axis=None), y2="bottom:Q",
        tooltip=tooltip,
    )  # fmt: skip
    zero = alt.Chart().mark_rule(color=c.WATER, strokeWidth=1.5).encode(
        x=alt.X("zero:Q", scale=x), y=alt.Y("top:Q", scale=y, axis=None), y2="bottom:Q"
    )  # fmt: skip
    there = alt.Chart().transform_filter("isValid(datum.low)")
    line = there.mark_rule(color=c.INK, strokeWidth=1.5).encode(x=alt.X("low:Q", scale=x), x2="high:Q", y=at)
    ends = [
        there.mark_rule(color=c.INK, strokeWidth=1.5).encode(
            x=alt.X(f"{end}:Q", scale=x), y=alt.Y("above:Q", scale=y, axis=None), y2="below:Q"
        )
        for end in ("low", "high")
    ]
    found = _points("datum.apart", "diamond", c.SOLID, c.SOLID, x, at, tooltip)
    open_ = _points("!datum.apart", "circle", c.SURFACE, c.MUTED, x, at, tooltip)
    layers = [track, zero, line, *ends, found, open_, _text("label", "least", x, y), _text("shown", "most", x, y)]
    chart = alt.layer(*layers, data=inline(values)).properties(width="container", height=ROW * n)
    return Figure(name, title, configured(chart))


def _points(which: str, shape: str, fill: str, stroke: str, x: alt.Scale, at: alt.Y, tooltip: list[alt.Tooltip]) -> Any:
    mark = alt.MarkDef(type="point", shape=shape, size=70, filled=True, fill=fill, stroke=stroke, opacity=1)
    base = alt.Chart(mark=mark).transform_filter(which)
    return base.encode(x=alt.X("value:Q", scale=x), y=at, tooltip=tooltip)


def _text(field: str, at: str, x: alt.Scale, y: alt.Scale) -> Any:
    name = field == "label"
    mark = alt.MarkDef(
        type="text", align="left" if name else "right", baseline="middle", fontSize=13,
        color=c.INK if name else c.MUTED, limit=alt.ExprRef("max(60, width - 190)" if name else "186"),
    )  # fmt: skip
    return alt.Chart(mark=mark).encode(
        x=alt.X(f"{at}:Q", scale=x), y=alt.Y("line:Q", scale=y, axis=None), text=f"{field}:N"
    )


def _row(index: int, row: Contrast) -> dict[str, object]:
    ends = {} if row.low is None or row.high is None else {"low": row.low, "high": row.high}
    return {
        **ends,
        "label": row.label,
        "value": row.value,
        "shown": row.shown,
        "tip": row.tip,
        "apart": row.apart,
        "least": -1,
        "zero": 0,
        "most": 1,
        "line": index + 0.34,
        "top": index + 0.58,
        "bottom": index + 0.84,
        "at": index + 0.71,
        "above": index + 0.64,
        "below": index + 0.78,
    }
