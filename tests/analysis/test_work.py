"""While a run is analysed nobody looks for cycles; afterwards all is as it was."""

from __future__ import annotations

import gc

from loopscope.analysis.work import Known, LeftOut, answer
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
