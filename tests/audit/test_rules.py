"""Static rules: nothing on the suite; each way to open one of its verifiers is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from opened_tasks import OPENED, Edit

from loopscope.audit.finding import Finding, NotApplicable
from loopscope.audit.rules import RULES
from loopscope.audit.sources import TaskSources
from loopscope.tasks import builtin_names, load_task
from loopscope.tasks.catalog import SUITE


def findings(directory: Path) -> list[Finding]:
    """What all rules find; a rule that fails fails the test."""
    sources = TaskSources(directory, load_task(directory))
    found = []
    for rule in RULES:
        try:
            found += list(rule.check(sources))
        except NotApplicable:
            continue
    return found


@pytest.mark.parametrize("name", builtin_names())
def test_the_suite_has_none(name: str):
    assert findings(SUITE / name) == []


def edited(target: Path, name: str, edits: tuple[Edit, ...]) -> Path:
    directory = target / name
    shutil.copytree(SUITE / name, directory, ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in edits:
        text = (directory / file).read_text()
        assert old in text, f"{name}/{file} no longer holds {old!r}: bring the edit up to date"
        (directory / file).write_text(text.replace(old, new, 1))
    return directory


@pytest.mark.parametrize(
    ("name", "kind", "edits"), OPENED, ids=[f"{kind}-{name}-{n}" for n, (name, kind, _) in enumerate(OPENED)]
)
def test_an_opened_verifier_is_found(tmp_path: Path, name: str, kind: int, edits: tuple[Edit, ...]):
    found = findings(edited(tmp_path, name, edits))
    assert kind in {finding.kind for finding in found}, found
    assert all(finding.task == name and finding.evidence and finding.where and finding.remedy for finding in found)


def test_where_a_finding_points(tmp_path: Path):
    edits = (("tests/verify.py", "random.Random(verdict.seed())", "random.Random(7)"),)
    directory = edited(tmp_path, "addition_chains", edits)
    (finding,) = findings(directory)
    file, _, line = finding.where.rpartition(":")
    assert "random.Random(7)" in (directory / file).read_text().splitlines()[int(line) - 1]
    assert (finding.rule, finding.kind) == ("secret-seed", 7)


def test_anchors_and_what_is_shown(tmp_path: Path):
    edits = (("task.toml", "score = -3.45", "score = -3.0"), ("tests/rectangles.py", "x + w > width", "x > width"))
    found = findings(edited(tmp_path, "strip_packing", edits))
    assert {finding.rule for finding in found} == {"anchors", "shown"}


def test_a_guard_with_a_part_missing(tmp_path: Path):
    directory = edited(tmp_path, "discrepancy", ())
    (directory / "tests/guard/layers.py").unlink()
    assert [(f.rule, f.evidence) for f in findings(directory)] == [("guard", "layers.py of the guard is missing")]


def test_a_verifier_that_cannot_be_read_is_not_called_clean(tmp_path: Path):
    directory = edited(tmp_path, "discrepancy", ())
    (directory / "tests/verify.py").write_text("x = ((((\n")
    assert [(f.rule, f.severity.value) for f in findings(directory)] == [("seen", "high"), ("seen", "high")]
    (directory / "tests/test.sh").write_bytes(b"\x00\xff{${\xe2\x98\x83")
    assert {f.rule for f in findings(directory)} == {"seen"}
