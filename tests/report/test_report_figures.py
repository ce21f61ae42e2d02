from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from itertools import pairwise

import pytest

from loopscope.report import palette
from loopscope.report.bars import Bar, bars
from loopscope.report.curve import FinalPoint, Point, run_curve, ticks
from loopscope.report.figures import Figure, HeatColumn, heat_map
from loopscope.report.forest import Contrast, forest

SVG = "{http://www.w3.org/2000/svg}"


def drawn(figure: Figure) -> ET.Element:
    return ET.fromstring(figure.inline_svg())  # our own picture


def texts(figure: Figure) -> list[str]:
    return [t.text or "" for t in drawn(figure).iter(f"{SVG}text")]


def point(number: int, score: float | None, kind: str = "score", water: float | None = None) -> Point:
    return Point(number, f"{number}: work", score, score, score, water, kind)


def test_bars_stand_on_the_whole_range_and_show_exact_values() -> None:
    figure = bars("b", "t", [Bar("search", 0.25, 0.5), Bar("nop", 0.0, 0.0)], solid="avg@3", total="best@3")
    shown = texts(figure)
    assert [t for t in shown if "·" in t] == ["0.250 · 0.500", "0.000 · 0.000"]
    assert [t for t in shown if t in ("0", "0.25", "0.5", "0.75", "1")] == ["0", "0.25", "0.5", "0.75", "1"]


def rects(figure: Figure, color: str) -> list[float]:
    """Widths of the bars of a colour."""
    paths = [p.get("d", "") for p in drawn(figure).iter(f"{SVG}path") if p.get("fill") == color]
    return [float(d.split("h", 1)[1].split("v", 1)[0]) for d in paths if "h" in d]


def test_bar_lengths_are_proportional_to_scores() -> None:
    figure = bars("b", "t", [Bar("a", 0.25, 0.5), Bar("b", 0.5, 1.0)], solid="avg@3", total="best@3")
    whole = rects(figure, palette.TRACK)[0]
    assert rects(figure, palette.SOLID) == pytest.approx([0.25 * whole, 0.5 * whole], abs=0.1)
    assert rects(figure, palette.LIGHT) == pytest.approx([0.5 * whole, 1.0 * whole], abs=0.1)


def test_a_bar_shows_between_what_its_value_lies_only_where_it_is_no_point() -> None:
    figure = bars("b", "t", [Bar("a", 0.9, low=0.111, high=1.0), Bar("b", 0.5, low=0.5, high=0.5)], solid="C2")
    assert {"0.900 (0.111–1.000)", "0.500"} <= set(texts(figure))
    plain = bars("b", "t", [Bar("b", 0.5, low=0.5, high=0.5)], solid="C2")
    assert plain.spec == bars("b", "t", [Bar("b", 0.5)], solid="C2").spec


def test_a_missing_bar_is_a_dash_with_its_reason_and_not_a_zero() -> None:
    figure = bars("b", "t", [Bar("gone", None, None, "no score")], solid="avg@3", total="best@3")
    assert "— no score" in texts(figure)
    assert not any("0.000" in t for t in texts(figure))
    assert not rects(figure, palette.SOLID)


@pytest.mark.parametrize("rows", [[], [Bar(f"agent {i}", i / 20, None) for i in range(12)]])
def test_any_number_of_rows_is_drawn(rows: Sequence[Bar]) -> None:
    shown = texts(bars("b", "t", rows, solid="C1"))
    assert [t for t in shown if t.startswith("agent")] == [r.label for r in rows]


def fills(figure: Figure) -> set[str]:
    return {element.get("fill", "") for element in drawn(figure).iter()} - {"", "none", "transparent"}


def test_a_run_curve_marks_what_happened() -> None:
    points = [
        point(1, 0.1, "initial", 0.1),
        point(2, 0.5, "score", 0.5),
        point(3, 0.2, "dip", 0.5),
        point(4, 0.5, "recovery", 0.5),
        point(5, 0.5, "removed", 0.5),
        point(6, None, "missing", 0.5),
    ]
    used = fills(run_curve("c", "t", points, FinalPoint(0.5)))
    assert {palette.DIP, palette.RECOVERY, palette.FINAL, palette.SOLID} <= used


def test_a_dip_is_drawn_down_to_its_lowest_point() -> None:
    points = [
        point(1, 0.8, water=0.8),
        point(2, 0.5, "dip", 0.8),
        Point(3, "3: work", 0.2, None, None, 0.8, "score", falling=True),
        point(4, 0.6, water=0.8),
    ]
    rows = run_curve("c", "t", points, FinalPoint(0.6)).spec["data"]["values"]
    assert [(r["at"], r["from_at"], r["from"]) for r in rows if "from" in r] == [(2, 1, 0.8), (3, 2, 0.5)]


def test_a_calm_curve_has_no_marks_and_its_axis_is_labelled_from_0_to_1() -> None:
    figure = run_curve("c", "t", [point(1, 0.4, "initial", 0.4), point(2, 0.6, "score", 0.6)], FinalPoint(0.6))
    assert not {palette.DIP, palette.RECOVERY} & fills(figure)
    assert [t for t in texts(figure) if "." in t] == ["0.00", "0.25", "0.50", "0.75", "1.00"]
    assert "final" in texts(figure)


def test_a_missing_score_is_drawn_under_the_axis() -> None:
    whole = run_curve("c", "t", [point(1, 0.4, water=0.4)], FinalPoint(0.4)).spec
    gap = run_curve("c", "t", [point(1, 0.4, water=0.4), point(2, None, "missing", 0.4)], FinalPoint(0.4)).spec
    assert [p["value"] for p in whole["params"] if p["name"] == "floor"] == [-0.02]
    assert [p["value"] for p in gap["params"] if p["name"] == "floor"] == [-0.1]
    assert "score" not in gap["data"]["values"][1]


@pytest.mark.parametrize("last", [1, 2, 3, 9, 14, 41, 61, 301, 2335])
def test_commit_labels_are_few_and_do_not_collide_with_the_final_one(last: int) -> None:
    shown = ticks(last)
    assert len(shown) <= 10
    assert shown[-1] == last
    assert shown == sorted(set(shown))
    if last > 20:
        assert min(b - a for a, b in pairwise(shown[1:])) >= last / 10


def test_curves_of_two_runs_share_no_data() -> None:
    first = run_curve("c", "t", [point(1, 0.4)], FinalPoint(0.4))
    before = json.dumps(first.spec)
    run_curve("c", "t", [point(1, 0.9), point(2, 0.1)], FinalPoint(0.1))
    assert json.dumps(first.spec) == before


def test_every_colour_of_a_figure_has_its_rule_for_dark_pages() -> None:
    from importlib import resources

    css = (resources.files("loopscope.report") / "assets" / "app.css").read_text()
    colors = {v for k, v in vars(palette).items() if k.isupper() and v.startswith("#")}
    assert len(colors) > 9
    for color in colors:
        assert f'.chart [fill="{color}"]' in css
        assert f'.chart [stroke="{color}"]' in css
    points = [
        point(i, 0.1 * i, kind, 0.1 * i) for i, kind in enumerate(("initial", "score", "dip", "recovery", "removed"), 1)
    ]
    for figure in (
        run_curve("c", "t", points, FinalPoint(0.5, 0.4, 0.6)),
        bars("b", "t", [Bar("a", 0.1, 0.2)], solid="a", total="b"),
    ):
        assert fills(figure) <= colors


def test_hostile_labels_stay_text_in_a_picture() -> None:
    label = "</text><script>alert(1)</script>\"'"
    figure = bars("b", label, [Bar(label, 0.5)], solid="C1")
    for svg in (figure.inline_svg(), figure.svg()):
        tree = ET.fromstring(svg)
        assert not list(tree.iter(f"{SVG}script"))
        assert "<script" not in svg


def test_exports_are_pictures_of_their_own() -> None:
    columns = [
        HeatColumn("Dip rate", ("0.100", "—"), (8, None)),
        HeatColumn("Rounds T", ("9", "1"), (8, 1), support=True),
    ]
    figure = heat_map("h", "Diagnostics", ["search", "nop"], columns)
    svg = figure.svg(500)
    assert svg == figure.svg(500)
    assert all(word in svg for word in ("Diagnostics", "Dip rate", "0.100", "search"))


def lines(figure: Figure, color: str = palette.INK) -> list[tuple[float, float]]:
    """Start and length of the horizontal rules of a colour."""
    found = []
    for rule in drawn(figure).iter(f"{SVG}line"):
        if rule.get("stroke") == color and (length := float(rule.get("x2", 0))):
            place = rule.get("transform", "translate(0,0)").removeprefix("translate(").split(",")[0]
            found.append((float(place), length))
    return found


def test_a_whisker_goes_from_low_to_high_on_the_axis_of_its_bar() -> None:
    figure = bars("b", "t", [Bar("a", 0.5, interval=(0.25, 0.75)), Bar("b", 0.5)], solid="C1")
    whole = rects(figure, palette.TRACK)[0]
    ((start, length),) = lines(figure)
    assert abs(length) == pytest.approx(0.5 * whole, abs=0.1)
    assert min(start, start + length) == pytest.approx(0.25 * whole, abs=0.6)
    assert {"0.500 [0.25, 0.75]", "0.500"} <= set(texts(figure))


def test_an_interval_and_what_was_not_seen_are_drawn_apart() -> None:
    bar = Bar("a", 0.5, low=0.1, high=0.9, interval=(0.4, 0.6))
    figure = bars("b", "t", [bar], solid="C2")
    assert len(lines(figure)) == 1 and len(lines(figure, palette.MUTED)) == 1
    assert "0.500 [0.40, 0.60] (0.100–0.900)" in texts(figure)


def contrast(value: float, apart: bool) -> Contrast:
    return Contrast("a − b", value, value - 0.1, value + 0.1, "shown", apart, "tip")


def test_differences_stand_on_an_axis_with_0_in_the_middle() -> None:
    figure = forest("d", "t", [contrast(0.5, True), contrast(-0.5, False)])
    assert [t for t in texts(figure) if t.strip("+−") in ("1", "0.5", "0")] == ["−1", "−0.5", "0", "+0.5", "+1"]
    whole = rects(figure, palette.TRACK)[0]
    assert [abs(length) for _, length in lines(figure)] == pytest.approx([0.1 * whole] * 2, abs=0.1)
    assert palette.SOLID in fills(figure)
    assert palette.SOLID not in fills(forest("d", "t", [contrast(0.5, False)])), "nothing was found: hollow"
    colors = {v for k, v in vars(palette).items() if k.isupper() and v.startswith("#")}
    assert fills(figure) <= colors
