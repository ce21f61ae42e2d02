"""Tables are kept where nothing that they are made of changed, and only there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from made_imports import imported, page_of, rounds
from made_study import MadeStudy, verification

from loopscope.analysis import anew, kept
from loopscope.analysis.build import Analysis, analyze
from loopscope.models.tables import TABLES
from loopscope.records import FINAL, StudyStore

NOTE = "made_from.json"


@pytest.fixture
def made(tmp_path: Path) -> MadeStudy:
    study = MadeStudy(tmp_path / "study", ["a", "b"], {"t": "toy", "u": "puzzle"}, 2)
    study.prepare("t", {"a.py": "0\n"})
    study.add("t", "a", 1, ["0", "0.8", "0.5", "0.8"], "0.8", repeats=2)
    study.add("t", "b", 1, ["0", "0.2"], "0.1")
    study.add("u", "a", 1, ["0.3", None, "0.4"], None)
    return study


def bytes_of(study: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (study / "tables").iterdir()}


def written(study: Path) -> dict[str, int]:
    """Which file each name stands for: every writing makes another."""
    return {path.name: path.stat().st_ino for path in (study / "tables").iterdir()}


@pytest.fixture
def makings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry per time that tables were made."""
    found: list[str] = []
    real = anew._tables

    def counted(*given: object) -> object:
        found.append("made")
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(anew, "_tables", counted)
    return found


def test_what_is_unchanged_is_not_written_again_and_says_the_same(made: MadeStudy, makings: list[str]) -> None:
    first, before = analyze(made.path), written(made.path)
    told: list[tuple[int, int, str]] = []
    again = analyze(made.path, lambda *what: told.append(what))
    assert makings == ["made"] and written(made.path) == before
    assert (len(first.renewed), again.renewed, again.faults, told) == (3, (), 0, [(3, 3, "")])
    assert again.summary == first.summary
    assert all(again.frames[name].equals(first.frames[name]) for name in TABLES)
    assert [again.frames[name].schema for name in TABLES] == [first.frames[name].schema for name in TABLES]


_LOADED = """
import sys
from pathlib import Path
from loopscope.analysis.build import analyze
found = analyze(Path(sys.argv[1]))
print(len(found.renewed), found.frames["dips"].height, *(name in sys.modules for name in sys.argv[2:]))
"""


def test_what_makes_tables_is_not_even_loaded_then(made: MadeStudy) -> None:
    def loaded() -> list[str]:
        command = [sys.executable, "-c", _LOADED, str(made.path), "numpy", "tree_sitter"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    assert loaded() == ["3", "1", "True", "True"]
    assert loaded() == ["0", "1", "False", "False"]


@pytest.mark.parametrize("name", ["dips.parquet", "intervals.parquet", "noise.parquet", "study.json", NOTE])
@pytest.mark.parametrize("how", ["gone", "cut", "another", "a link"])
def test_a_table_that_is_gone_or_damaged_is_made_again(
    made: MadeStudy, makings: list[str], name: str, how: str, tmp_path: Path
) -> None:
    analyze(made.path)
    before, path = bytes_of(made.path), made.path / "tables" / name
    path.unlink()
    if how == "cut":
        path.write_bytes(before[name][: len(before[name]) // 2])
    elif how == "another":
        path.write_bytes(before["runs.parquet"])
    elif how == "a link":
        (tmp_path / "elsewhere").write_bytes(b"x")
        path.symlink_to(tmp_path / "elsewhere")
    again = analyze(made.path)
    assert makings == ["made", "made"] and again.renewed == ()
    assert bytes_of(made.path) == before and not path.is_symlink()
    analyze(made.path)
    assert makings == ["made", "made"], "and kept from then on"


def verify_again(study: Path) -> None:
    run = StudyStore(study).run("t__b__s1")
    final = run.scores()[FINAL]
    run.write_score(final.model_copy(update={"verifications": (*final.verifications, verification("0.3"))}))


def lose_evidence(study: Path) -> None:
    (study / "runs/t__b__s1/evidence.json").unlink()


@pytest.mark.parametrize("change", [verify_again, lose_evidence])
def test_one_changed_run_is_renewed_alone_and_the_tables_are_made_anew(
    made: MadeStudy, makings: list[str], change: Callable[[Path], None]
) -> None:
    analyze(made.path)
    others = {path: path.stat().st_ino for path in made.path.glob("runs/*__a__*/evidence.json")}
    change(made.path)
    assert analyze(made.path).renewed == ("t__b__s1",)
    assert makings == ["made", "made"]
    assert {path: path.stat().st_ino for path in others} == others
    assert analyze(made.path).renewed == () and len(makings) == 2


def test_one_more_run_and_one_less(made: MadeStudy, makings: list[str]) -> None:
    analyze(made.path)
    before = bytes_of(made.path)
    run_id = made.add("u", "b", 2, ["0.1", "0.2"], "0.2")
    found = analyze(made.path)
    assert found.renewed == (run_id,) and found.frames["runs"].height == 4
    os.rename(made.path / "runs" / run_id, made.path.parent / run_id)
    assert analyze(made.path).frames["runs"].height == 3
    assert len(makings) == 3 and bytes_of(made.path) == before


def rename(study: Path) -> None:
    path = study / "study.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"name": "renamed"}))


def more_seeds(study: Path) -> None:
    path = study / "study.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"seeds": 3}))


def tear_archive(study: Path) -> None:
    (study / "tasks/t.baseline.tar.zst").write_bytes(b"torn")


def lose_record(study: Path) -> None:
    (study / "runs/u__b__s1").mkdir()


@pytest.mark.parametrize("change", [rename, more_seeds, tear_archive, lose_record])
def test_what_is_told_of_the_study_is_never_old(
    made: MadeStudy, makings: list[str], change: Callable[[Path], None]
) -> None:
    before = analyze(made.path).summary
    change(made.path)
    found = analyze(made.path).summary
    assert len(makings) == 2 and found != before


def test_other_code_makes_them_anew(made: MadeStudy, makings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    analyze(made.path)
    monkeypatch.setattr(kept, "sources_version", lambda *rooms: "other")
    assert analyze(made.path).renewed == () and len(makings) == 2


def test_so_does_an_evaluator_of_the_study(tmp_path: Path, makings: list[str]) -> None:
    study = imported(tmp_path / "study", page_of(tmp_path / "a.json", rounds("50", "10")))
    first = score(analyze(study))
    assert score(analyze(study)) == first and len(makings) == 1
    (path,) = (study / "evaluators").glob("*.yaml")
    mapping = yaml.safe_load(path.read_text())
    mapping["reward"]["factor"] = str(float(mapping["reward"].get("factor", 1)) / 2)
    path.write_text(yaml.safe_dump(mapping))
    assert score(analyze(study)) == pytest.approx(first / 2, abs=1e-4) and len(makings) == 2


def score(found: Analysis) -> float:
    return float(found.frames["runs"]["final_score"][0])


def test_where_a_run_is_left_out_nothing_is_kept(made: MadeStudy, makings: list[str]) -> None:
    path = made.path / "runs/t__b__s1/record.json"
    whole = path.read_bytes()
    analyze(made.path)
    before = bytes_of(made.path)
    for _ in range(2):
        path.write_text("{}")
        assert analyze(made.path).frames["runs"].height == 2
    path.write_bytes(whole)
    analyze(made.path)
    assert makings == ["made"] * 4 and bytes_of(made.path) == before


def test_a_log_that_was_changed_is_told_of_all_the_same(tmp_path: Path) -> None:
    study = imported(tmp_path / "study", page_of(tmp_path / "a.json", rounds("50", "10")))
    analyze(study)
    (log,) = study.glob("runs/*/canonical.json.zst")
    log.write_bytes(log.read_bytes()[:-1])
    assert "canonical.json.zst: was changed" in analyze(study).summary.warnings[0]
