"""Every probe finds the small task that has its hole, and not the mended twin; each hack is done for real."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from gameable import TOYS, Toy

from loopscope.audit.finding import HACK_KINDS, Finding, NotApplicable, Severity
from loopscope.audit.probes import PROBES
from loopscope.audit.rule import Probe
from loopscope.audit.sources import TaskSources
from loopscope.audit.subject import Subject
from loopscope.tasks.load import load_task

BY_NAME = {probe.name: probe for probe in PROBES}
CASES = [(name, label, *twins) for name, toys in TOYS.items() for label, *twins in toys]
CHEAP = {"driver", "verdict"}


def cases() -> list[object]:
    return [
        pytest.param(BY_NAME[name], open_, mended, id=label, marks=[] if label in CHEAP else [pytest.mark.long])
        for name, label, open_, mended in CASES
    ]


def probed(probe: Probe, directory: Path) -> list[Finding]:
    info = load_task(directory)
    try:
        return asyncio.run(probe.run(Subject(directory, info, TaskSources(directory, info))))
    except NotApplicable:
        return []


@pytest.fixture(autouse=True)
def own_lock(tmp_path, monkeypatch):
    (tmp_path / "lock").mkdir()
    monkeypatch.setenv("LOOPSCOPE_LOCK_DIR", str(tmp_path / "lock"))


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize(("probe", "open_", "mended"), cases())
def test_a_probe_finds_the_hole_and_not_the_mended_twin(probe: Probe, open_: Toy, mended: Toy, tmp_path: Path):
    found = probed(probe, open_.write(tmp_path / "open"))
    severity = Severity.MEDIUM if probe.name == "inputs-repeat" else Severity.HIGH
    assert [(f.rule, f.kind, f.severity, f.task) for f in found] == [(probe.name, probe.kind, severity, "open")]
    assert ("reward" in found[0].evidence) == (severity == Severity.HIGH)
    assert not probed(probe, mended.write(tmp_path / "mended"))


def test_every_kind_has_a_probe_and_every_probe_a_task_with_its_hole():
    assert {probe.kind for probe in PROBES} == set(HACK_KINDS)
    assert set(TOYS) == set(BY_NAME)
