"""The proposal gate, windows and delivery, on real repositories."""

from __future__ import annotations

from decimal import Decimal

import pytest
from git_work import Work
from made_study import MadeStudy, verification

from loopscope.evidence.build import run_evidence
from loopscope.evidence.delivery import delivered
from loopscope.evidence.gate import reads_as_bookkeeping
from loopscope.models import Grade, StateScore, VerificationStatus
from loopscope.records.history import read_history
from loopscope.records.repository import Repository
from loopscope.records.salvage import salvage


@pytest.fixture
def made(tmp_path):
    return MadeStudy(tmp_path / "study", ["a"], {"t": "toy"}, 1)


def evidence(made, run_id):
    return run_evidence(made.store.run(run_id), made.store.task("t"))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("update journal", True),
        ("Notes for round 3", False),
        ("docs: summary of results", True),
        ("final: verify and clean up", False),
        ("journal: fix the parser", False),
        ("round 4: change=journal hypothesis=none", False),
        ("", False),
        ("catalogue", False),
    ],
)
def test_bookkeeping_is_read_from_whole_words(message, expected):
    assert reads_as_bookkeeping(message) is expected


def gate(tmp_path, made, commits):
    """Evidence of a run made of ({file: text}, message, score) triples."""
    work = Work(tmp_path / "app")
    work.git("init", "-q", "-b", "main")
    for files, message, _ in commits:
        for name, text in files.items():
            work.write(name, text)
        work.commit(message, "--allow-empty")
    run_id = made.add("t", "a", 1, [], None)
    run = made.store.run(run_id)
    salvage(work.tar(tmp_path / "w.tar"), run.path / "repository")
    history = read_history(Repository(run.path / "repository"))
    from loopscope.records import write_model

    write_model(run.path / "record.json", run.record.model_copy(update={"commits": history.commits}))
    del run.__dict__["record"]
    for commit, (_, _, score) in zip(history.commits, commits, strict=True):
        if score is not None:
            value = StateScore(
                state=commit.state, run_id=run_id, verifier_hash="v", verifications=(verification(score),)
            )
            run.write_score(value)
    return run_evidence(run, made.store.task("t")).checkpoints


def test_the_gate_removes_only_what_is_surely_bookkeeping(tmp_path, made):
    found = gate(
        tmp_path,
        made,
        [
            ({"a.py": "0"}, "initial", "0.1"),
            ({"output/journal.md": "x"}, "update journal", None),
            ({"output/journal.md": "y", "a.py": "1"}, "update journal", "0.4"),
            ({}, "round 3: change=nothing hypothesis=none", None),
            ({"notes.md": "n"}, "notes", "0.4"),
            ({"notes.md": "m"}, "notes", "0.5"),
            ({"README.txt": "r"}, "documentation", "0.5"),
        ],
    )
    assert [c.canonical for c in found] == [True, False, True, True, False, True, True]
    assert "nothing changed" in found[1].reason or "output/journal.md changed" in found[1].reason
    assert found[2].reason.startswith(("changes a.py", "its score differs"))
    assert "ambiguous" in found[3].reason
    assert "score differs" in found[5].reason
    assert "README.txt" in found[6].reason


def test_windows_count_between_retained_commits_and_join_over_removed_ones(made):
    ev = {"kind": "evaluate", "state": "0" * 16, "score": "0.1", "command": "eval"}
    other = {**ev, "state": "1" * 16}
    steps = [
        {"kind": "commit", "commit": 0, "state": "0" * 16},
        ev,
        ev,
        {"kind": "build"},
        {"kind": "build", "status": "code_failure"},
        {"kind": "evaluate", "status": "code_failure", "command": "eval", "state": "2" * 16},
        {"kind": "build", "status": "env_failure"},
        {"kind": "commit", "commit": 1, "state": "0" * 16},
        other,
        {**other, "command": "eval --long"},
        {"kind": "commit", "commit": 2, "state": "3" * 16},
    ]
    run_id = made.add("t", "a", 1, ["0.1", "0.2", "0.3"], "0.3", steps=steps)
    first, second, third = evidence(made, run_id).checkpoints
    assert (first.initial, first.builds) == (True, 0)
    assert (second.builds, second.build_failures, second.env_failures, second.candidates) == (3, 2, 1, 1)
    assert second.evaluated_before_commit is True
    assert (third.builds, third.candidates, third.evaluated_before_commit) == (0, 2, False)


def test_without_a_transcript_counts_are_unknown_not_zero(made):
    run_id = made.add("t", "a", 1, ["0.1", None], "0.3")
    found = evidence(made, run_id)
    assert not found.transcript_matched
    assert found.warnings
    assert {c.builds for c in found.checkpoints} == {None}
    assert [c.grade for c in found.checkpoints] == [Grade.OFFICIAL, Grade.MISSING]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"steps": 3}', b'{"steps": [null, 1, {"source": "agent", "tool_calls": [7, {}]}]}']
)
def test_a_broken_transcript_is_no_transcript(made, content):
    run_id = made.add("t", "a", 1, ["0.1"], "0.1")
    made.store.run(run_id).transcript.write_bytes(content)
    assert not evidence(made, run_id).transcript_matched


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (verification("0.5"), True),
        (verification("0", metrics={"correctness": Decimal(0), "time": Decimal(3)}), False),
        (verification("0.5", metrics={"valid": Decimal(0)}), False),
        (verification("0", metrics={"psnr": Decimal(12)}), True),
        (verification("0", metrics={}), False),
        (verification(None), False),
        (verification(None, VerificationStatus.TIMEOUT), False),
        (verification(None, VerificationStatus.ERROR), None),
    ],
)
def test_delivery(one, expected):
    score = StateScore(state="s", run_id="r", verifier_hash="v", verifications=(one,))
    assert delivered(score) is expected


def test_delivery_without_a_score_is_not_observable():
    assert delivered(None) is None
