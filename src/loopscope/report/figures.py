"""Every figure of the report as a Vega-Lite specification, and its SVG.

A function here (and in `bars`, `forest` and `curve`) takes numbers and returns a `Figure`; it knows no page. The same
figure is drawn live in the page, as the static picture inside it, and as a file for a paper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

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
