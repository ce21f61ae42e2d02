"""`explain` as a user meets it: what it prints, for whom it is short, what it does not let through."""

from __future__ import annotations

import json
import re

import explain_page
import pytest
from cli_study import error_line
from made_study import MadeStudy

from loopscope.analysis.explain import Explanation, explain_run
from loopscope.cli.explained import checkpoint_text, explanation_text

HOSTILE = "round 1: \x1b[2J[red]gone\x07 \u202eevil \x9b31m" + "x" * 300


@pytest.fixture
def study(tmp_path):
    return explain_page.example(tmp_path / "s")


def test_what_is_printed_is_what_was_asked_for(cli, study):
    everything = cli("explain", "s", "toy").stdout
    for line in ("c3 = 0.925: (A1 + A2) / 2 = (1 + 0.85) / 2", "failed build m3 make", "candidate m10 ./evaluate"):
        assert line.replace("make", "build") in everything
    assert cli("explain", "s/runs/toy__search__s1").stdout == everything
    one = cli("explain", "s", "toy", "--measure", "c2").stdout
    assert "c2 = 0.95" in one
    assert "\nc1" not in one
    assert "\ncheckpoints" not in one
    commit = cli("explain", "s", "toy", "--checkpoint", "1").stdout
    assert "builds in its window: 2" in commit
    assert "\nc1" not in commit
    assert "\nc1" in cli("explain", "s", "toy", "--checkpoint", "1", "--measure", "c1").stdout


def test_a_whole_run_begins_with_what_each_number_lost(cli, tmp_path):
    made = MadeStudy(tmp_path / "s", ["a"], {"t": "toy"}, 1)
    failed, built = {"kind": "build", "status": "code_failure"}, {"kind": "build"}
    made.add("t", "a", 1, ["0", "0.8", "0.5", "0.8"], "0.8", steps=[failed, built, {"kind": "commit", "commit": 1}])
    text = cli("explain", "s").stdout
    short = text.split("\nin short", 1)[1].split("\n\n", 1)[0]
    assert "final score 0.8 (official)" in short
    assert "4 commits, 4 with a score, 0 removed by the gate" in short
    assert "3 attempts, 0.15 lost: 0 not delivered, 1 delivered after failed builds" in short
    assert "1 left out: the clean initial state" in short
    assert "1 dip (1 full recovery)" in short
    assert "in short" not in cli("explain", "s", "--measure", "c2").stdout


def test_json_is_the_documented_type(cli, study):
    told = Explanation.model_validate(json.loads(cli("explain", "s", "toy", "--json").stdout))
    assert told == Explanation.model_validate_json(explain_run(study.path, "toy").model_dump_json())
    assert cli("explain", "s", "toy", "--json").stdout == cli("explain", "s", "toy__search__s1", "--json").stdout
    short = json.loads(cli("explain", "s", "--json", "--measure", "dip_depth").stdout)
    assert (short["c3"], [step["value"] for step in short["diagnostics"]]) == (None, [0.22])


def test_fractions_too_long_to_read_are_rounded_and_marked(cli, tmp_path):
    made = MadeStudy(tmp_path / "f", ["a"], {"t": "toy"}, 1)
    made.add(
        "t", "a", 1, ["0", "0.2549645977992732", "0.20703145950634155", "0.2167312299810501"], "0.2001199966064308"
    )
    text = cli("explain", "f", "--measure", "c3").stdout
    assert "credit = 0.202360: q_e = rho_e / L_e * D_e = ~0.202360 / 1 * 1" in text
    assert not re.search(r"\d{12}/\d{12}", text)
    told = explain_run(made.path)
    assert told.c3 is not None
    assert "~" not in (told.c3.c3.terms or "~")


def test_within_the_study_a_name_is_enough(cli, study, monkeypatch):
    monkeypatch.chdir(study.path)
    assert "feedback control: 0.925" in cli("explain", "toy__se").stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere"], "no study here"),
        (["s", "x"], "no run's name has 'x' in it; there are toy__search__s1"),
        (["s", "--measure", "c4"], "--measure 'c4': no such measure; give checkpoints, score, c1"),
        (["s", "--checkpoint", "7"], "'7' fits no commit; give a position from 0 to 3"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(cli, study, args, message):
    if args[-1] == "7":  # ids that begin with it would be found
        args = [*args[:-1], "7" * 41]
        message = message.replace("'7'", f"'{args[-1]}'")
    assert message in error_line(cli("explain", *args, check=2))


def test_texts_of_agents_move_no_terminal(cli, tmp_path):
    made = MadeStudy(tmp_path / "h", ["a"], {"t": "toy"}, 1)
    made.add("t", "a", 1, ["0", "0.5"], "0.5", messages=["initial state", HOSTILE])
    for text in (cli("explain", "h").stdout, cli("explain", "h", "--checkpoint", "1").stdout):
        assert "\\x1b[2J[red]gone\\x07" in text
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    told = explain_run(made.path)
    for shown in (explanation_text(told, 60), checkpoint_text(told, 60)):
        for line in shown.plain.split("\n"):
            assert len(line) <= 60 or " " not in line.strip(), line


def test_runs_without_transcript_scores_or_commits_are_told(cli, tmp_path):
    made = MadeStudy(tmp_path / "m", ["a", "b", "c"], {"t": "toy"}, 1)
    made.add("t", "a", 1, [], "0.5")
    made.add("t", "b", 1, ["0", None, "unverified"], None)
    empty = cli("explain", "m", "t__a").stdout
    assert "c1 = —: (early + middle + late) / 3; no canonical checkpoint: unscored" in empty
    assert "final_score = 0.5 (official)" in empty
    lost = cli("explain", "m", "t__b").stdout
    assert "score = —: no verification gave a reward: no reward; missing, not 0" in lost
    assert "score = —: no verifier has seen this state" in lost
    assert "window: unknown, for no transcript segment is matched" in lost
    assert "unobservable: C2: some checkpoints give no evidence" in lost
