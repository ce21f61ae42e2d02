"""What is explained are the tables' own numbers, and the terms that are printed give them."""

from __future__ import annotations

import dataclasses
import shutil
import types
import typing
from fractions import Fraction

import pytest
import terms
from hypothesis import given, settings
from hypothesis import strategies as st
from made_run import MadeRun, Round
from made_study import MadeStudy
from terms import worked_out

from loopscope.analysis.build import analyze
from loopscope.analysis.explain import Explanation, explain, explain_run, find_checkpoint, selected, steps_of
from loopscope.analysis.explain.figures import FUNCTIONS, exactly, total
from loopscope.analysis.explain.flags import MEANINGS
from loopscope.analysis.explain.transcript import _SUPPORT
from loopscope.analysis.rows import checkpoint_rows, dip_rows
from loopscope.analysis.run_row import run_row
from loopscope.analysis.runs import RunAnalysis
from loopscope.evidence.evaluator import evaluator_for, shipped_evaluators
from loopscope.measures import Flag
from loopscope.models import BuildStatus, HarnessSupport
from loopscope.models.tables import CheckpointRow, DipRow, RunRow
from loopscope.records import RecordError, StudyStore

GRID = st.sampled_from(["0", "0.1", "0.105", "0.3333", "0.5", "0.51", "0.8", "0.97", "1", "0.123456789012345"])
SECONDS = st.sampled_from(["0.2", "0.37", "0.41", "0.9", "1.5", "2.75"])


def rounds(values: st.SearchStrategy[str]) -> st.SearchStrategy[list[Round]]:
    pairs = st.tuples(st.sampled_from(["s0", "s1", "s2"]), st.sampled_from(["./solve", "make bench"]))
    one = st.builds(
        Round,
        rewards=st.lists(values, max_size=3).map(tuple),
        verified=st.booleans() | st.just(True),
        builds=st.lists(st.sampled_from(BuildStatus), max_size=6).map(tuple),
        evaluations=st.lists(pairs, max_size=4).map(tuple),
        delivered=st.sampled_from([True, True, False, None]),
        canonical=st.sampled_from([True, True, True, False]),
        seen=st.sampled_from([True, True, True, False]),
        claimed=st.none() | values,
        remarks=st.sampled_from([(), (), ("a gain within the noise",)]),
    )
    starts = st.sampled_from(["", "clean", "ambiguous"])

    def begun(parts: tuple[list[Round], str]) -> list[Round]:
        found, start = parts
        return [dataclasses.replace(found[0], initial=start, canonical=True), *found[1:]] if found else []

    return st.tuples(st.lists(one, max_size=26), starts).map(begun)


def columns(row: type) -> list[str]:
    """Columns that hold a number, or a yes or no that was counted."""
    hints = typing.get_type_hints(row)
    found = []
    for name, hint in hints.items():
        kinds = set(typing.get_args(hint)) if isinstance(hint, types.UnionType) else {hint}
        if kinds & {int, float} or kinds == {bool, type(None)}:
            found.append(name)
    return found


def hold(run: RunAnalysis, told: Explanation) -> None:
    """Explained is what the tables hold, all of it, and terms give it."""
    for step in steps_of(told):
        if step.terms is not None:
            assert step.exact is not None, step
            assert worked_out(step.terms) == Fraction(step.exact), step
        if step.exact is not None:
            assert float(Fraction(step.exact)) == step.value, step
        assert step.value is not None or step.note, f"no value, and no word why: {step}"
    rows = {step.name: step.value for step in steps_of(told) if step.table == "runs"}
    wanted = run_row(run)
    assert rows == {name: getattr(wanted, name) for name in columns(RunRow) if name != "seed"}
    for commit, row in zip(told.checkpoints or (), checkpoint_rows(run), strict=True):
        shared = [field.name for field in dataclasses.fields(CheckpointRow) if hasattr(commit, field.name)]
        shown = {name: getattr(commit, name) for name in shared if name not in ("score", "claimed")}
        assert shown == {name: getattr(row, name) for name in shown}
        assert commit.score.step.value == row.score
        assert (commit.index is None) == (row.canonical_index is None)
    assert told.c3 is not None
    for episode, dip in zip(told.c3.episodes, dip_rows(run), strict=True):
        shown = {step.name: step.value for step in episode.steps if step.table == "dips"}
        assert shown == {name: getattr(dip, name) for name in columns(DipRow) if name != "episode"}
    assert told.c2 is not None
    assert [attempt.note for attempt in told.c2.attempts if "lists" in attempt.note] == []
    assert [at.note for episode in told.c3.episodes for at in episode.transitions if at.note] == []


@settings(max_examples=40, deadline=None)
@given(rounds(GRID), st.none() | st.lists(GRID, max_size=3).map(tuple))
def test_a_run_of_our_own_is_explained_by_the_numbers_of_its_tables(made, final):
    run = MadeRun(made, final).analysis()
    hold(run, explain(run))


@settings(max_examples=40, deadline=None)
@given(rounds(SECONDS), st.none() | st.lists(SECONDS, max_size=3).map(tuple))
def test_an_imported_run_is_explained_by_the_numbers_of_its_tables(made, final):
    evaluator = evaluator_for("regex_engine")
    run = MadeRun(made, final, evaluator).analysis()
    told = explain(run, evaluator)
    hold(run, told)
    for commit in told.checkpoints or ():
        assert commit.score.origin in ("reconstructed", "missing")
        rewards = {reward for one in commit.score.evaluations for reward in one.seen.rewards}
        assert {float(reward) for reward in rewards} == {step.value for step in commit.score.rewards}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Only read; a test that changes it takes a copy."""
    study = MadeStudy(tmp_path_factory.mktemp("made") / "study", ["a", "b"], {"t": "toy", "u": "puzzle"}, 2)
    steps = [
        {"kind": "build", "status": "code_failure"},
        {"kind": "build"},
        {"kind": "evaluate", "state": "a" * 16, "command": "./bench"},
        {"kind": "evaluate", "state": "b" * 16, "command": "./bench"},
        {"kind": "commit", "commit": 1, "state": "a" * 16},
    ]
    study.add("t", "a", 1, ["0", "0.8", "0.5", "0.8"], "0.8", steps=steps, repeats=3)
    study.add("t", "a", 2, ["0", "0.2"], "0.1", messages=["start", "journal only"])
    study.add("u", "a", 1, ["0.3", None, "0.4", "unverified"], None, initial="ambiguous")
    study.add("t", "b", 1, [], "0.5")
    study.add("t", "b", 2, ["0", "0"], "0")
    return study


def copied(made, tmp_path):
    return StudyStore(shutil.copytree(made.path, tmp_path / "copy"))


def test_every_run_of_a_study_is_explained_by_its_tables(made, tmp_path):
    study = copied(made, tmp_path)
    found = analyze(study.path)
    table = {row["run_id"]: row for row in found.frames["runs"].to_dicts()}
    assert len(table) == 5
    for run_id, row in table.items():
        told = explain_run(study.path, run_id)
        shown = {step.name: step.value for step in steps_of(told) if step.table == "runs"}
        assert shown == {name: row[name] for name in shown}
        assert set(shown) == set(columns(RunRow)) - {"seed"}
        assert not any("tables" in warning for warning in told.warnings)
        for step in steps_of(told):
            assert step.terms is None or worked_out(step.terms) == Fraction(step.exact or ""), step
    told = explain_run(made.path, "t__a__s1")
    assert told.c2 is not None
    assert [[build.seen.at.message for build in attempt.failures] for attempt in told.c2.attempts] == [[], [1], [], []]
    assert [len(commit.candidates_seen) for commit in told.checkpoints or ()] == [0, 2, 0, 0]


def test_nothing_is_written_and_tables_of_yesterday_are_told(made, tmp_path):
    study = copied(made, tmp_path)
    analyze(study.path)
    before = {path: path.read_bytes() for path in study.path.rglob("*") if path.is_file()}
    explain_run(study.path, "t__a__s1")
    assert {path: path.read_bytes() for path in study.path.rglob("*") if path.is_file()} == before
    study.run("t__b__s1").write_score(study.run("t__a__s1").scores()["final"])
    (warning,) = (warning for warning in explain_run(study.path, "t__b__s1").warnings if "tables" in warning)
    assert "differ in final_score" in warning
    assert "loopscope analyze" in warning


def test_a_run_is_found_by_the_beginning_of_its_name(made):
    assert explain_run(made.path, "u").run_id == "u__a__s1"
    assert explain_run(made.path, "b__s1").run_id == "t__b__s1", "a part of it will do"
    assert explain_run(made.path / "runs" / "t__b__s1").run_id == "t__b__s1"
    for wanted, said in (
        ("t__", "'t__' fits 4 runs"),
        ("x", "no run's name has 'x' in it; there are t__a__s1"),
        ("b__", "'b__' fits 2 runs; give more of the name: t__b__s1, t__b__s2"),
        (None, "holds 5 runs; name one of them"),
    ):
        with pytest.raises(RecordError, match=said):
            explain_run(made.path, wanted)


def test_a_commit_is_found_by_position_or_id(made):
    told = explain_run(made.path, "t__a__s1")
    commits = told.checkpoints or ()
    assert find_checkpoint(told, "2") is commits[2]
    assert find_checkpoint(told, commits[3].sha[:9].upper()) is commits[3]
    for wanted in ("", "99999999999", "9" * 5000, "zz"):
        with pytest.raises(RecordError, match="give a position from 0 to 3") as caught:
            find_checkpoint(told, wanted)
        assert len(str(caught.value)) < 300


def test_what_was_asked_for_comes_alone(made):
    told = explain_run(made.path, "t__a__s1")
    one = selected(told, ["dip_depth", "c1"])
    assert [step.name for step in one.diagnostics or ()] == ["dip_depth"]
    assert one.c1 == told.c1
    assert (one.c2, one.c3, one.checkpoints, one.usage) == (None, None, None, None)
    assert selected(told, ["recovery_credit"]).c3 == told.c3
    with pytest.raises(RecordError, match="--measure 'c9': no such measure"):
        selected(told, ["c9"])


def test_failed_builds_and_candidates_are_named_by_their_messages():
    made = [
        Round(("0",), initial="clean"),
        Round(("0.8",)),
        Round(("0.2",)),
        Round(
            ("0.8",),
            builds=(BuildStatus.CODE_FAILURE, BuildStatus.SUCCEEDED, BuildStatus.ENVIRONMENT_FAILURE),
            evaluations=(("s2", "./bench"), ("s2", "./bench"), ("s3", "./bench")),
        ),
    ]
    told = explain(MadeRun(made, ("0.8",)).analysis())
    assert told.c2 is not None
    assert told.c3 is not None
    last = told.c2.attempts[-1]
    assert [build.seen.at.message for build in last.failures] == [2]
    assert last.score is not None
    assert (last.score.formula, last.score.terms, last.score.exact) == ("g * d(1)", "1 * 0.85", "0.85")
    (episode,) = told.c3.episodes
    (transition,) = episode.transitions
    assert (transition.a, transition.u, transition.d) == (2, 1, "0.85")
    assert [[at.message for at in pair.at] for pair in transition.candidates] == [[8, 10], [12]]
    assert {step.name: step.exact for step in episode.steps}["credit"] == "0.85"
    assert (told.c3.a2.terms, told.c3.c3.terms) == ("0.85 / 1", "(1 + 0.85) / 2")


def test_the_builds_of_a_removed_commit_count_for_the_next():
    failed = (BuildStatus.CODE_FAILURE,)
    made = [Round(("0",)), Round(("0",), builds=failed, canonical=False), Round(("0.5",), builds=failed)]
    told = explain(MadeRun(made, ("0.5",)).analysis())
    assert told.c2 is not None
    assert [[build.seen.at.message for build in attempt.failures] for attempt in told.c2.attempts] == [[], [2, 4]]


def test_a_reconstructed_score_is_marked_and_shows_its_formula():
    evaluator = evaluator_for("regex_engine")
    told = explain(MadeRun([Round(("0.41", "0.9", "0.37"))], None, evaluator).analysis(), evaluator)
    score = (told.checkpoints or ())[0].score
    assert (score.origin, score.step.terms) == ("reconstructed", "median(0.1825, 0.4633, 0.5)")
    assert "not official" in score.step.note
    assert score.rewards[0].terms == "round(max(0, min(1, 0.5 * ln(1.5 / 0.41) / ln(1.5 / 0.37))), 4)"
    assert [one.seen.at.message for one in score.evaluations] == [2, 4, 6]


@pytest.mark.parametrize("task", sorted(shipped_evaluators()))
def test_every_shipped_formula_is_shown_so_that_it_gives_the_reward(task):
    evaluator = evaluator_for(task)
    assert evaluator is not None
    assert evaluator.reward is not None
    low, high = sorted((evaluator.reward.base, evaluator.reward.reference))
    values = tuple(str(low + (high - low) * step / 7) for step in range(-1, 10) if low + (high - low) * step / 7 > 0)
    told = explain(MadeRun([Round(values)], None, evaluator).analysis(), evaluator)
    steps = (told.checkpoints or ())[0].score.rewards
    assert len(steps) == len(values)
    for step in steps:
        assert worked_out(step.terms or "0") == Fraction(step.exact or ""), step
        assert step.terms or "gate" in step.formula


@pytest.mark.parametrize(
    ("number", "text"),
    [("1/3", "1/3"), ("17/20", "0.85"), ("-1/4", "-0.25"), ("30", "30"), ("0", "0"), ("1/1024", "0.0009765625")],
)
def test_numbers_are_printed_exactly(number, text):
    assert exactly(Fraction(number)) == text


def test_equal_neighbours_of_a_sum_are_written_once():
    assert total([0, Fraction(4, 5), Fraction(4, 5), Fraction(1, 3), -1]) == "0 + 2 * 0.8 + (1/3) + (-1)"


def test_nothing_is_left_without_a_word():
    assert set(MEANINGS) == set(Flag)
    assert set(_SUPPORT) == set(HarnessSupport.model_fields)
    assert set(FUNCTIONS) == set(terms.FUNCTIONS)


def test_store_without_runs_says_so(tmp_path):
    (tmp_path / "runs").mkdir()
    with pytest.raises(RecordError, match="holds no finished run yet"):
        explain_run(StudyStore(tmp_path).path)
