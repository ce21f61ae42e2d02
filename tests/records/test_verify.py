"""`verify_study` names whatever is not as it was written, and never touches, follows or waits for anything."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_v1 import unpack
from whole_study import ODD, snapshot, whole_study

from loopscope.analysis.build import analyze
from loopscope.models import (
    Manifest,
    Part,
    PreparedTask,
    RunEvidence,
    RunRecord,
    StateScore,
    StudyLock,
    VerificationStatus,
)
from loopscope.models.unit import UnitFile
from loopscope.records import RecordError, StudyStore, read_model, write_model
from loopscope.records.completeness import MAX_ERRORS, WAS_GIVEN_UP
from loopscope.records.finding import Severity, StudyCheck
from loopscope.records.manifest import removal
from loopscope.records.tree import name_of, spell
from loopscope.records.verify import verify_study
from loopscope.tasks.copying import tree_hash

RUN = "runs/t__a__s1"


def check(study: Path, **options: object) -> StudyCheck:
    return verify_study(StudyStore(study), tree_hash, **options)  # type: ignore[arg-type]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(bytes(data))


def delete(path: Path) -> None:
    path.unlink()


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def to_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def to_link(path: Path) -> None:
    study = next(folder for folder in path.parents if folder.name == "study")
    elsewhere = study.with_name(f"outside-{path.name}")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def to_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


MANNERS = [flip, delete, truncate, to_pipe, to_link, to_directory]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("master") / "study"
    whole_study(path)
    return path


@pytest.fixture
def study(master: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(master, tmp_path / "in" / "a" / "deep" / "study", symlinks=True))


def an_object(study: Path) -> str:
    paths = sorted(p for p in (study / RUN / "repository" / "objects").rglob("*") if p.is_file())
    return str(paths[0].relative_to(study))


def a_tree_score(study: Path) -> str:
    return next(str(p.relative_to(study)) for p in sorted((study / RUN / "scores").iterdir()) if p.stem != "final")


FILES: dict[str, str | Callable[[Path], str]] = {
    "record": f"{RUN}/record.json",
    "manifest": f"{RUN}/manifest.json",
    "unit": f"{RUN}/unit.json",
    "workspace": f"{RUN}/workspace.tar.zst",
    "transcript": f"{RUN}/transcript.json",
    "log": f"{RUN}/native/agent.log",
    "odd log": f"{RUN}/{ODD}",
    "Harbor's": f"{RUN}/harbor/result.json",
    "head": f"{RUN}/repository/HEAD",
    "object": an_object,
    "final score": f"{RUN}/scores/final.json",
    "score": a_tree_score,
    "evidence": f"{RUN}/evidence.json",
    "attempt's record": f"{RUN}/attempts/1/record.json",
    "attempt's log": f"{RUN}/attempts/1/native/agent.log",
    "task": "tasks/t/instruction.md",
    "task's record": "tasks/t.json",
    "baseline": "tasks/t.baseline.tar.zst",
    "lock": "study.lock.json",
    "study file": "study.yaml",
}
NAMED_AS = {"task": "tasks/t"}
"""One hash holds a whole task."""


@pytest.mark.parametrize("manner", MANNERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", FILES)
def test_a_changed_file_of_any_kind_is_named_with_a_way_back(study, kind, manner):
    file = FILES[kind] if isinstance(FILES[kind], str) else FILES[kind](study)
    manner(study / file)
    before = snapshot(study)
    found = check(study)
    assert snapshot(study) == before
    if (kind, manner) == ("evidence", delete):
        assert found.whole, "it is absent before `loopscope analyze`"
        return
    place = spell(file) if manner is to_pipe else NAMED_AS.get(kind, spell(file))
    named = [finding for finding in found.findings if finding.place == place]
    assert named, found.findings
    assert not found.whole
    for finding in named:
        assert "\n" not in str(finding)
        assert any(word in finding.remedy for word in ("restore", "remove", "loopscope"))
    others = [
        finding for finding in found.of(Severity.DAMAGED) if not finding.place.startswith((spell(file), RUN, "tasks/t"))
    ]
    assert not others, "what was not touched is not accused"


@pytest.mark.parametrize("manner", MANNERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("file", "kind"),
    [
        (f"{RUN}/record.json", RunRecord),
        (f"{RUN}/scores/final.json", StateScore),
        (f"{RUN}/evidence.json", RunEvidence),
        (f"{RUN}/manifest.json", Manifest),
        (f"{RUN}/unit.json", UnitFile),
        ("tasks/t.json", PreparedTask),
        ("study.lock.json", StudyLock),
    ],
)
def test_a_changed_document_is_not_read(study, file, kind, manner):
    manner(study / file)
    with pytest.raises(RecordError) as caught:
        read_model(study / file, kind)
    assert str(caught.value).startswith(f"{study / file}: ")
    assert "\n" not in str(caught.value)


def test_a_seal_that_stands_elsewhere_is_told_as_one(study):
    """Whoever writes a document anew, with its members in another order, leaves a seal that is none."""
    file = study / RUN / "evidence.json"
    members = json.loads(file.read_bytes())
    file.write_text(json.dumps({"seal": members.pop("seal"), **members}))
    (found,) = [one for one in check(study).findings if one.place == f"{RUN}/evidence.json" and "seal" in one.what]
    assert found.what.startswith("seal: it was changed after loopscope wrote it")


@given(position=st.integers(0, 10_000), change=st.integers(1, 255))
def test_no_byte_of_a_sealed_document_can_change_unseen(master, tmp_path_factory, position, change):
    path = tmp_path_factory.mktemp("flip") / "final.json"
    data = bytearray((master / RUN / "scores/final.json").read_bytes())
    data[position % len(data)] ^= change
    path.write_bytes(bytes(data))
    with pytest.raises(RecordError):
        read_model(path, StateScore)


READ_BY_ANALYSIS = ["record", "transcript", "head", "object", "final score", "score", "manifest"]
UNFINISHED = [("record", delete), ("manifest", delete), ("final score", delete), ("score", delete)]
"""Without record or score a run is one that is not done; without a manifest, one of the first version's."""


@pytest.mark.parametrize(
    ("kind", "manner"),
    [(k, m) for k in READ_BY_ANALYSIS for m in MANNERS if (k, m) not in UNFINISHED],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_analysis_leaves_a_tampered_run_out_and_says_so(study, kind, manner):
    file = FILES[kind] if isinstance(FILES[kind], str) else FILES[kind](study)
    manner(study / file)
    result = analyze(study)
    assert result.frames["runs"]["run_id"].to_list() == ["t__b__s1"]
    (warning,) = [line for line in result.summary.warnings if line.startswith("left out: ")]
    assert str(study / file) in warning
    assert "study import" in warning


def test_a_deleted_run_directory_is_named_and_can_be_run_again(study):
    shutil.rmtree(study / RUN)
    (finding,) = check(study).findings
    assert (finding.severity, finding.place) == (Severity.INCOMPLETE, RUN)
    assert "loopscope run" in finding.remedy
    assert "1 of 2 rollouts has no record yet" in analyze(study).summary.warnings[0]


def test_a_lost_repository_is_one_line(study):
    shutil.rmtree(study / RUN / "repository")
    (finding,) = check(study).findings
    assert finding.place == f"{RUN}/repository"
    assert "files, of each: is missing" in finding.what


def test_what_was_added_is_named(study):
    (study / RUN / "native" / "more.log").write_text("x")
    (study / RUN / "scores" / "notes.txt").write_text("x")
    os.mkfifo(study / "tasks/t/pipe")
    assert {f.place for f in check(study).of(Severity.DAMAGED)} == {
        f"{RUN}/native/more.log",
        f"{RUN}/scores/notes.txt",
        "tasks/t/pipe",
    }


def test_another_run_s_documents_do_not_pass_for_this_one_s(study):
    other = study / "runs/t__b__s1"
    for name in ("record.json", "manifest.json", "evidence.json", "unit.json"):
        shutil.copy(other / name, study / RUN / name)
    shutil.copy(other / "scores/final.json", study / a_tree_score(study))
    places = {f.place for f in check(study).of(Severity.DAMAGED)}
    assert {f"{RUN}/record.json", f"{RUN}/evidence.json", a_tree_score(study)} <= places


def test_a_record_of_a_newer_version_asks_for_an_upgrade_and_no_removal(study):
    path = study / RUN / "record.json"
    newer = read_model(path, RunRecord).model_copy(update={"schema_version": 99})
    write_model(path, newer)
    with pytest.raises(RecordError) as caught:
        read_model(path, RunRecord)
    assert str(caught.value).endswith("schema_version 99, this one knows 3); upgrade loopscope")
    named = {f.place: f for f in check(study).of(Severity.DAMAGED)}[f"{RUN}/record.json"]
    assert named.remedy == "upgrade loopscope"
    assert "remove" not in str(named)


def test_missing_scores_are_told_by_state(study):
    (study / RUN / "scores" / "final.json").unlink()
    (finding,) = check(study).findings
    assert (finding.place, finding.severity) == (f"{RUN}/scores/final.json", Severity.INCOMPLETE)
    assert "loopscope score" in finding.remedy


def test_what_was_given_up_names_the_command_that_tries_it_again(study):
    path = study / RUN / "scores/final.json"
    score = read_model(path, StateScore)
    error = {"status": VerificationStatus.ERROR, "reward": None}
    failed = score.verifications[0].model_copy(update=error)
    write_model(path, score.model_copy(update={"verifications": (failed,) * MAX_ERRORS}))
    (finding,) = check(study).of(Severity.INCOMPLETE)
    assert (finding.what, finding.remedy) == (f"the state {WAS_GIVEN_UP}", "`loopscope score --again` does it")


def test_leftovers_are_named_and_no_fault_unless_another_process_is_at_work(study):
    for place in (".tmp-1", "runs/.tmp-2", f"{RUN}/.tmp-3", f"{RUN}/scores/.tmp-4", "tasks/.tmp-5"):
        (study / place).mkdir()
    found = check(study)
    assert found.whole
    assert {f.place for f in found.of(Severity.NOTE)} == {
        ".tmp-1", "runs/.tmp-2", f"{RUN}/.tmp-3", f"{RUN}/scores/.tmp-4", "tasks/.tmp-5",
    }  # fmt: skip
    fd = os.open(study / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    assert any("another loopscope" in f.what for f in check(study).findings)
    os.close(fd)


def test_what_was_removed_on_purpose_is_not_missed(study):
    run = study / RUN
    shutil.rmtree(run / "native")
    assert not check(study).whole
    write_model(run / "removed.json", removal(frozenset({Part.NATIVE})))
    assert check(study).whole
    (run / "transcript.json").unlink()
    assert [f.place for f in check(study).findings] == [f"{RUN}/transcript.json"]


def test_retired_runs_and_tasks_are_looked_at(study):
    retired = study / "retired"
    shutil.copytree(study / RUN, retired / "t__a__s1__0123abcd")
    task = retired / "tasks/t__0123abcd"
    shutil.copytree(study / "tasks/t", task / "prepared", symlinks=True)
    shutil.copy(study / "tasks/t.json", task / "task.json")
    assert check(study).whole
    flip(retired / "t__a__s1__0123abcd/transcript.json")
    flip(task / "prepared/instruction.md")
    assert {f.place for f in check(study).findings} == {
        "retired/t__a__s1__0123abcd/transcript.json",
        "retired/tasks/t__0123abcd/prepared",
    }


def test_one_run_can_be_asked_for(study):
    flip(study / RUN / "transcript.json")
    assert check(study, only=["t__b__s1"]).whole
    assert not check(study, only=["t__a__s1"]).whole


def test_a_study_of_the_first_version_is_not_sealed_and_no_failure(tmp_path):
    study = unpack(tmp_path)
    found = check(study)
    assert not found.of(Severity.DAMAGED)
    assert len(found.unsealed) == found.runs == 16
    assert {f.what for f in found.findings} == {"its environment failed"}
    os.mkfifo(study / "runs/toy__steps__s1/transcript.json")
    assert [f.place for f in check(study).of(Severity.DAMAGED)] == ["runs/toy__steps__s1/transcript.json"]


def test_a_sealed_record_whose_manifest_is_gone_is_no_study_of_the_first_version(study):
    (study / RUN / "manifest.json").unlink()
    found = check(study)
    assert not found.unsealed
    assert [f.place for f in found.findings] == [f"{RUN}/manifest.json"]


@given(st.binary(min_size=1, max_size=40).filter(lambda b: b"\0" not in b and b"/" not in b))
def test_every_name_has_one_spelling_and_every_spelling_one_name(data):
    name = os.fsdecode(data)
    spelled = spell(name)
    spelled.encode()  # is text
    assert os.fsencode(name_of(spelled)) == data
    assert spell(name_of(spelled)) == spelled


@given(st.lists(st.binary(min_size=1, max_size=6), min_size=2, max_size=2, unique=True))
def test_two_names_are_never_spelled_alike(names):
    one, other = (spell(os.fsdecode(name)) for name in names)
    assert one != other


@given(st.text(min_size=1, max_size=20).filter(lambda text: "/" not in text and "\0" not in text))
def test_a_spelled_name_is_one_line_and_moves_no_terminal(text):
    spelled = spell(os.fsdecode(text.encode("utf-8", "replace")))
    assert len(spelled.splitlines()) == 1
    assert not any(ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 for letter in spelled)


@pytest.mark.parametrize(
    "text", ["[]", "null", '{"schema_version": "x"}', "[" * 100_000, "{}", '"', '{"schema_version": 1}']
)
def test_a_record_of_any_text_is_a_finding_and_no_crash(study, text):
    for name in ("manifest.json", "unit.json"):
        (study / RUN / name).unlink()
    (study / RUN / "record.json").write_text(text)
    assert f"{RUN}/record.json" in {f.place for f in check(study).of(Severity.DAMAGED)}


def test_a_giant_in_the_place_of_a_document_is_not_read(study):
    with (study / RUN / "record.json").open("wb") as file:
        file.truncate(1 << 40)
    (finding,) = [f for f in check(study, hasher=None).findings if f.place == f"{RUN}/record.json"]
    assert "larger than any document" in finding.what
