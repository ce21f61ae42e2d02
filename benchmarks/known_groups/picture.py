"""The figure: how C1, C2 and C3 answer to each dose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import vl_convert

from known_groups.design import Design
from known_groups.effects import Effect
from loopscope.report import palette as c
from loopscope.report.figures import configured, inline

_HEADLINE = {"c1": "C1 framing", "c2": "C2 execution", "c3": "C3 feedback"}
_COLORS = (c.SOLID, c.DIP, c.RECOVERY, c.FINAL)


def picture(design: Design, by_task: Mapping[str, Mapping[tuple[str, str], Effect]]) -> str:
    """An SVG: a column per factor, a row per measure, a line per task; what should move stands on a grey ground.

    Args:
        design: what was planted.
        by_task: the effects of each task.
    """
    colors = alt.Scale(domain=list(by_task), range=list(_COLORS[: len(by_task)]))
    rows = [
        alt.hconcat(
            *(_panel(design, by_task, factor, measure, colors) for factor in range(len(design.factors))),
            spacing=16,
            bounds="flush",
        )
        for measure in _HEADLINE
    ]
    spec = configured(alt.vconcat(*rows, spacing=10))
    spec["config"]["legend"] = {"orient": "top", "title": None, "labelFontSize": 12, "labelColor": c.INK}
    spec["background"] = "#ffffff"
    version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
    return str(vl_convert.vegalite_to_svg(spec, vl_version=version))


def _panel(
    design: Design,
    by_task: Mapping[str, Mapping[tuple[str, str], Effect]],
    number: int,
    measure: str,
    colors: alt.Scale,
) -> Any:
    factor = design.factors[number]
    doses = [f"{level.value:g}" for level in factor.levels]
    values: list[dict[str, object]] = [
        {"task": task, "dose": dose, "mean": mean}
        for task, effects in by_task.items()
        for dose, mean in zip(doses, effects[factor.name, measure].means, strict=True)
        if mean is not None
    ]
    meant = measure in factor.moves
    x = alt.X("dose:N", sort=doses, title=None, axis=alt.Axis(labelAngle=0, labels=measure == "c3", ticks=False))
    y = alt.Y(
        "mean:Q",
        title=_HEADLINE[measure] if number == 0 else None,
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(values=[0, 0.5, 1], labels=number == 0, labelFlush=True, ticks=False),
    )
    base = alt.Chart(inline(values)).encode(x=x, y=y, color=alt.Color("task:N", scale=colors))
    title: Any = alt.Title(factor.name, fontSize=13, color=c.INK) if measure == "c1" else alt.Title("")
    return alt.layer(base.mark_line(strokeWidth=2), base.mark_circle(size=45, opacity=1)).properties(
        width=118, height=100, title=title, view=alt.ViewBackground(fill=c.TRACK if meant else "#ffffff", stroke=c.GRID)
    )
