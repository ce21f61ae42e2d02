"""`tasks calibrate` for real: two trials of a new task, kept at once, not repeated, and set aside when they hold no more."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from loopscope.audit.calibrate import cache_dir
from loopscope.cli import app, running
from loopscope.models.calibration import Calibration, CalibrationAct, Machine, SeenMachines
from loopscope.models.pairing import Pairing, pairing_of
from loopscope.records import StudyStore, read_model, write_model
from loopscope.records.machine import note_machine, this_machine
from loopscope.records.store import MACHINES_FILE


def test_the_machine_is_what_seconds_depend_on():
    here = this_machine()
    assert here.cores >= 1
    assert here.cpu
    assert here.kernel
    assert len(here.fingerprint) == 64
    other = here.model_copy(update={"compilers": {"gcc": "another"}})
    assert other.fingerprint != here.fingerprint


def test_machines_are_noted_once_and_in_order(tmp_path):
    note = tmp_path / "calibration" / "machines.json"
    first = Machine(cpu="x", cores=1, memory_gib=1, architecture="y", kernel="z")
    write_model(note, SeenMachines(machines=(first,)))
    for _ in range(2):
        note_machine(note)
    assert read_model(note, SeenMachines).machines == (first, this_machine())


def call(*words: str) -> list[dict]:
    done = CliRunner().invoke(app, ["tasks", "calibrate", *words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.sandbox
@pytest.mark.slow
def test_what_is_measured_is_kept_and_never_done_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert CliRunner().invoke(app, ["tasks", "new", "shifts", "--into", str(tmp_path)]).exit_code == 0
    task = str(tmp_path / "shifts")
    (first,) = call(task, "--repeats", "1")
    assert (first["measured_now"], first["outdated"], first["failed"]) == (2, None, [])
    assert first["pairing"]["metric"] == "log_waste"
    file = Path(first["file"])
    assert file.parent == cache_dir()
    kept = read_model(file, Calibration)
    low, high = (kept.reward(act) for act in CalibrationAct)
    assert low is not None
    assert low < Decimal("0.1")
    assert high is not None
    assert high > Decimal("0.5")
    pairing = pairing_of(kept)
    assert isinstance(pairing, Pairing)
    (reference,) = kept.of(CalibrationAct.REFERENCE)
    assert pairing.reward(reference.reward, reference.metrics) == Decimal("0.8")
    (again,) = call(task, "--repeats", "1")
    assert again["measured_now"] == 0
    elsewhere = kept.machine.model_copy(update={"cpu": "another"})
    write_model(file, kept.model_copy(update={"machine": elsewhere}))
    (moved,) = call(task, "--repeats", "1")
    assert moved["measured_now"] == 2
    assert "another machine" in moved["outdated"]


def test_run_notes_its_machine_and_names_a_calibration_of_another(tmp_path, capsys):
    store = StudyStore(tmp_path)
    other = this_machine().model_copy(update={"cpu": "another"})
    facts = {"task": "t", "verifier_hash": "v", "environment": "local"}
    write_model(store.calibration / "t.json", Calibration(**facts, machine=other))
    running._note_machine(store)
    assert read_model(store.calibration / MACHINES_FILE, SeenMachines).machines == (this_machine(),)
    assert "calibration of t: measured on another machine (another" in capsys.readouterr().err
    write_model(store.calibration / "t.json", Calibration(**facts, machine=this_machine()))
    running._note_machine(store)
    assert capsys.readouterr().err == ""
