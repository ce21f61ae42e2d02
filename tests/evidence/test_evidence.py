"""The proposal gate, windows and delivery, on real repositories."""

from __future__ import annotations

from decimal import Decimal

import pytest
from git_work import Work
from made_study import MadeStudy, verification

from loopscope.evidence.build import run_evidence
from loopscope.evidence.delivery import delivered
from loopscope.evidence.gate import Artifact, is_administrative, reads_as_bookkeeping
from loopscope.evidence.prepared import prepared_paths
from loopscope.models import Grade, StateScore, VerificationStatus
from loopscope.records import RecordError
from loopscope.records.history import read_history
from loopscope.records.repository import Repository
from loopscope.records.salvage import salvage


@pytest.fixture
def made(tmp_path):
    return MadeStudy(tmp_path / "study", ["a"], {"t": "toy"}, 1)


def evidence(made, run_id):
    return run_evidence(made.store.run(run_id), made.store.task("t").facts)


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
    return run_evidence(run, made.store.task("t").facts, prepared_paths(made.store, "t")).checkpoints


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


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("output/journal.md", True),
        (".gitignore", True),
        ("journal.md", True),
        ("NOTES.md", True),
        ("docs/notes-3.md", True),
        ("logs/run/1.txt", True),
        ("output/run.log", True),
        ("journal.c", False),
        ("notes_solver.py", False),
        ("journal_lib/main.py", False),
        ("journal_lib/data.txt", False),
        ("logs/parser.c", False),
        ("src/logs/table.txt", False),
        ("changelog", False),
        ("a.py", False),
        ("plan.bin", False),
    ],
)
def test_only_prose_where_records_are_kept_is_administrative(path, expected):
    assert is_administrative(path.encode(), Artifact()) is expected


def test_a_file_of_the_task_is_never_administrative(made):
    made.prepare("t", {"notes.md": "the data", "a.py": "0"})
    prepared = prepared_paths(made.store, "t")
    assert prepared == {b"notes.md", b"a.py"}
    assert not is_administrative(b"notes.md", Artifact(prepared=prepared))
    assert is_administrative(b"notes2.md", Artifact(prepared=prepared))
    assert not is_administrative(b"plan.md", Artifact(editable=("plan.md",)))


def test_files_of_a_task_without_an_archive_are_unknown_and_a_torn_archive_is_said_so(made):
    assert prepared_paths(made.store, "t") == frozenset()
    made.prepare("t", {"a.py": "0" * 1000})
    archive = made.path / "tasks" / "t.baseline.tar.zst"
    archive.write_bytes(archive.read_bytes()[:20])
    with pytest.raises(RecordError, match=r"t\.baseline\.tar\.zst: cannot be read"):
        prepared_paths(made.store, "t")


def test_the_gate_keeps_a_change_of_a_prepared_file_whatever_its_name(tmp_path, made):
    made.prepare("t", {"notes.md": "x"})
    found = gate(tmp_path, made, [({"notes.md": "x"}, "initial", None), ({"notes.md": "y"}, "update notes", None)])
    assert found[1].canonical
    assert "notes.md" in found[1].reason


def test_a_tree_that_is_too_large_to_compare_keeps_its_commit(tmp_path, made, monkeypatch):
    monkeypatch.setattr("loopscope.records.repository.MAX_ENTRIES", 1)
    found = gate(tmp_path, made, [({"a.py": "0"}, "initial", None), ({"notes.md": "y"}, "update notes", None)])
    assert found[1].canonical
    assert "not compared" in found[1].reason


@pytest.mark.parametrize(
    ("kind", "expected"), [("clean", (True, False)), ("ambiguous", (False, True)), ("", (False,) * 2)]
)
def test_the_initial_state_is_clean_ambiguous_or_neither(made, kind, expected):
    run_id = made.add("t", "a", 1, ["0.1", "0.2"], "0.2", initial=kind)
    first, second = evidence(made, run_id).checkpoints
    assert (first.initial, first.ambiguous_initial) == expected
    assert (second.initial, second.ambiguous_initial) == (False, False)
    assert ("prepared" in first.reason) is any(expected)


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
    # `eval` once failed to compile: it builds each time it is run.
    assert (second.builds, second.build_failures, second.env_failures, second.candidates) == (5, 2, 1, 1)
    assert second.evaluated_before_commit is True
    assert (third.builds, third.candidates, third.evaluated_before_commit) == (1, 2, False)
    assert evidence(made, run_id).tool_calls == len(steps)


OK = {"kind": "evaluate", "state": "1" * 16, "command": "python3 evaluate.py"}


@pytest.mark.parametrize(
    ("steps", "builds", "failures"),
    [
        ([OK, OK], None, 0),
        ([OK, {**OK, "status": "code_failure"}], 2, 1),
        ([OK, {"kind": "build", "command": "python3 setup.py"}], 1, 0),
        ([{**OK, "command": "make -s && ./bench"}, {**OK, "command": "make -s && ./bench"}], 2, 0),
        ([{**OK, "output": "gcc -O2 a.c -o a\nscore: 1"}], 1, 0),
        ([{**OK, "status": "env_failure"}], 0, 0),
        ([{**OK, "status": "runtime_failure"}], None, 0),
        ([], 0, 0),
    ],
)
def test_an_evaluation_that_builds_counts_each_time_and_one_that_may_is_unknown(made, steps, builds, failures):
    commits = [{"kind": "commit", "commit": 0, "state": "0" * 16}, *steps, {"kind": "commit", "commit": 1}]
    run_id = made.add("t", "a", 1, ["0.1", "0.2"], "0.2", steps=commits)
    _, second = evidence(made, run_id).checkpoints
    assert (second.builds, second.build_failures) == (builds, failures)


def test_counts_by_state_follow_the_artifact_and_not_the_order(made):
    one, two = "1" * 16, "2" * 16
    steps = [
        {"kind": "commit", "commit": 0, "state": one},
        {"kind": "build", "state": one, "status": "code_failure"},
        {"kind": "evaluate", "state": one, "command": "eval"},
        {"kind": "commit", "commit": 1, "state": two},
        {"kind": "build", "state": two},
        {"kind": "evaluate", "state": two, "command": "eval"},
        {"kind": "evaluate", "state": two, "command": "eval --long"},
        {"kind": "evaluate", "state": two, "command": "eval"},
        {"kind": "commit", "commit": 2},
    ]
    run_id = made.add("t", "a", 1, ["0.1", "0.2", "0.3"], "0.3", steps=steps)
    first, second, third = evidence(made, run_id).checkpoints
    assert (first.builds_by_state, first.build_failures_by_state, first.candidates_by_state) == (1, 1, 1)
    assert (second.builds, second.build_failures, second.candidates) == (1, 1, 1)
    assert (second.builds_by_state, second.build_failures_by_state, second.candidates_by_state) == (1, 0, 2)
    assert (third.builds_by_state, third.candidates_by_state, third.candidates) == (None, None, 2)


def test_tool_calls_are_counted_without_a_repository_too(made):
    run_id = made.add("t", "a", 1, [], "0.1", steps=[OK, OK])
    assert evidence(made, run_id).tool_calls == 2
    assert evidence(made, made.add("t", "a", 2, [], "0.1")).tool_calls is None


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
        (verification("0.5", metrics={"correctness": Decimal("0.5")}), False),
        (verification("0", metrics={"correctness": Decimal(1)}), True),
        (verification("0.5", metrics={"passed": Decimal(7)}), True),
        (verification("0.5", metrics={"passed": Decimal(7), "correct": Decimal("0.9")}), False),
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
