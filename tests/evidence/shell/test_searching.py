"""Values are found in any output, at once."""

from __future__ import annotations

import re

from made_calls import bash, calls

from loopscope.evidence.shell.calls import shell_calls
from loopscope.evidence.shell.evaluations import find_evaluations
from loopscope.evidence.shell.rules import task_rules
from loopscope.evidence.shell.searching import MAX_LINE, find_all, found

TIME = re.compile(r"time=(?P<value>\d+)")


def values(text: str) -> list[str]:
    return [match["value"] for match in find_all(TIME, text)]


def test_a_line_made_to_hold_up_an_expression_is_searched_at_its_beginning_only() -> None:
    output = "verify " * 300_000 + "\nverify checksum=7\n" + "verify " * 300_000
    (shell,) = shell_calls(calls([bash("cargo run --release -- --verify", output)]), "/w/app")
    (evaluation,) = find_evaluations([shell], task_rules()["regex_engine"])
    assert evaluation.values == ("7",)


def test_short_lines_are_searched_as_a_whole() -> None:
    text = "time=1\n" * 1000
    assert values(text) == ["1"] * 1000
    assert found(re.compile(r"time=1\ntime=1"), text)
    assert found(re.compile(r"\Atime"), text) and not found(re.compile(r"(?m)^ime"), text)


def test_what_is_cut_off_is_no_value() -> None:
    for before in range(MAX_LINE - 12, MAX_LINE + 3):
        line = "x" * before + "time=123 " + "x" * 20
        assert values(line + "\ntime=4") in (["123", "4"], ["4"])
    assert values("x" * (MAX_LINE - 8) + "time=123") == ["123"]


def test_what_a_progress_bar_ends_with_is_found_at_its_place() -> None:
    text = "start\n" + "\r".join(f"step {number}" for number in range(1000)) + "\rtime=5\ntime=6\n"
    matches = list(find_all(TIME, text))
    assert [match["value"] for match in matches] == ["5", "6"]
    assert [text[match.start() : match.end()] for match in matches] == ["time=5", "time=6"]
    assert [match["value"] for match in find_all(TIME, text, matches[0].end())] == ["6"]
    assert [match["value"] for match in find_all(TIME, text, 0, matches[0].end())] == ["5"]
