"""Final scores that imported logs state themselves: they count, are marked, and are told beside the transcript's."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_imports import imported, rounds, trial_of
from made_transcript import bench

from loopscope.analysis.build import analyze
from loopscope.analysis.explain import explain_run
from loopscope.cli.explained import explanation_text

HALF = 0.5  # of 10 ms, by the evaluator's formula
WHERE = "result.json verifier_result.rewards"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    steps = [*rounds("50", "10"), bench("10")]
    trials = (
        trial_of(tmp_path / "fast__1", steps, 0.35),
        trial_of(tmp_path / "fast__2", steps, 0.505),
        trial_of(tmp_path / "fast__3", steps, None),
        trial_of(tmp_path / "fast__4", (), 0.25),
    )
    return imported(tmp_path / "study", *trials)


def test_a_reported_reward_is_the_final_score_with_a_source_of_its_own(study: Path) -> None:
    runs = analyze(study).frames["runs"].sort("seed").to_dicts()
    assert [(r["final_score"], r["final_source"], r["final_grade"]) for r in runs] == [
        (0.35, "reported", "reported"),
        (0.505, "reported", "reported"),
        (HALF, "reconstructed", "confirmed"),
        (0.25, "reported", "reported"),
    ]
    assert [r["final_reconstructed"] for r in runs] == [HALF, HALF, HALF, None]
    assert (runs[0]["peak_retention"], runs[2]["peak_retention"]) == (pytest.approx(0.7), 1.0)
    assert {r["final_status"] for r in runs} == {"not_verified"}


def test_a_reported_reward_that_the_transcript_does_not_show_is_flagged(study: Path) -> None:
    flags = analyze(study).frames["runs"].sort("seed")["flags"].to_list()
    said = "the log states a final score of 0.35, and its transcript shows 0.5000"
    assert [said in found for found in flags] == [True, False, False, False]
    assert not any("the log states" in text for found in flags[1:] for text in found)


def test_rows_for_several_runs_say_how_many_are_reported(study: Path) -> None:
    found = analyze(study)
    for table in ("outcome", "task_scores", "process", "process_by_category"):
        rows = found.frames[table].to_dicts()
        assert rows
        assert all(row["n_reported"] in (2, 3) for row in rows), table
    [row] = found.frames["task_scores"].to_dicts()
    assert (row["n_reported"], row["n_reconstructed"]) == (3, 1)


def test_explain_shows_both_and_where_they_are_from(study: Path) -> None:
    analyze(study)
    text = " ".join(explanation_text(explain_run(study, "fast__model__s1"), 200).plain.split())
    assert "final_score = 0.35 (reported): the reward that the log states" in text
    assert f"from {WHERE} of the log" in text
    assert "beside it, by the transcript: reconstructed = 0.5" in text
    assert "final_reconstructed = 0.5" in text
    assert "it differs by more than 0.01" in text
