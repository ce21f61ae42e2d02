"""While a run is analysed nobody looks for cycles; afterwards all is as it was. A fault of ours costs one run."""

from __future__ import annotations

import gc

import pytest
from made_study import MadeStudy
from typer.testing import CliRunner

from loopscope.analysis import anew, workers
from loopscope.analysis.build import analyze
from loopscope.analysis.work import Known, LeftOut, answer
from loopscope.cli import app
from loopscope.records import RecordError, RunDir


def test_the_search_for_cycles_rests_during_a_run_and_goes_on_behind_it(tmp_path, monkeypatch):
    during = []

    def broken(self, run):
        during.append(gc.isenabled())
        raise RecordError("no record")

    monkeypatch.setattr(Known, "analyze", broken)
    assert answer(Known(tmp_path, {}, {}), RunDir(tmp_path / "run")) == LeftOut("no record")
    assert during == [False] and gc.isenabled()


def test_who_had_turned_it_off_finds_it_off(tmp_path, monkeypatch):
    monkeypatch.setattr(Known, "analyze", lambda self, run: (_ for _ in ()).throw(RecordError("no record")))
    gc.disable()
    try:
        answer(Known(tmp_path, {}, {}), RunDir(tmp_path / "run"))
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.fixture
def three(tmp_path):
    study = MadeStudy(tmp_path / "study", ["a", "b", "c"], {"t": "toy"}, 1)
    for agent in ("a", "b", "c"):
        study.add("t", agent, 1, ["0", "0.8"], "0.8")
    return study


BREAK = """
from loopscope.analysis import runs, work
real = work.analyze_run
def breaking(run, *rest):
    if run.run_id == "t__b__s1":
        int("9" * 5000)
    return real(run, *rest)
"""


def breaking():
    """The analysis of a run, which meets something in the second that our code does not bear."""
    names: dict[str, object] = {}
    exec(BREAK, names)
    return names["breaking"]


def faulty(found):
    (told,) = [line for line in found.summary.warnings if "could not be analysed" in line]
    assert "t__b__s1: could not be analysed: ValueError at analysis/work.py:" in told
    assert "report it" in told
    assert (found.faults, [row["run_id"] for row in found.frames["runs"].to_dicts()]) == (1, ["t__a__s1", "t__c__s1"])


def test_a_fault_of_ours_costs_one_run_and_stays_visible(three, monkeypatch):
    monkeypatch.setattr("loopscope.analysis.work.analyze_run", breaking())
    faulty(analyze(three.path))
    shown = CliRunner().invoke(app, ["analyze", str(three.path), "--workers", "1"])
    assert shown.exit_code == 1
    assert "could not be analysed" in " ".join(shown.stderr.split())


@pytest.mark.slow
def test_so_it_does_where_another_process_meets_it(three, monkeypatch):
    monkeypatch.setattr(anew, "WORTH_PROCESSES", 1)
    start = f"{BREAK}\nwork.analyze_run = breaking\nwork.main()\n"
    monkeypatch.setattr(workers, "_START", start)
    monkeypatch.setattr("loopscope.analysis.work.analyze_run", breaking())
    faulty(analyze(three.path, workers=2))


def test_a_run_that_lost_its_record_is_told(three):
    (three.path / "runs/t__b__s1/record.json").unlink()
    found = analyze(three.path)
    (told,) = [line for line in found.summary.warnings if "t__b__s1" in line]
    assert told.startswith("left out: ")
    assert "record.json: is missing" in told
    assert found.faults == 0
