"""A figure as it stands in a page: the static picture, and the data from which the script draws the live one."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from loopscope.report.figures import Figure
from loopscope.report.text import script_json


@dataclass(frozen=True)
class Chart:
    """What the `chart` macro needs."""

    id: str
    title: str
    svg: Markup
    """Made by Vega from our specification: text in it is escaped there."""
    spec: Markup
    """JSON that cannot leave its script block."""


def chart(figure: Figure, width: int = 640) -> Chart:
    """Draw a figure for a page; `width` is that of the static picture."""
    return Chart(
        figure.name,
        figure.title,
        Markup(figure.inline_svg(width)),  # noqa: S704  # vl-convert escapes text; tested with hostile labels
        Markup(script_json(figure.spec)),  # noqa: S704  # escaped for this place
    )
