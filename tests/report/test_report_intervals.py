"""What the first page says of how sure its numbers are. The tables are made up: the page must say what they say."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from study_maker import Study, make
from test_report_site import Page

from loopscope.report import build_report
from loopscope.report.inputs import StudyInputs

TWO = (("csv_groupby", "System optimization"), ("addition_chains", "Puzzle"))
HOSTILE = "<b>x</b>\u202e\x1b[31m"


def built(tmp_path: Path, study: Study) -> Path:
    made = make(tmp_path / "study", study)
    build_report(made)
    return made


def first_page(study: Path) -> str:
    return " ".join(Page(study / "report" / "index.html").text.split())


def part(text: str, start: str, end: str) -> str:
    begin = text.index(start)
    return text[begin : text.index(end, begin)]


def change(study: Path, table: str, **columns: pl.Expr) -> None:
    path = study / "tables" / f"{table}.parquet"
    frame = pl.read_parquet(path)
    frame.with_columns(expr.cast(frame.schema[name]).alias(name) for name, expr in columns.items()).write_parquet(path)
    build_report(study)


def test_every_number_of_the_first_page_has_its_interval(tmp_path: Path) -> None:
    study = built(tmp_path, Study(tasks=TWO, seeds=(1, 2), sure=True))
    inputs, text = StudyInputs(study), first_page(study)
    outcome = part(text, "PlaceAgent", "Can they be told apart?")
    shown = 0
    for row in inputs.intervals.values():
        if row.reading != "random tasks" or row.low is None or row.category != "overall":
            continue
        if row.measure in ("avg_at_k", "best_at_k"):
            assert f"{row.value:.3f}, [{row.low:.2f}, {row.high:.2f}]" in outcome, row
            shown += 1
        elif row.measure in ("best_observed", "peak_retention", "dip_rate"):
            assert f"{row.value:.3f}, [{row.low:.2f}, {row.high:.2f}]" in part(
                text, "Diagnostics What", "Cost and time"
            )
            shown += 1
    assert shown > 8
    assert "these: [" in outcome, "the other reading, named"
    assert re.search(r"total [\w .]+, n = \d", text) and re.search(r"1 min 15 s, \[1 min 0\d s, 1 min 2\d s\]", text)


def test_the_ends_of_an_interval_are_drawn_and_a_number_without_one_has_no_line(tmp_path: Path) -> None:
    study = built(tmp_path, Study(agents=("search",), tasks=TWO, seeds=(1, 2), sure=True))
    drawn = (study / "report" / "figures" / "leaderboard.svg").read_text()
    assert "95 % intervals" in drawn
    change(study, "intervals", low=pl.lit(None), high=pl.lit(None), guard=pl.lit("one task: nothing is known"))
    bare = (study / "report" / "figures" / "leaderboard.svg").read_text()
    assert "95 % intervals" not in bare and bare.count("<line") < drawn.count("<line")
    text = first_page(study)
    assert "no interval" in text and "One task: nothing is known." in text


def test_agents_that_cannot_be_told_apart_share_their_places(tmp_path: Path) -> None:
    study = built(tmp_path, Study(tasks=TWO, seeds=(1, 2)))
    text = first_page(study)
    assert "the others cannot be told apart from it" in text
    assert "There is no evidence of a difference between any two of them." in text
    assert text.count("1–3") >= 3
    assert "is higher" not in text
    matrix = part(text, "Every pair", "In words, for every number")
    assert matrix.count("no evidence of a difference") == 6 and matrix.count("p 0.25") == 6


def test_differences_that_were_found_are_named(tmp_path: Path) -> None:
    study = built(tmp_path, Study(tasks=TWO, seeds=(1, 2), finding="higher", sure=True))
    inputs, text = StudyInputs(study), first_page(study)
    these = part(text, "On just these tasks, with other seeds: ", "No evidence of a difference is no evidence")
    assert (
        len(re.findall(r"is higher than \w+ \(avg@2: \+0\.\d\d \[-?0\.\d\d, 0\.\d\d\], p 0\.03, 2 tasks\)", these)) == 3
    )
    assert "Yes, each from each other." in text and "cannot be told apart" not in text
    assert f"{inputs.agents[0]} is higher" in part(text, "Every pair", "In words")
    [row] = [
        r
        for r in inputs.comparisons
        if {r.first, r.second} == set(inputs.agents[:2])
        and (r.measure, r.category, r.reading) == ("avg_at_k", "overall", "random tasks")
    ]
    assert f"+{abs(row.difference or 0):.2f}" in text, "first minus second, seen from the one that stands first"
    assert "PlaceAgentavg@2best@2 1search" in text, "a place of its own"


def test_too_few_tasks_for_any_result_are_named_as_the_reason(tmp_path: Path) -> None:
    study = built(tmp_path, Study(tasks=TWO, seeds=(1, 2), finding="too_few"))
    text = first_page(study)
    assert "No, and no result could have shown it: too few tasks for any result to be significant" in text
    assert "with 3 comparisons p cannot be below 0.75" in text, "as it is corrected"
    assert "Only 2 tasks: resamples of so few hardly differ." in text
    assert "p 0.03" not in text, "a p that cannot be small enough is not shown as if it could"
    assert "Too few tasks here for any difference between agents to be significant." in text


def test_a_difference_that_missing_scores_could_reverse_is_none_that_was_found(tmp_path: Path) -> None:
    study = built(tmp_path, Study(agents=("search", "oracle"), tasks=TWO, seeds=(1, 2), finding="higher", sure=True))
    assert "Yes." in first_page(study)
    change(study, "comparisons", missing_low=pl.lit(-0.2), missing_high=pl.lit(0.3), reversible=pl.lit(value=True))
    text = first_page(study)
    assert "Yes." not in text and text.count("1–2") >= 2, "no place that missing scores can undo"
    assert "0 of 1 pair can be told apart, and 1 more only as far as scores are there" in text
    assert "whatever is missing: [" in text


def test_one_seed_is_the_reason_where_no_interval_is(tmp_path: Path) -> None:
    study = built(tmp_path, Study(agents=("search", "oracle"), tasks=TWO, seeds=(1,), finding="too_few"))
    nothing, guard = pl.lit(None), pl.lit("one seed per task: nothing says how seeds differ")
    change(study, "comparisons", low=nothing, high=nothing, guard=guard)
    text = first_page(study)
    assert "no result could have shown it: one seed per task: nothing says how seeds differ" in text
    assert "too few tasks for any result" not in text


@pytest.mark.parametrize("agents", [("search",), ()])
def test_one_agent_or_none_is_compared_with_nobody(tmp_path: Path, agents: tuple[str, ...]) -> None:
    study = built(tmp_path, Study(agents=agents, tasks=TWO if agents else (), seeds=(1,)))
    text = first_page(study)
    assert "told apart" not in text and "PlaceAgent" not in text and "In which place?" not in text
    assert not (study / "report" / "figures" / "differences.svg").exists()


def test_one_run_says_that_it_has_no_interval(tmp_path: Path) -> None:
    study = built(tmp_path, Study(agents=("search",), tasks=TWO[:1], seeds=(1,)))
    outcome = part(first_page(study), "Outcome", "By category")
    assert re.search(r"0\.\d{3}, no interval, these: \[", outcome)
    assert "One task: its spread is unknown." in outcome


def test_missing_scores_are_bounded_and_not_filled_in(tmp_path: Path) -> None:
    study = built(tmp_path, Study(tasks=TWO, seeds=(1, 2), failed=("addition_chains__oracle__s2",)))
    [row] = [
        r
        for r in StudyInputs(study).intervals.values()
        if (r.agent, r.category, r.measure, r.reading) == ("oracle", "overall", "avg_at_k", "random tasks")
    ]
    known = part(first_page(study), "If what is missing were known", "By category")
    assert f"{row.value:.3f}, {row.missing_low:.3f} to {row.missing_high:.3f}" in known
    assert "search" not in known
    whole = built(tmp_path / "whole", Study(tasks=TWO[:1], seeds=(1,), agents=("oracle", "nop")))
    assert "If what is missing were known" not in first_page(whole)


def test_the_split_of_the_noise_says_what_nothing_tells(tmp_path: Path) -> None:
    study = built(tmp_path, Study(agents=("search", "oracle"), tasks=TWO, seeds=(1,)))
    noise = part(first_page(study), "What is noise?", "By category")
    spread = "0.200, no interval— missing: one seed per task0.012, no interval6, in 4 runs"
    assert f"{spread}1.5, no interval, at most 25 % of them" in noise
    assert "One seed per task." in noise and "Noise of one task stands for the others." in noise


def test_places_are_shares_of_resamples(tmp_path: Path) -> None:
    study = built(tmp_path, Study(tasks=TWO, seeds=(1, 2)))
    places = part(first_page(study), "In which place?", "Would the order stand")
    assert "Of 10,000 resamples of the tasks" in places
    assert places.count("75 %") == 3
    change(study, "rankings", category=pl.lit("nowhere"))
    assert "Resamples give no places" in first_page(study)


def test_the_order_is_held_against_that_of_a_part(tmp_path: Path) -> None:
    study = built(tmp_path, Study(tasks=TWO, seeds=(1, 2)))
    order = part(first_page(study), "Would the order stand", "Do harnesses")
    assert "avg@21 of 2 seeds75 %30 %0.50, [\u22120.25, 1.00]3 agents, 2 tasks, 1,000 draws" in order
    assert "best@2without System optimizationyesno\u2014" in order and "3 agents, 2 tasks" in order
    change(study, "stability", what=pl.lit(HOSTILE))
    assert "<b>x</b>\u27e8U+202E\u27e9\u27e8ESC\u27e9[31m75 %" in first_page(study)


def test_harnesses_with_the_same_models_are_held_against_each_other(tmp_path: Path) -> None:
    study = built(tmp_path, Study(tasks=TWO, seeds=(1, 2)))
    agreement = part(first_page(study), "Do harnesses with the same models agree?", "What is noise?")
    named = "one 1.0 against other 2.0"
    assert f"models by avg@2{named}40 %40 %\u22121.00, [\u22121.00, 1.00]2 models, 2 tasks, 1,000 draws" in agreement
    assert f"tasks by avg@2{named}\u2014\u20140.80, [0.60, 1.00]2 tasks, 2 tasks, 1,000 draws" in agreement
    change(study, "stability", ordered=pl.lit("agents"))
    assert "Do harnesses with the same models agree?" not in first_page(study)


def test_c2_that_was_not_all_seen_has_its_ends_and_its_places(tmp_path: Path) -> None:
    study = built(tmp_path, Study(tasks=TWO, seeds=(1, 2)))
    assert "If what is missing were known" not in first_page(study)
    of_c2 = (pl.col("measure") == "c2") & (pl.col("agent") == "search")
    ends = {"missing_low": 0.111, "missing_high": 0.888, "outer_low": 0.04, "outer_high": 0.96}
    change(study, "intervals", **{n: pl.when(of_c2).then(v).otherwise(pl.col(n)) for n, v in ends.items()})
    change(study, "rankings", measure=pl.lit("c2"), best_place=pl.lit(1), worst_place=pl.lit(3))
    known = part(first_page(study), "If what is missing were known", "By category")
    assert ", 0.111 to 0.888, interval [0.04, 0.96], place 1\u20133" in known
    assert "oracle" not in known


def test_hostile_names_stay_text_in_every_new_place(tmp_path: Path) -> None:
    study = built(tmp_path, Study(agents=("search", "oracle"), tasks=TWO, seeds=(1, 2)))
    guard = pl.when(pl.col("agent") == "oracle").then(pl.lit(f"beware of {HOSTILE}")).otherwise("guard")
    change(study, "intervals", guard=guard)
    names = ("agent", "first", "second")
    for path in (study / "tables").glob("*.parquet"):
        frame = pl.read_parquet(path)
        frame.with_columns(pl.col(n).replace("oracle", HOSTILE) for n in names if n in frame.columns).write_parquet(
            path
        )
    build_report(study)
    page = Page(study / "report" / "index.html")
    told = part(" ".join(page.text.split()), "Can they be told apart?", "By category")
    assert "<b>x</b>⟨U+202E⟩⟨ESC⟩[31m" in told
    assert "<b>x</b>⟨U+202E⟩⟨ESC⟩[31m: beware of <b>x</b>⟨U+202E⟩⟨ESC⟩[31m." in page.text, "a name keeps its case"
    assert "b" not in page.tags
    for figure in (study / "report" / "figures").glob("*.svg"):
        assert "<b>" not in figure.read_text()


def test_a_dip_shows_how_sure_it_is(tmp_path: Path) -> None:
    study = built(tmp_path, Study(agents=("search",), tasks=(("t", "c"),), seeds=(1,)))
    change(study, "dips", confidence=pl.lit(0.97), confidence_method=pl.lit("pooled noise"), confidence_pairs=pl.lit(1))
    page = next((study / "report" / "runs").glob("*.html"))
    assert "97.0 %, by the noise of other states" in Page(page).text
    assert "dip, shown again 97.0 %" in page.read_text(), "what the mark on the curve says"
    change(study, "dips", confidence=pl.lit(None))
    assert "missing: a side was measured once, and no noise is known" in Page(page).text


def test_the_first_sentence_has_the_interval_of_its_number(tmp_path: Path) -> None:
    study = built(tmp_path, Study(agents=("search", "oracle"), tasks=TWO, seeds=(1, 2), sure=True))
    (lead,) = re.findall(r"has the highest avg@2, (0\.\d{3} \[-?\d\.\d\d, \d\.\d\d\])", first_page(study))
    tops = [r for r in StudyInputs(study).intervals.values() if (r.category, r.measure) == ("overall", "avg_at_k")]
    top = max((r for r in tops if r.reading == "random tasks"), key=lambda r: r.value or 0.0)
    assert lead == f"{top.value:.3f} [{top.low:.2f}, {top.high:.2f}]"


@pytest.mark.parametrize("agents", [("search", "oracle"), ("search", "oracle", "nop", "more")])
def test_agents_that_share_the_highest_number_have_their_intervals(tmp_path: Path, agents: tuple[str, ...]) -> None:
    study = built(tmp_path, Study(agents=(*agents, "last"), tasks=TWO, seeds=(1, 2)))
    shared, agent = pl.col("agent") != "last", pl.col("agent")
    value = pl.when(shared).then(0.5).otherwise(0.25)
    change(study, "outcome", avg_at_k=value)
    of_avg = pl.col("measure") == "avg_at_k"
    low = pl.when(agent == "oracle").then(0.21).otherwise(0.32)
    ends = {"value": value, "low": low, "high": pl.lit(0.64)}
    change(study, "intervals", **{n: pl.when(of_avg).then(v).otherwise(pl.col(n)) for n, v in ends.items()})
    lead = part(first_page(study), "share the highest avg@2, ", "cannot be told apart from")
    several = " (intervals within [0.21, 0.64])"
    each = {"[0.32, 0.64]", "[0.21, 0.64]"}
    assert lead.endswith("; last ")
    if len(agents) > 3:
        assert lead == f"share the highest avg@2, 0.500{several}; last "
    else:
        assert set(re.findall(r"\[.*?\]", lead)) == each
    change(study, "intervals", low=pl.lit(None), high=pl.lit(None))
    assert "share the highest avg@2, 0.500 [no interval]; last cannot" in first_page(study)


def test_runs_that_were_not_done_are_counted_as_such(tmp_path: Path) -> None:
    study = built(tmp_path, Study(agents=("search", "oracle"), tasks=TWO, seeds=(1, 2)))
    assert "2 rollouts each: 8 runs, 8 with a final score" in first_page(study)
    path = study / "tables" / "runs.parquet"
    frame = pl.read_parquet(path)
    frame.filter(pl.col("run_id") != "addition_chains__oracle__s2").write_parquet(path)
    build_report(study)
    text = first_page(study)
    assert "7 of 8 runs of 4 pairs of agent and task, 1 to 2 rollouts each, 7 with a final score" in text
    assert "1 more planned and not done" in text and "1–2 done" in text


def test_the_best_of_fewer_than_k_says_so(tmp_path: Path) -> None:
    study = built(tmp_path, Study(agents=("search", "oracle"), tasks=TWO, seeds=(1, 2)))
    low = pl.lit("2 of 2 tasks have fewer than 2 scores: their best is low")
    change(study, "intervals", guard=pl.when(pl.col("measure") == "best_at_k").then(low).otherwise(pl.col("guard")))
    assert "best@2: 2 of 2 tasks have fewer than 2 scores: their best is low." in part(
        first_page(study), "PlaceAgent", "Can they be told apart?"
    )


def test_means_over_agents_and_single_tasks_have_their_intervals(tmp_path: Path) -> None:
    study = built(tmp_path, Study(agents=("search", "oracle"), tasks=TWO, seeds=(1, 2)))
    path = study / "tables" / "intervals.parquet"
    frame = pl.read_parquet(path)
    mine = (pl.col("agent") == "search") & (pl.col("category") == "Puzzle") & (pl.col("measure") == "c1")
    everyone = frame.filter(mine).with_columns(
        agent=pl.lit("all agents"), value=pl.lit(0.5), low=pl.lit(0.37), high=pl.lit(0.66)
    )
    pl.concat([frame, everyone]).write_parquet(path)
    ends = {"avg_low": pl.lit(0.11), "avg_high": pl.lit(0.97), "best_low": pl.lit(None), "best_high": pl.lit(None)}
    change(study, "task_scores", **ends)
    text = first_page(study)
    assert "[0.37, 0.66]" in part(text, "All agents, equally", "Diagnostics")
    tasks = text[text.index("Task by task") :]
    assert len(re.findall(r"0\.\d{3}, \[0\.11, 0\.97\] ?best 0\.\d{3} no interval", tasks)) == 4, tasks


def test_the_process_panels_have_their_support_and_their_remarks(tmp_path: Path) -> None:
    study = built(tmp_path, Study(agents=("search", "oracle"), tasks=TWO, seeds=(1, 2), sure=True))
    process = part(first_page(study), "How they worked", "Diagnostics What")
    assert process.count("k = 2, 2 tasks, n = 4 runs per agent") == 3
    assert "2 tasks are few: the interval rests on them alone." in process


def test_averages_over_common_tasks_have_intervals(tmp_path: Path) -> None:
    failed = ("addition_chains__oracle__s1", "addition_chains__oracle__s2")
    study = built(tmp_path, Study(agents=("search", "oracle"), tasks=TWO, seeds=(1, 2), failed=failed))
    path = study / "tables" / "intervals.parquet"
    frame = pl.read_parquet(path)
    mine = frame.filter((pl.col("measure") == "avg_at_k") & (pl.col("category") == "overall"))
    ends = {"value": pl.lit(0.5), "low": pl.lit(0.12), "high": pl.lit(0.87), "guard": pl.lit("few in common")}
    pl.concat([frame, mine.with_columns(measure=pl.lit("common_avg"), **ends)]).write_parquet(path)
    build_report(study)
    board = part(first_page(study), "1 common task", "Can they be told apart?")
    assert board.count("[0.12, 0.87]") == 2
    assert "Common tasks: Few in common." in board
