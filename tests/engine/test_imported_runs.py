"""Imported runs among the engine's own: shown, left alone, and never taken for a unit of the study file."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_logs import page_log
from whole_study import snapshot, whole_study

from loopscope.engine.changes import compare
from loopscope.engine.events import Event
from loopscope.engine.status import UnitState, study_status
from loopscope.engine.units import UnitFinder
from loopscope.imports import import_logs
from loopscope.models import AgentSpec, EnvironmentSpec, StudyLock, UnitIdentity
from loopscope.records import StudyError, StudyStore, read_model

WANTED = UnitIdentity(
    task="t", task_hash="0" * 64, agent=AgentSpec(name="nop"), environment=EnvironmentSpec(), seed=1, budget_sec=60
)


@pytest.fixture
def imported(tmp_path: Path) -> StudyStore:
    import_logs([page_log(tmp_path / "a.json")], tmp_path / "s")
    return StudyStore.open(tmp_path / "s")


def test_a_study_of_imported_runs_alone_has_a_status(imported: StudyStore) -> None:
    found = study_status(imported.path)
    [unit] = found.units
    assert (unit.run_id, unit.state, unit.reason, unit.next) == ("t__model__s1", UnitState.IMPORTED, "page: a.json", "")
    assert (found.study, found.has_failed, found.has_units) == ("s", False, False)
    assert (found.next.rollouts, found.next.states) == (0, 0)


def test_in_a_study_that_was_run_they_stand_beside_its_units(tmp_path: Path) -> None:
    whole_study(tmp_path / "s")
    log = page_log(tmp_path / "a.json", synthetic="a", seed=None)
    import_logs([log], tmp_path / "s")
    found = study_status(tmp_path / "s")
    states = {unit.run_id: unit.state for unit in found.units}
    assert states == {"t__a__s1": UnitState.DONE, "t__b__s1": UnitState.DONE, "t__a__s2": UnitState.IMPORTED}
    assert found.has_units and found.next.rollouts == 0
    store = StudyStore.open(tmp_path / "s")
    said: list[Event] = []
    assert {unit.run.run_id for unit in UnitFinder(store, None, said.append).units()} == {"t__a__s1", "t__b__s1"}
    assert not said
    lock = read_model(store.path / "study.lock.json", StudyLock)
    changes = compare(store, lock, {}, "standard")
    assert {retired.unit.run.run_id for retired in changes.retired} == {"t__a__s1", "t__b__s1"}


def test_a_unit_of_an_imported_runs_name_is_refused(imported: StudyStore) -> None:
    before = snapshot(imported.path)
    assert compare(imported, None, {"t__nop__s1": WANTED}, "standard").retired == ()
    with pytest.raises(StudyError, match=r"is an imported run, .*another `label:`"):
        compare(imported, None, {"t__model__s1": WANTED}, "standard")
    assert snapshot(imported.path) == before
