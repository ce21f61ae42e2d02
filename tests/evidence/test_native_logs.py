"""Evidence that is read from an agent's own logs, and stays what it was when they are removed."""

from __future__ import annotations

import shutil

import pytest
from log_seeds import seeds
from made_study import MadeStudy
from test_run_evidence import MESSAGES, tell

from loopscope.evidence import inputs
from loopscope.evidence.build import NOT_ANEW, renewed_evidence
from loopscope.models import Part
from loopscope.records import RecordError, RunDir, StudyStore, gc
from loopscope.records.durable import write_model
from loopscope.records.manifest import REMOVED, removal, write_manifest

CLAUDE = next(seed.data for seed in seeds() if seed.format == "claude-code")


@pytest.fixture
def run(tmp_path) -> RunDir:
    """A run of our own with the log of a session in native/, as its manifest has it."""
    made = MadeStudy(tmp_path / "study", ["a"], {"t": "toy"}, 1)
    run_id = made.add("t", "a", 1, ["0.1", "0.2"], "0.2", messages=MESSAGES[:2])
    tell(made, run_id)
    found = made.store.run(run_id)
    (found.path / "native").mkdir()
    (found.path / "native" / "session.jsonl").write_bytes(CLAUDE)
    (found.path / "manifest.json").unlink(missing_ok=True)
    write_manifest(found.path, {})
    return found


def look(run: RunDir):
    found, renewed = renewed_evidence(run, StudyStore(run.path.parents[1]).task("t").facts)
    run.write_evidence(found)
    return found, renewed


def remove_native(run: RunDir) -> None:
    write_model(run.path / REMOVED, removal(frozenset({Part.NATIVE})))
    shutil.rmtree(run.path / "native")


def test_evidence_made_before_stays_when_the_log_is_removed(run):
    before, _ = look(run)
    assert before.tool_calls
    remove_native(run)
    run.check_inputs()
    assert look(run) == (before, False)


def test_what_an_earlier_loopscope_found_stays_too_and_is_said_so(run, monkeypatch):
    before, _ = look(run)
    monkeypatch.setattr(inputs, "code_version", lambda: "newer")
    assert look(run)[1]  # the log is there: it is read anew
    remove_native(run)
    monkeypatch.setattr(inputs, "code_version", lambda: "newest")
    after, renewed = look(run)
    assert (after.tool_calls, after.checkpoints, renewed) == (before.tool_calls, before.checkpoints, False)
    assert NOT_ANEW in after.warnings
    assert look(run)[0] == after  # and said once


def test_a_log_that_is_removed_too_early_is_missed(run):
    remove_native(run)
    found, renewed = look(run)
    assert renewed
    assert any("removed before evidence was made" in text for text in found.warnings)


def test_gc_keeps_the_log_of_a_run_that_was_not_analysed(run):
    store = StudyStore(run.path.parents[1])
    asked = frozenset({gc.Garbage.NATIVE})
    early = gc.collect_garbage(store, asked, remove=True)
    assert (early.items, ["native: stays" in text for text in early.kept]) == ((), [True])
    look(run)
    assert [item.place for item in gc.collect_garbage(store, asked, remove=True).items] == [f"runs/{run.run_id}/native"]
    assert not (run.path / "native").exists()


def test_a_log_that_is_not_as_it_was_published_is_refused(run):
    (run.path / "native" / "session.jsonl").write_bytes(CLAUDE + b"\n")
    with pytest.raises(RecordError, match=r"session\.jsonl: was changed"):
        run.check_inputs()


@pytest.mark.parametrize(
    ("name", "data", "warned"),
    [
        ("oracle.txt", b"done\n", False),
        ("install.jsonl", b'{"level": "info"}\n', False),
        ("trajectory.json", b'{"schema_version": "ATIF-v1.7", "steps": 3}', True),
        ("opencode.db", b"SQLite format 3\0" + b"\1" * 4000, True),
    ],
)
def test_only_a_known_log_that_is_broken_is_warned_of(tmp_path, name, data, warned):
    made = MadeStudy(tmp_path / "study", ["a"], {"t": "toy"}, 1)
    run_id = made.add("t", "a", 1, ["0.1"], "0.1", messages=MESSAGES[:1])
    run = made.store.run(run_id)
    run.transcript.unlink(missing_ok=True)
    (run.path / "native").mkdir()
    (run.path / "native" / name).write_bytes(data)
    found, _ = look(run)
    assert any("transcript not read" in text for text in found.warnings) == warned
