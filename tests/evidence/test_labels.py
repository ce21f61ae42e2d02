"""What is found in the public transcripts, held against labels that were made by hand before it was looked for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from label_comparison import (
    LATER,
    PASSES,
    PUBLIC,
    Measured,
    agreement,
    compare,
    labels,
    later_report,
    matched,
    report,
    wilson,
)

ROOT = Path(__file__).parents[2]
LEAST = {
    "commits, with their kind": 0.99,
    "invocations of git commit, and whether they committed": 0.99,
    "build calls": 0.98,
    "code failures": 0.95,
    "evaluations and their state": 0.95,
    "calls that evaluate, and their states": 0.95,
}
at_hand = pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public transcripts are not at hand")


@at_hand
@pytest.mark.slow
@pytest.mark.parametrize("made_in", [*PASSES, LATER])
def test_what_is_found_is_what_was_labelled(made_in: str) -> None:
    measured = {item.name: item for item in compare(made_in)}
    for name, least in LEAST.items():
        item = measured[name]
        if made_in == LATER and name == "code failures":
            assert item.labelled == item.found == 0  # There were none, and none are found.
            continue
        assert item.labelled
        assert min(item.recall, item.precision) >= least, (name, item.misses)


@at_hand
@pytest.mark.slow
def test_what_is_found_on_the_set_that_was_compared_last() -> None:
    measured = {item.name: item for item in compare("fourth")}
    for name, least in LEAST.items():
        item = measured[name]
        # One commit of 60 is of another kind: the guide and docs/evidence-quality.md differ about it.
        wanted = 0.98 if name == "commits, with their kind" else least
        assert item.labelled
        assert min(item.recall, item.precision) >= wanted, (name, item.misses)


@at_hand
@pytest.mark.slow
def test_what_is_found_on_the_seven_runs_that_were_left() -> None:
    """The two sets that nothing was mended for before they were compared; docs/evidence-quality.md has the misses."""
    both, labelled, found = Counter[str](), Counter[str](), Counter[str]()
    for item in (item for name in ("fifth", "sixth") for item in compare(name)):
        both[item.name] += item.both
        labelled[item.name] += item.labelled
        found[item.name] += item.found
    for name, least in LEAST.items():
        # Three builds of a single file of a Go package are no failures of the code here.
        wanted = 0.92 if name == "code failures" else least
        assert both[name] / labelled[name] >= wanted, name
        assert both[name] / found[name] >= least, name


@at_hand
@pytest.mark.slow
def test_the_published_tables_are_those_that_come_out() -> None:
    page = (ROOT / "docs/evidence-quality.md").read_text(encoding="utf-8")
    for tables in (report(), later_report()):
        assert tables in page, (
            "docs/evidence-quality.md is out of date: put in what `python tests/support/label_comparison.py` prints"
        )


def test_both_passes_label_the_same_runs() -> None:
    first, second = (labels(made_in) for made_in in PASSES)
    assert [item.run for item in first] == [item.run for item in second]
    assert len(first) == 6
    assert all(0 < equal <= all_ for _, equal, all_ in agreement())


def test_entries_are_compared_as_bags_and_each_miss_is_listed() -> None:
    labelled = {(1, 0): ["a", "a", "b"], (3, 0): ["c"]}
    found = {(1, 0): ["a", "b"], (5, 1): ["d"]}
    item = matched("x", [("run", labelled, found)])
    assert (item.both, item.labelled, item.found) == (2, 4, 3)
    assert (item.recall, item.precision) == (0.5, pytest.approx(2 / 3))
    assert [(miss.call, miss.side, miss.what) for miss in item.misses] == [
        ((1, 0), "label", "a"), ((3, 0), "label", "c"), ((5, 1), "extractor", "d"),
    ]  # fmt: skip
    assert isinstance(item, Measured)


def test_wilsons_interval() -> None:
    # Newcombe 1998, table I: 81 of 263, and 0 of 20.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson(0, 0) == pytest.approx((0.0, 1.0))
