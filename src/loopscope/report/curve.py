"""The run curve: score per commit of one run, with its high-water mark, dips, recoveries and repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import altair as alt

from loopscope.report import format as fmt
from loopscope.report import palette as c
from loopscope.report.figures import AXIS, Figure, Spec, configured, inline


@dataclass(frozen=True)
class Point:
    """One commit on the run curve."""

    number: int
    """1-based, over all commits."""
    label: str
    """Commit and subject, for the tooltip."""
    score: float | None
    low: float | None
    high: float | None
    water: float | None
    kind: str
    """`score`, `dip`, `recovery`, `initial`, `removed` or `missing`."""
    note: str = ""
    falling: bool = False
    """On a dip's way down."""
    odd: bool = False
    """Its gain is one that nothing explains."""


@dataclass(frozen=True)
class FinalPoint:
    """The official final score, drawn after the last commit."""

    score: float | None
    low: float | None = None
    high: float | None = None


def ticks(last: int, room: int = 8) -> list[int]:
    """Commit numbers to label, `last` being the final score's place: at most about `room`, none too near the end."""
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10**9) if last / s <= room)
    inner = range(1, last, step) if step < 5 else [1, *range(step, last, step)]
    return [*(t for t in inner if last - t >= step), last]


def run_curve(name: str, title: str, points: Sequence[Point], final: FinalPoint) -> Figure:
    """Score per commit of one run.

    Solid line and dots: canonical checkpoints. Step line: high-water mark h. Orange triangle and segments: a dip of
    more than eps, down to its lowest point. Green triangle: its recovery. Bars through the dots: lowest to highest
    repeated verification. Hollow: removed by the proposal gate, not counted. Ring: a suspicious jump. Crosses under
    the axis: no score. Diamond: the official final score.
    """
    last = len(points) + 1
    lowest = any(p.score is None for p in points) or final.score is None
    spec = _run_template()
    spec = {**spec, "data": {"values": [*_point_rows(points), _final_row(final, last)]}}
    spec["params"] = [
        {"name": "last", "value": last},
        {"name": "ticks", "value": ticks(last)},
        {"name": "floor", "value": -0.1 if lowest else -0.02},
    ]
    return Figure(name, title, spec)


def _point_rows(points: Sequence[Point]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    before: float | None = None
    before_at: int | None = None
    for p in points:
        counted = p.kind != "removed" and p.score is not None
        row: dict[str, object] = {
            "at": p.number,
            "score": p.score,
            "low": p.low,
            "high": p.high,
            "water": p.water,
            "kind": "missing" if p.score is None else p.kind,
            "line": p.score if counted else None,
            "what": p.label,
            "tip": p.note,
        }
        if counted and (p.falling or p.kind == "dip"):
            row |= {"from": before, "from_at": before_at}
        if p.odd:
            row["odd"] = True
        if counted:
            before, before_at = p.score, p.number
        rows.append({k: v for k, v in row.items() if v is not None})
    return rows


def _final_row(final: FinalPoint, last: int) -> dict[str, object]:
    row = {"at": last, "score": final.score, "low": final.low, "high": final.high}
    kind = "missing" if final.score is None else "final"
    tip = "no final score" if final.score is None else f"score {fmt.score(final.score)}"
    return {**{k: v for k, v in row.items() if v is not None}, "kind": kind, "what": "final score", "tip": tip}


_SHAPES = {
    "score": ("circle", c.SOLID, 64),
    "initial": ("square", c.MUTED, 72),
    "dip": ("triangle-down", c.DIP, 150),
    "recovery": ("triangle-up", c.RECOVERY, 150),
    "removed": ("circle", c.SURFACE, 56),
    "final": ("diamond", c.FINAL, 210),
}


@cache
def _run_template() -> Spec:
    """All of the run curve but its data: made once, since checking a specification costs more than drawing it."""
    base = alt.Chart().encode(x=_commit_axis())
    layers = [*_lines(base), *_ranges(base), *_points(base)]
    spec = configured(alt.layer(*layers, data=inline([])).properties(width="container", height=320))
    spec.pop("datasets", None)
    return spec


def _commit_axis() -> alt.X:
    return alt.X(
        "at:Q",
        scale=alt.Scale(domain=alt.ExprRef("[0.5, last + 0.5]"), nice=False, zero=False),
        axis=alt.Axis(
            values=alt.ExprRef("ticks"),
            labelExpr="datum.value == last ? 'final' : format(datum.value, 'd')",
            title="commit",
            grid=False,
            labelOverlap=False,
            ticks=False,
        ),
    )


def _y(field: str) -> alt.Y:
    scale = alt.Scale(domain=alt.ExprRef("[floor, 1.02]"), nice=False, zero=False)
    axis = alt.Axis(values=AXIS, format=".2f", title="score", domain=False, ticks=False)
    return alt.Y(f"{field}:Q", scale=scale, axis=axis)


def _lines(base: alt.Chart) -> list[Any]:
    """High-water mark, score line, and the way down of each dip."""
    water = base.transform_filter("isValid(datum.water)")
    return [
        water.mark_area(interpolate="step-after", color=c.WATER, opacity=0.1).encode(y=_y("water"), y2=alt.Y2Datum(0)),
        water.mark_line(interpolate="step-after", color=c.WATER, strokeWidth=1.5, strokeDash=[5, 3]).encode(
            y=_y("water")
        ),
        base.transform_filter("isValid(datum.line)").mark_line(color=c.SOLID, strokeWidth=2).encode(y=_y("line")),
        base.transform_filter("isValid(datum.from)")
        .mark_rule(color=c.DIP, strokeWidth=3, strokeCap="round")
        .encode(x=alt.X("from_at:Q"), x2="at:Q", y=_y("from"), y2="score:Q"),
    ]


def _ranges(base: alt.Chart) -> list[Any]:
    """Lowest to highest repeated verification of a commit, where they differ."""
    repeated = base.transform_filter("isValid(datum.low) && datum.high > datum.low")
    width = alt.ExprRef("clamp(0.5 * width / last, 3, 9)")
    ends = [
        repeated.mark_tick(color=c.INK, thickness=1.5, size=width, opacity=0.55, orient="horizontal").encode(y=_y(end))
        for end in ("low", "high")
    ]
    return [repeated.mark_rule(color=c.INK, strokeWidth=1.5, opacity=0.55).encode(y=_y("low"), y2="high:Q"), *ends]


def _points(base: alt.Chart) -> list[Any]:
    """The commits by kind; those without a score as crosses under the axis."""
    tooltip = [alt.Tooltip("what:N", title="commit"), alt.Tooltip("tip:N", title="result")]
    scored = [
        base.transform_filter(f"datum.kind == '{kind}'")
        .mark_point(
            shape=shape,
            fill=color,
            stroke=c.MUTED if kind == "removed" else c.SURFACE,
            strokeWidth=1.25,
            size=alt.ExprRef(f"{size} * clamp(width / last / 16, 0.5, 1)"),
            opacity=1,
            filled=True,
        )
        .encode(y=_y("score"), tooltip=tooltip)
        for kind, (shape, color, size) in _SHAPES.items()
    ]
    missing = (
        base.transform_filter("datum.kind == 'missing'")
        .transform_calculate(under="-0.055")
        .mark_point(shape="cross", angle=45, fill=c.MUTED, stroke=c.SURFACE, strokeWidth=0, size=60, opacity=1)
        .encode(y=_y("under"), tooltip=tooltip)
    )
    odd = (
        base.transform_filter("datum.odd")
        .mark_point(shape="circle", filled=False, stroke=c.INK, strokeWidth=1.75, size=260, opacity=1)
        .encode(y=_y("score"), tooltip=tooltip)
    )
    return [*scored, odd, missing]
