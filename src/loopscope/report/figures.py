"""Every figure of the report as a Vega-Lite specification, and its SVG.

A function here (and in `curve`) takes numbers and returns a `Figure`; it knows no page. The same figure is drawn live
in the page, as the static picture inside it, and as a file for a paper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import vl_convert

from loopscope.report import format as fmt
from loopscope.report import palette as c

_VL_VERSION = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
AXIS = [0, 0.25, 0.5, 0.75, 1]
"""Labelled scores: every score axis runs from 0 to 1."""
Spec = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """One figure: a Vega-Lite specification whose width follows its container, with its data inside."""

    name: str
    """Stem of the files it is exported to."""
    title: str
    """One sentence for a screen reader and for the exported file."""
    spec: Spec

    def sized(self, width: int) -> Spec:
        """The specification at a fixed width in pixels."""
        return {**self.spec, "width": width, "autosize": {"type": "fit-x", "contains": "padding"}}

    def standalone(self, width: int) -> Spec:
        """For a file of its own: fixed width, white ground, the title on it."""
        title = {"text": self.title, "anchor": "start", "fontSize": 13, "fontWeight": 600, "color": c.INK, "offset": 14}
        return {**self.sized(width), "background": "#ffffff", "title": title}

    def svg(self, width: int = 720) -> str:
        """The exported picture as SVG; equal figures give equal text."""
        return str(vl_convert.vegalite_to_svg(self.standalone(width), vl_version=_VL_VERSION))

    def inline_svg(self, width: int = 640) -> str:
        """The picture that stands in a page for print and for readers without scripts.

        Identifiers carry the figure's name, since a page holds several pictures; attributes that only repeat a default
        go.
        """
        svg = str(vl_convert.vegalite_to_svg(self.sized(width), vl_version=_VL_VERSION))
        svg = re.sub(r"<[a-z][^<>]*>", lambda tag: _tidy(tag.group(), self.name), svg)
        return svg.replace("<svg ", '<svg aria-hidden="true" ', 1)


def _tidy(tag: str, name: str) -> str:
    """One tag of a picture made shorter and its identifiers unique; text between tags is never touched."""
    if re.match(r'<path [^>]*class="(?:fore|back)ground"', tag) and tag.endswith("/>"):
        return ""
    tag = re.sub(r' (?:aria-[a-z]+|role|pointer-events)="[^"]*"| opacity="1"| stroke-width="1"', "", tag)
    tag = re.sub(r"\d+\.\d{3,}", lambda m: f"{float(m.group()):.2f}", tag)
    return re.sub(r' id="|url\(#', lambda m: f"{m.group()}{name}-", tag)


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
    """What the value may have been at least and at most, where not all of it was seen."""
    high: float | None = None

    @property
    def has_range(self) -> bool:
        """Whether there is a value whose ends are told apart at three digits."""
        known = self.value is not None and self.low is not None and self.high is not None
        return known and (self.high or 0.0) - (self.low or 0.0) >= 5e-4


def configured(chart: Any) -> Spec:
    """A chart as a specification in the one style of all figures."""
    spec: Spec = chart.to_dict()
    spec["config"] = {
        "background": None,
        "font": c.FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": c.MUTED,
            "titleColor": c.MUTED,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "gridColor": c.GRID,
            "domainColor": c.GRID,
            "tickColor": c.GRID,
            "labelPadding": 6,
            "titlePadding": 10,
        },
        "text": {"fontSize": 13, "color": c.INK},
    }
    spec["padding"] = {"left": 2, "right": 12, "top": 4, "bottom": 4}
    return spec


def inline(values: Sequence[Mapping[str, object]]) -> alt.InlineData:
    """Data that stands in the specification."""
    return alt.InlineData(values=[dict(v) for v in values])


def bars(name: str, title: str, rows: Sequence[Bar], *, solid: str, total: str | None = None) -> Figure:
    """Horizontal bars on the whole range 0..1, one row per agent, its name above its bar.

    Args:
        name: stem of exported files.
        title: one sentence.
        rows: top to bottom.
        solid: what the solid part is, e.g. `avg@3`.
        total: what the whole length is, e.g. `best@3`; None when there is one value only.
    """
    values = [_bar_row(i, row, solid, total) for i, row in enumerate(rows)]
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

    ranged = any(row.has_range for row in rows)
    right = 112 if total else 150 if ranged else 90
    layers = [bar("one", c.TRACK), bar("best", c.LIGHT), bar("value", c.SOLID)]
    if total is None:
        del layers[1]
    if ranged:
        layers += _ranges(x, y)
    layers += [
        text("label", "zero", "left", c.INK, f"max(60, width - {right})"),
        text("shown", "one", "right", c.MUTED, str(right)),
    ]
    chart = alt.layer(*layers, data=inline(values)).properties(width="container", height=46 * n)
    return Figure(name, title, configured(chart))


def _ranges(x: alt.Scale, y: alt.Scale) -> list[Any]:
    """What each value may have been, as a line with ends across its bar."""
    seen = alt.Chart().transform_filter("isValid(datum.low)")
    line = seen.mark_rule(color=c.INK, strokeWidth=1.5).encode(
        x=alt.X("low:Q", scale=x), x2="high:Q", y=alt.Y("middle:Q", scale=y, axis=None)
    )
    ends = [
        seen.mark_rule(color=c.INK, strokeWidth=1.5).encode(
            x=alt.X(f"{end}:Q", scale=x), y=alt.Y("top:Q", scale=y, axis=None), y2="bottom:Q"
        )
        for end in ("low", "high")
    ]
    return [line, *ends]


def _bar_row(index: int, row: Bar, solid: str, total: str | None) -> dict[str, object]:
    if row.value is None and row.best is None:
        shown = tip = f"{fmt.DASH} {row.note}".strip()
    elif total is None:
        shown, tip = fmt.score(row.value), f"{solid} {fmt.score(row.value)}"
    else:
        shown = f"{fmt.score(row.value)} · {fmt.score(row.best)}"
        tip = f"{solid} {fmt.score(row.value)}, {total} {fmt.score(row.best)}"
    if row.note and row.value is not None:
        tip += f" ({row.note})"
    ends: dict[str, object] = {}
    if row.has_range:
        shown += f" ({fmt.score(row.low)}–{fmt.score(row.high)})"
        tip += f"; {fmt.score(row.low)} to {fmt.score(row.high)}, whatever was not seen"
        ends = {"low": row.low, "high": row.high, "middle": index + 0.71}
    return {
        **ends,
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


@dataclass(frozen=True)
class HeatColumn:
    """One column of a heat map, shaded within itself."""

    label: str
    texts: tuple[str, ...]
    heats: tuple[int | None, ...]
    """Shade 0..8 per row; None is drawn empty."""
    support: bool = False
    """Grey: says how much was observed, not how it was."""


def heat_map(name: str, title: str, agents: Sequence[str], columns: Sequence[HeatColumn]) -> Figure:
    """Agents by diagnostics; every cell with its exact value, a missing one with a dash and no shade."""
    values = [
        {"row": agent, "column": col.label, "text": col.texts[i], "shade": _shade(col, col.heats[i])}
        for col in columns
        for i, agent in enumerate(agents)
    ]
    x = alt.X(
        "column:N",
        sort=[col.label for col in columns],
        axis=alt.Axis(orient="top", labelAngle=-35, labelLimit=160, domain=False, ticks=False, title=None),
    )
    y = alt.Y("row:N", sort=list(agents), axis=alt.Axis(labelLimit=180, domain=False, ticks=False, title=None))
    base = alt.Chart().encode(x=x, y=y)
    cells = base.mark_rect(stroke="#ffffff", strokeWidth=2).encode(color=alt.Color("shade:N", scale=None))
    text = base.mark_text(fontSize=12, color=c.INK).encode(text="text:N")
    chart = alt.layer(cells, text, data=inline(values)).properties(width="container", height=36 * max(1, len(agents)))
    return Figure(name, title, configured(chart))


def _shade(column: HeatColumn, heat: int | None) -> str:
    if heat is None:
        return "#ffffff"
    end = (0xB4, 0xB9, 0xC2) if column.support else (0x7F, 0xB0, 0xE0)
    return "#" + "".join(f"{round(255 - (255 - part) * (0.08 + 0.92 * heat / 8)):02x}" for part in end)
