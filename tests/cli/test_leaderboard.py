"""What the terminal says of a study: every number with its interval, and no order that the data do not support."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from made_study import MadeStudy

from loopscope.cli.console import out

FOUR = {f"t{i}": "toy" for i in range(4)}
EIGHT = {f"t{i}": "toy" if i % 2 else "puzzle" for i in range(8)}
NUMBER = r"-?\d\.\d\d \[-?\d\.\d\d, -?\d\.\d\d\]"
HOSTILE = "[bold]x\u202ey\x1b[31m"

Final = Callable[[str, int, int], str | None]
"""(agent, number of the task, seed) -> final score."""


def study(path: Path, agents: list[str], tasks: dict[str, str], seeds: int, final: Final) -> None:
    made = MadeStudy(path / "s", agents, tasks, seeds)
    for number, task in enumerate(tasks):
        for agent in agents:
            for seed in range(1, seeds + 1):
                made.add(task, agent, seed, ["0", "0.3"], final(agent, number, seed))


def apart(agent: str, number: int, seed: int) -> str:
    return str(round((0.9 if agent == "high" else 0.1) - 0.01 * number * (seed % 2), 3))


def alike(agent: str, number: int, seed: int) -> str:
    return str(round(0.3 + 0.05 * ((number * 7 + seed + 3 * len(agent)) % 9), 3))


def analyzed(cli, monkeypatch, width: int) -> str:
    monkeypatch.setattr(out, "_width", width)
    return cli("analyze", "s").stdout


@pytest.mark.parametrize("width", [80, 120])
def test_every_number_has_its_interval_and_fits(cli, tmp_path, monkeypatch, width):
    study(tmp_path, ["high", "low", "middling-name"], EIGHT, 3, apart)
    lines = analyzed(cli, monkeypatch, width).splitlines()
    assert all(len(line.rstrip()) <= width for line in lines if not line.startswith("tables:"))
    for agent in ("high", "low", "middling-name"):
        outcome, process = [line for line in lines if line.startswith(f" {agent} ")]
        assert len(re.findall(NUMBER, outcome)) == 2, outcome
        assert len(re.findall(NUMBER, process)) == 3, process
        assert outcome.split()[-4:-1] == ["3", "8", "24"], "k, tasks, runs"


def test_pairs_that_differ_are_named_with_difference_interval_and_p(cli, tmp_path, monkeypatch):
    study(tmp_path, ["high", "low"], EIGHT, 3, apart)
    text = analyzed(cli, monkeypatch, 120)
    assert re.search(r"high is higher than low \(avg@3: \+0\.80 \[\d\.\d\d, \d\.\d\d\], p 0\.0\d+, 8 tasks\)", text)
    places = [line.split()[-1] for line in text.splitlines() if re.match(r" (high|low) ", line)][:2]
    assert places == ["1", "2"]


def test_agents_that_cannot_be_told_apart_say_so_and_share_their_places(cli, tmp_path, monkeypatch):
    study(tmp_path, ["a", "bb"], EIGHT, 2, alike)
    text = analyzed(cli, monkeypatch, 160)
    pair = r"no evidence of a difference between \w+ and \w+ \(avg@2: [+-]\d\.\d\d \[-\d\.\d\d, \d\.\d\d\], p [\d.]+, 8 tasks\)"
    assert re.search(pair, text), text
    places = [line.split()[-1] for line in text.splitlines() if re.match(r" (a|bb) ", line)][:2]
    assert places == ["1–2", "1–2"]


def test_four_tasks_are_too_few_whatever_the_difference(cli, tmp_path, monkeypatch):
    study(tmp_path, ["high", "low"], FOUR, 2, apart)
    text = analyzed(cli, monkeypatch, 200)
    assert "no evidence of a difference between high and low; too few tasks for any result to be significant" in text
    assert "p cannot be below 0.125" in text
    drawn, these = text.split("On just these tasks, with other seeds: ")
    assert "is higher than" not in drawn
    assert re.match(r"high is higher than low \(avg@2: \+0\.80 \[\d\.\d\d, \d\.\d\d\], p 0\.0\d+, 4 tasks\)\.", these)
    assert "only 4 tasks" in text, "the interval's own remark"


def test_one_run_has_numbers_without_intervals_and_nothing_to_compare(cli, tmp_path, monkeypatch):
    study(tmp_path, ["a"], {"t": "toy"}, 1, lambda *_: "0.5")
    text = analyzed(cli, monkeypatch, 80)
    assert "0.50 [no interval]" in text and "one task" in text
    assert "difference" not in text and "place" not in text and "[low, high]" not in text


def test_one_agent_on_many_tasks_is_compared_with_nobody(cli, tmp_path, monkeypatch):
    study(tmp_path, ["a"], EIGHT, 2, alike)
    text = analyzed(cli, monkeypatch, 80)
    assert re.search(NUMBER, text) and "[low, high]: 95 % interval" in text
    assert "difference" not in text and "place" not in text


def test_missing_scores_are_counted_and_no_number_is_made_of_them(cli, tmp_path, monkeypatch):
    def final(agent: str, number: int, seed: int) -> str | None:
        return None if agent == "gone" or (number, seed) == (0, 1) else apart(agent, number, seed)

    study(tmp_path, ["high", "gone"], FOUR, 2, final)
    text = analyzed(cli, monkeypatch, 120)
    (gone,) = [line for line in text.splitlines() if line.startswith(" gone ")][:1]
    assert gone.split() == ["gone", "—", "—", "2", "0", "0", "of", "8"]
    (high,) = [line for line in text.splitlines() if line.startswith(" high ")][:1]
    assert high.split()[-3:] == ["7", "of", "8"]
    assert "difference" not in text and "gone is" not in text


def half_known(agent: str, number: int, seed: int) -> str | None:
    """The high agent has the first of three seeds alone."""
    if agent == "high":
        return f"{0.9 - 0.01 * number:.2f}" if seed == 1 else None
    return f"{0.5 + 0.01 * number:.2f}"


@pytest.mark.parametrize("width", [80, 120])
def test_a_difference_that_missing_scores_could_reverse_gives_no_place(cli, tmp_path, monkeypatch, width):
    study(tmp_path, ["high", "low"], EIGHT, 3, half_known)
    text = analyzed(cli, monkeypatch, width)
    said = " ".join(text.split())
    assert "high is higher than low, as far as scores are there; missing ones could reverse it" in said
    assert re.search(r"8 tasks, whatever is missing: \[-0\.\d\d, 0\.\d\d\]\)", said)
    lines = text.splitlines()
    places = [line.split()[-1] for line in lines if re.match(r" (high|low) ", line)][:2]
    assert places == ["1–2", "1–2"]
    (at,) = [i for i, line in enumerate(lines) if line.startswith(" high ")][:1]
    assert re.fullmatch(r" +\(0\.\d\d to 0\.\d\d\) +\(0\.\d\d to 1\.00\) *", lines[at + 1]), "of avg and of best"
    assert "(low to high): the number with every missing score at 0, and with every one at 1" in said
    assert all(len(line.rstrip()) <= width for line in lines if not line.startswith("tables:"))


def test_the_best_of_fewer_than_k_says_so(cli, tmp_path, monkeypatch):
    study(tmp_path, ["high", "low"], EIGHT, 3, half_known)
    assert "best@3: high: 8 of 8 tasks have fewer than 3 scores: their best is low" in analyzed(cli, monkeypatch, 120)


def test_one_seed_is_the_reason_why_nothing_is_found_on_just_these_tasks(cli, tmp_path, monkeypatch):
    study(tmp_path, ["high", "low"], EIGHT, 1, apart)
    said = " ".join(analyzed(cli, monkeypatch, 120).split())
    these = said[said.index("On just these tasks") :]
    assert "one seed per task" in these and "too few tasks" not in these


def test_the_least_p_is_the_corrected_one_and_names_the_comparisons(cli, tmp_path, monkeypatch):
    agents = [f"a{i}" for i in range(7)]
    seven = {f"t{i}": "toy" for i in range(7)}
    study(tmp_path, agents, seven, 1, lambda agent, number, _: f"{0.1 * int(agent[1]) + 0.2 + 0.01 * number:.2f}")
    text = analyzed(cli, monkeypatch, 200)
    assert "with 21 comparisons p cannot be below 0.328" in text, "21 * 2 ** -6"
    assert "0.0156" not in text
    assert "no pair could have been told apart: one seed per task" in text


def test_the_process_numbers_have_their_support_and_their_remarks(cli, tmp_path, monkeypatch):
    study(tmp_path, ["high", "low"], FOUR, 2, apart)
    text = analyzed(cli, monkeypatch, 120)
    process = text[text.index("framing C1") :]
    assert "each number: k 2, 4 tasks, 8 runs" in process
    assert "only 4 tasks: what is rare among such tasks was probably not seen" in process
    made = MadeStudy(tmp_path / "t", ["a", "b"], FOUR, 2)
    for agent, number, seed in [(a, n, s) for a in "ab" for n in range(4) for s in (1, 2)]:
        made.add(f"t{number}", agent, seed, [] if (agent, number) == ("b", 0) else ["0", "0.3"], "0.5")
    lines = cli("analyze", "t").stdout.splitlines()
    assert [line.split() for line in lines if "3 tasks, " in line] == [["3", "tasks,", "6", "runs"] * 3]
    assert "below each number its support; k 2" in " ".join(lines)


def test_pair_lines_have_the_remarks_of_their_comparison(cli, tmp_path, monkeypatch):
    study(tmp_path, ["a", "b"], EIGHT, 2, lambda agent, number, _: "0.5" if number or agent == "a" else "0.4")
    text = analyzed(cli, monkeypatch, 200)
    assert "differences: 7 of 8 tasks do not differ at all: rare exceptions may be unseen" in text


@pytest.mark.parametrize("width", [80, 120])
def test_averages_over_common_tasks_have_intervals(cli, tmp_path, monkeypatch, width):
    def final(agent: str, number: int, seed: int) -> str | None:
        return None if (agent, number) == ("a", 7) else alike(agent, number, seed)

    study(tmp_path, ["a", "bb"], EIGHT, 2, final)
    lines = analyzed(cli, monkeypatch, width).splitlines()
    assert all(len(line.rstrip()) <= width for line in lines if not line.startswith("tables:"))
    (head,) = [i for i, line in enumerate(lines) if "common avg@2" in line]
    rows = lines[head + 2 : head + 4]
    assert [re.match(r" (\w+) +", row)[1] for row in rows] in (["a", "bb"], ["bb", "a"])
    assert all(len(re.findall(NUMBER, row)) == 2 and row.split()[-3:] == ["2", "7", "14"] for row in rows), rows


def test_hostile_names_move_no_terminal_and_are_no_markup(cli, tmp_path, monkeypatch):
    study(tmp_path, ["plain", HOSTILE], EIGHT, 1, alike)
    text = analyzed(cli, monkeypatch, 160)
    assert "\x1b" not in text and "\u202e" not in text
    shown = r"[bold]x\x202ey\x1b[31m"
    assert f"a difference between {shown} and plain" in text or f"a difference between plain and {shown}" in text
    assert len([line for line in text.splitlines() if line.startswith(f" {shown} ")]) == 2


def test_json_has_the_ends_beside_every_number(cli, tmp_path):
    study(tmp_path, ["high", "low"], EIGHT, 2, apart)
    found = json.loads(cli("analyze", "s", "--json").stdout)
    (row,) = [r for r in found["outcome"] if (r["agent"], r["category"]) == ("high", "overall")]
    assert row["avg_at_k_low"] < row["avg_at_k"] < row["avg_at_k_high"]
    assert row["best_at_k_low"] < row["best_at_k"] < row["best_at_k_high"] and row["k"] == 2
    (c1,) = [r for r in found["process"] if (r["agent"], r["category"], r["measure"]) == ("high", "overall", "c1")]
    assert c1["low"] <= c1["value"] <= c1["high"] and c1["k"] == 2
    assert {"low", "high", "k", "guard"} <= found["resources"][0].keys() & found["diagnostics"][0].keys()
    assert {
        r["finding"] for r in found["comparisons"] if r["measure"] == "avg_at_k" and r["category"] == "overall"
    } == {"first_higher"}
    assert "intervals" not in found


def test_json_has_the_ends_of_means_over_agents_and_of_common_tasks(cli, tmp_path):
    def final(agent: str, number: int, seed: int) -> str | None:
        return None if (agent, number) == ("a", 7) else alike(agent, number, seed)

    study(tmp_path, ["a", "bb"], EIGHT, 2, final)
    found = json.loads(cli("analyze", "s", "--json").stdout)
    assert len(found["process_by_category"]) == 6
    for row in found["process_by_category"]:
        assert row["low"] <= row["value"] <= row["high"] and row["k"] == 2
    (row,) = [r for r in found["outcome"] if (r["agent"], r["category"]) == ("a", "overall")]
    assert row["common_avg_low"] < row["common_avg"] < row["common_avg_high"]
    assert row["common_best_low"] < row["common_best"] < row["common_best_high"]


def test_json_has_what_missing_scores_could_make_of_a_number(cli, tmp_path):
    study(tmp_path, ["a", "b"], EIGHT, 2, lambda a, n, s: None if (a, n, s) == ("a", 0, 1) else alike(a, n, s))
    found = json.loads(cli("analyze", "s", "--json").stdout)
    a, b = (
        next(r for r in found["outcome"] if (r["agent"], r["category"]) == (agent, "overall")) for agent in ("a", "b")
    )
    assert a["avg_at_k_missing_low"] < a["avg_at_k"] < a["avg_at_k_missing_high"]
    assert a["avg_at_k_outer_low"] < a["avg_at_k_missing_low"] and a["avg_at_k_outer_high"] > a["avg_at_k_missing_high"]
    assert b["avg_at_k_missing_low"] is None and b["best_at_k_outer_high"] is None
    assert a["paired_avg_low"] is None and a["paired_avg_guard"] is None, "nothing is calibrated"
    assert {"missing_low", "missing_high", "outer_low", "outer_high"} <= found["process"][0].keys()
